/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_signature.c - signed links to files, which any token holder can make. Layer: dialects.
 */
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"
#include "dialects/e2b/e2b_files.h"
#include "transport/auth.h"

/* "v1_" and SHA-256 of path:operation:user:token[:expires], in base64 without padding. */
static bool fits(const char *token, size_t len, const char *const *parts, const char *given)
{
    struct buf text = {0}, want = {0};
    uint8_t digest[32];
    bool same;

    for (size_t i = 0; i < 3; i++) {
        buf_puts(&text, parts[i]);
        buf_putc(&text, ':');
    }
    buf_put(&text, token, len);
    if (parts[3] != NULL) {
        buf_putc(&text, ':');
        buf_puts(&text, parts[3]);
    }
    sha256(buf_data(&text), text.len, digest);
    buf_wipe(&text);
    buf_puts(&want, "v1_");
    base64_encode(&want, digest, sizeof digest);
    want.len--; /* 32 bytes end with one padding character */
    same = strlen(given) == want.len && crypto_equal(buf_data(&want), given, want.len);
    buf_fini(&want);
    return same;
}

static bool any_fits(const struct buf *tokens, const char *const *parts, const char *given)
{
    const char *at = buf_data(tokens);
    size_t left = tokens->len;
    bool ok = false;

    while (left > 0) {
        const char *next = memchr(at, '\n', left), *token;
        size_t n = next != NULL ? (size_t)(next - at) + 1 : left, len;
        enum role role;

        if (auth_line_parse(at, n, &token, &len, &role) && role >= ROLE_OWN)
            ok |= fits(token, len, parts, given);
        at += n;
        left -= n;
    }
    return ok;
}

const char *e2b_signature_refusal(const struct buf *tokens, const char *const parts[4],
                                  const char *given, int64_t now_s)
{
    const char *expires = parts[SIGNED_EXPIRES];
    int64_t end = 0;

    /* If the user contained a colon, the same text could be read as another path and user. */
    if (strchr(parts[SIGNED_USER], ':') != NULL || !any_fits(tokens, parts, given) ||
        (expires != NULL && !text_to_i64(expires, INT64_MIN, INT64_MAX, &end)))
        return "invalid signature";
    return expires != NULL && end < now_s ? "signature is already expired" : NULL;
}
