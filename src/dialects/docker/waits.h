/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - those who wait for the end of a container. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_WAITS_H
#define HF_DIALECTS_DOCKER_WAITS_H

#include "dialects/docker/created.h"

void waits_bind(struct created *c, struct process *p); /* it has become a process */
void waits_end(struct created *c, int code);           /* it never will */

#endif
