/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.h - tracks the position between WebSocket frames in a stream
 *
 * A tunnel does not parse frames, but a worker that shuts down sends a close frame (1001), which is
 * possible only between two frames. So the lengths in the headers of one direction are tracked:
 * some ten bytes of each frame are read, and nothing is validated; everything passes.
 *
 * Pure: bytes in, a position out. Embedded in struct tunnel. Layer: gateway.
 */
#ifndef HF_GATEWAY_FRAMES_H
#define HF_GATEWAY_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMES_HEAD_MAX 14

struct frames {                    /* {0}: before the first frame */
    uint64_t left;                 /* of the current frame */
    uint8_t head[FRAMES_HEAD_MAX]; /* of the next one, as far as it has arrived */
    uint8_t have;
    bool closed; /* a close frame has begun: nothing may be sent after it */
};

/* Tracks the bytes; `to_end`: at most to the end of a frame. Returns how many were tracked. */
size_t frames_follow(struct frames *f, const char *bytes, size_t len, bool to_end);
/* Between two frames: how long the next is, including its header; 0: too little of it is here. */
uint64_t frames_measure(const char *bytes, size_t len);
/* A frame that was measured begins; frames_pass() then counts its bytes. */
void frames_begin(struct frames *f, const char *bytes, uint64_t size);
void frames_pass(struct frames *f, size_t n);

static inline bool frames_is_between(const struct frames *f)
{
    return f->left == 0 && f->have == 0;
}

#endif
