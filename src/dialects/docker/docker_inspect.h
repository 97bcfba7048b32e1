/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_inspect.h - the JSON objects of a container. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_INSPECT_H
#define HF_DIALECTS_DOCKER_DOCKER_INSPECT_H

#include "dialects/docker/docker_entry.h"

/* As a list item. */
void docker_inspect_summary(struct docker *dk, struct json_out *o, const struct docker_entry *b);
/* Its program and arguments, by these keys. */
void docker_inspect_command(struct json_out *o, const struct docker_entry *b, const char *program,
                            const char *args);

/* "About a minute"; pure. */
void docker_inspect_span(int64_t ms, char *out, size_t size);

#endif
