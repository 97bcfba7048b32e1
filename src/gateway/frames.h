/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.h - where a stream of WebSocket frames stands between two of them
 *
 * A tunnel does not look into frames, but a worker that must go wants to say so (1001), and that may
 * be done between two frames only. So the lengths in the headers of one direction are followed:
 * some ten bytes of each frame are looked at, and nothing is judged; whatever it is, it passes.
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
    uint8_t head[FRAMES_HEAD_MAX]; /* of the next one, as far as it has come */
    uint8_t have;
    bool closed; /* a close frame has begun: nothing may be said behind it */
};

/* Follows the bytes; `to_end`: at most to the end of a frame. How many were followed. */
size_t frames_follow(struct frames *f, const char *bytes, size_t len, bool to_end);
/* Between two frames: how long the next is, header and all; 0: too little of it is here. */
uint64_t frames_measure(const char *bytes, size_t len);
/* A frame that was measured begins; frames_pass() says how much of it has gone by. */
void frames_begin(struct frames *f, const char *bytes, uint64_t size);
void frames_pass(struct frames *f, size_t n);

static inline bool frames_is_between(const struct frames *f)
{
    return f->left == 0 && f->have == 0;
}

#endif
