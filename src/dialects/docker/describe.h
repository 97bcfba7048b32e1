/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - a container's objects. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DESCRIBE_H
#define HF_DIALECTS_DOCKER_DESCRIBE_H

#include "dialects/docker/box.h"

int64_t describe_created_ms(const struct docker *dk, const struct box *b);
/* In a list, and alone. */
void describe_summary(struct docker *dk, struct json_out *o, const struct box *b);
void describe_whole(struct docker *dk, struct json_out *o, const struct box *b);

/* "About a minute"; pure. */
void describe_span(int64_t ms, char *out, size_t size);

#endif
