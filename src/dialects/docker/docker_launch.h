/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_launch.h - turns what was created into a process. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_LAUNCH_H
#define HF_DIALECTS_DOCKER_DOCKER_LAUNCH_H

#include "dialects/docker/docker_not_started.h"

/*
 * Clients that are attached or waiting get the process, or the reason why there is none. The
 * request, if any, gets `status` as its reply once the process runs. The created entry is freed
 * then.
 */
void launch_begin(struct created *c, struct http_request *rq, int status);

/*
 * Clients before API 1.42 send the terminal's size only after the start, but at once. The program
 * should find that size, so the start waits for it for up to DOCKER_SIZE_MS.
 */
void launch_hold(struct created *c);
void launch_sized(struct created *c); /* the size has arrived; no effect if no start waits for it */

/* Removes the containers of the last worker once they have exited, as --rm requested. */
void launch_remove_all(struct docker *dk);

#endif
