/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_wait_list.h - the clients that wait for the end of a container. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_WAIT_LIST_H
#define HF_DIALECTS_DOCKER_DOCKER_WAIT_LIST_H

#include "dialects/docker/docker_not_started.h"

void waits_bind(struct created *c, struct process *p); /* it has become a process */
void waits_end(struct created *c, int code);           /* it never will */

#endif
