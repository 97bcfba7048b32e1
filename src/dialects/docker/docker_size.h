/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_size.h - ?h= and ?w= of a container or an exec. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_SIZE_H
#define HF_DIALECTS_DOCKER_DOCKER_SIZE_H

#include "dialects/docker/docker_entry.h"

void docker_entry_resize(struct http_request *rq, struct docker_entry *b);

#endif
