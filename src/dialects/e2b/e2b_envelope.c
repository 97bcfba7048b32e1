/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_envelope.c - splits a body into enveloped messages. Layer: dialects.
 */
#include "dialects/e2b/e2b_envelope.h"

#include <string.h>

#include "dialects/e2b/e2b_limits.h"

static bool is_whole(const struct envelope *e)
{
    return e->head_len == sizeof e->head && e->message.len == e->len;
}

static size_t take_head(struct envelope *e, const char *bytes, size_t len)
{
    size_t n = sizeof e->head - e->head_len;

    n = n < len ? n : len;
    memcpy(e->head + e->head_len, bytes, n);
    e->head_len += n;
    if (e->head_len == sizeof e->head)
        e->len = (size_t)e->head[1] << 24 | (size_t)e->head[2] << 16 | (size_t)e->head[3] << 8 |
                 e->head[4];
    return n;
}

enum envelope_state e2b_envelope_feed(struct envelope *e, const void *bytes, size_t len,
                                      size_t *used, struct hf_error *err)
{
    size_t n;

    *used = 0;
    if (is_whole(e)) { /* the current message was returned */
        e->head_len = 0;
        buf_clear(&e->message);
    }
    if (e->head_len < sizeof e->head)
        *used = take_head(e, bytes, len);
    if (e->head_len < sizeof e->head)
        return ENVELOPE_MORE;
    if (e->len > LIMIT_E2B_MESSAGE_BYTES) {
        hf_fail(err, HF_E_body_too_large, "a message is larger than %d bytes",
                LIMIT_E2B_MESSAGE_BYTES);
        return ENVELOPE_ERROR;
    }
    n = e->len - e->message.len;
    n = n < len - *used ? n : len - *used;
    buf_put(&e->message, (const char *)bytes + *used, n);
    *used += n;
    return is_whole(e) ? ENVELOPE_MESSAGE : ENVELOPE_MORE;
}

bool e2b_envelope_is_clean(const struct envelope *e)
{
    return e->head_len == 0 || is_whole(e);
}

void e2b_envelope_fini(struct envelope *e)
{
    buf_fini(&e->message);
}
