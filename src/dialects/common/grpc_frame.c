/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_frame.c - the small formats of gRPC: a framed message, a timeout, a message in a
 * header
 *
 * Pure. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/grpc.h"

void grpc_head(char out[GRPC_HEAD_BYTES], size_t len)
{
    out[0] = 0;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (char)(len >> (24 - 8 * i));
}

const char *grpc_unframe(const char *body, size_t len, size_t *message_len, enum grpc_code *code,
                         const char **why)
{
    const unsigned char *head = (const unsigned char *)body;

    *code = GRPC_INTERNAL;
    *why = "the body is not one gRPC message";
    if (len < GRPC_HEAD_BYTES)
        return NULL;
    if (head[0] != 0) {
        *code = GRPC_UNIMPLEMENTED;
        *why = "compressed messages are not supported";
        return NULL;
    }
    *message_len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    return *message_len == len - GRPC_HEAD_BYTES ? body + GRPC_HEAD_BYTES : NULL;
}

/* At most eight digits and a unit. Anything below 1 ms counts as 1 ms. */
bool grpc_timeout(const char *text, uint64_t *ms)
{
    static const char units[] = "HMSmun";
    static const uint64_t of_unit[] = {3600000, 60000, 1000, 1, 0, 0};
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    uint64_t n = 0;

    if (digits == 0 || digits > 8 || unit == NULL || text[digits + 1] != '\0')
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(text[i] - '0');
    *ms = *unit == 'u' ? n / 1000 : *unit == 'n' ? n / 1000000 : n * of_unit[unit - units];
    *ms = *ms == 0 ? 1 : *ms > LIMIT_DURATION_MS ? LIMIT_DURATION_MS : *ms;
    return true;
}

/* All of ASCII that is printable, except '%'. */
void grpc_put_message(struct buf *out, const char *text)
{
    text_percent_encode(out, text, " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~");
}
