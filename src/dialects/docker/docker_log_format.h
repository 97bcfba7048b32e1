/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_log_format.h - output as the body of a log or a stream: in frames, and with a time stamp
 * on each line
 *
 * A frame is [stream, 0, 0, 0, 4-byte big-endian length] and the bytes. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_LOG_FORMAT_H
#define HF_DIALECTS_DOCKER_DOCKER_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/journal/journal.h"

#define DOCKER_FRAME_HEAD 8
#define DOCKER_FRAME_BYTES (32 * 1024)
#define DOCKER_FRAME_SYSTEM 3 /* the client treats it as an error and stops */

void docker_frame_head(uint8_t head[DOCKER_FRAME_HEAD], int type, size_t len);
/* A report that so many bytes were lost; in a frame, clients treat it as a failure. */
void docker_frame_gap(struct buf *out, bool framed, uint64_t bytes);
int docker_frame_type(enum stream s); /* of a terminal: standard output */

struct log_form {
    bool framed, timestamps;
    bool open[3]; /* per stream: within a line */
};

/* Appends the encoded form of these bytes. */
void log_form_put(struct log_form *f, struct buf *out, const struct slice *s);

#endif
