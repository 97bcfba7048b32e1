/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_launch.h - what was created becomes a process. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_LAUNCH_H
#define HF_DIALECTS_DOCKER_DOCKER_LAUNCH_H

#include "dialects/docker/docker_not_started.h"

/*
 * Whoever is attached or waits gets the process, or the reason why there is none. The request, if there is
 * one, is answered with `status` when it runs. The one that was created is gone then.
 */
void launch_begin(struct created *c, struct http_request *rq, int status);

/* Clients of before API 1.42 tell the size of their terminal after the start only, at once: the program
 * is to find it, so it is waited for, for DOCKER_SIZE_MS. */
void launch_hold(struct created *c);
void launch_sized(struct created *c); /* here it is; nothing if it was not waited for */

/* docker_auto_remove.c: it is forgotten when it has exited, as --rm asks; by the next worker too. */
void auto_remove(struct docker *dk, struct process *p);
void auto_remove_all(struct docker *dk);

#endif
