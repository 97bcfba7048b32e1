/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_log_format.c - writes output as frames and time-stamped lines. Layer: dialects.
 */
#include "dialects/docker/docker_log_format.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void docker_frame_head(uint8_t head[DOCKER_FRAME_HEAD], int type, size_t len)
{
    memset(head, 0, DOCKER_FRAME_HEAD);
    head[0] = (uint8_t)type;
    for (int i = 0; i < 4; i++)
        head[4 + i] = (uint8_t)(len >> (8 * (3 - i)));
}

void docker_frame_gap(struct buf *out, bool framed, uint64_t bytes)
{
    uint8_t head[DOCKER_FRAME_HEAD];
    char text[100];
    int n = snprintf(text, sizeof text,
                     "holdfast: %llu bytes of output were lost: they were not read in time",
                     (unsigned long long)bytes);

    docker_frame_head(head, DOCKER_FRAME_SYSTEM, (size_t)n);
    buf_clear(out);
    if (framed)
        buf_put(out, head, sizeof head);
    buf_put(out, text, (size_t)n);
}

int docker_frame_type(enum stream s)
{
    return s == STREAM_STDERR ? 2 : 1;
}

/* Always nine digits, of which we know three. */
static void put_time(struct buf *out, int64_t time_ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(time_ms, text);
    buf_put(out, text, CLOCK_RFC3339_LEN - 1);
    buf_puts(out, "000000Z ");
}

/* Lines up to about a frame's length. Returns the number of bytes consumed. */
static size_t put_lines(struct log_form *f, struct buf *out, const struct slice *s, size_t from)
{
    bool *open = &f->open[s->stream];
    size_t at = from, start = out->len;

    while (at < s->len && out->len - start < DOCKER_FRAME_BYTES) {
        const char *end = memchr(s->bytes + at, '\n', s->len - at);
        size_t stop = end != NULL ? (size_t)(end - s->bytes) + 1 : s->len;

        if (!*open)
            put_time(out, s->time_ms);
        buf_put(out, s->bytes + at, stop - at);
        *open = end == NULL;
        at = stop;
    }
    return at - from;
}

static size_t put_plain(struct buf *out, const struct slice *s, size_t from)
{
    size_t n = s->len - from < DOCKER_FRAME_BYTES ? s->len - from : DOCKER_FRAME_BYTES;

    buf_put(out, s->bytes + from, n);
    return n;
}

void log_form_put(struct log_form *f, struct buf *out, const struct slice *s)
{
    uint8_t head[DOCKER_FRAME_HEAD] = {0};

    for (size_t at = 0; at < s->len;) {
        size_t place = out->len;

        if (f->framed)
            buf_put(out, head, sizeof head);
        at += f->timestamps ? put_lines(f, out, s, at) : put_plain(out, s, at);
        if (!f->framed)
            continue;
        docker_frame_head(head, docker_frame_type(s->stream), out->len - place - sizeof head);
        memcpy(buf_data(out) + place, head, sizeof head);
    }
}
