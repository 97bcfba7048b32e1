/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - what was created becomes a process. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_LAUNCH_H
#define HF_DIALECTS_DOCKER_LAUNCH_H

#include "dialects/docker/created.h"

/*
 * Whoever is attached or waits gets the process, or the reason why there is none. The request, if there is
 * one, is answered with `status` when it runs. The one that was created is gone then.
 */
void launch_begin(struct created *c, struct http_request *rq, int status);

/* auto_remove.c: it is forgotten when it has exited, as --rm asks; by the next worker too. */
void auto_remove(struct docker *dk, struct process *p);
void auto_remove_all(struct docker *dk);

#endif
