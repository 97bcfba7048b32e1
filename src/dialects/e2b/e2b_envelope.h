/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_envelope.h - messages from a body that arrives in pieces
 *
 * Consumes bytes, produces one message at a time; buffers at most one. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_ENVELOPE_H
#define HF_DIALECTS_E2B_E2B_ENVELOPE_H

#include "base/buf.h"
#include "base/error.h"

struct envelope {
    unsigned char head[5];
    size_t head_len, len; /* of the message, once the head is complete */
    struct buf message;
};

enum envelope_state { ENVELOPE_MORE, ENVELOPE_MESSAGE, ENVELOPE_ERROR };
/*
 * Consumes up to the end of one message and sets *used. ENVELOPE_MESSAGE: it is in e->message
 * until the next call, with e->head[0] as its flags. ENVELOPE_ERROR: err; feed no more.
 */
enum envelope_state e2b_envelope_feed(struct envelope *e, const void *bytes, size_t len,
                                      size_t *used, struct hf_error *err);
/* Is no message incomplete? */
bool e2b_envelope_is_clean(const struct envelope *e);
void e2b_envelope_fini(struct envelope *e);

#endif
