/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signed_link.c - signed links
 *
 * Layer: gateway.
 */
#include "gateway/signed_link.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"

static void to_url_alphabet(struct buf *b)
{
    char *s = buf_data(b);

    for (size_t i = 0; i < b->len; i++)
        s[i] = (char)(s[i] == '+' ? '-' : s[i] == '/' ? '_' : s[i]);
    while (b->len > 0 && s[b->len - 1] == '=')
        b->len--;
}

void link_sign(const struct buf *key, const char *id, uint16_t port, int64_t expires_s, char *out)
{
    struct buf text = {0}, sig = {0};
    uint8_t mac[32];

    buf_printf(&text, "hf1\n%s\n%u\n%lld", id, port, (long long)expires_s);
    hmac_sha256(buf_data(key), key->len, buf_data(&text), text.len, mac);
    base64_encode(&sig, mac, sizeof mac);
    to_url_alphabet(&sig);
    snprintf(out, LINK_TEXT_BYTES, "%lld.%s", (long long)expires_s, buf_cstr(&sig));
    buf_fini(&text);
    buf_fini(&sig);
}

bool link_is_good(const struct buf *key, const char *id, uint16_t port, const char *text,
                  size_t len, int64_t now_s, int64_t *expires_s)
{
    char given[LINK_TEXT_BYTES] = "", want[LINK_TEXT_BYTES] = "", digits[20];
    size_t dot;

    if (len >= sizeof given)
        return false;
    memcpy(given, text, len);
    dot = strcspn(given, ".");
    if (dot == 0 || dot >= sizeof digits)
        return false;
    memcpy(digits, given, dot);
    digits[dot] = '\0';
    if (!text_to_i64(digits, 1, INT64_MAX / 2000, expires_s))
        return false;
    link_sign(key, id, port, *expires_s, want);
    return crypto_equal(given, want, sizeof given) && *expires_s > now_s;
}

static bool is_named(const char *pair, size_t len, const char *name)
{
    size_t n = strlen(name);

    return len > n && memcmp(pair, name, n) == 0 && pair[n] == '=';
}

/* The next pair of a list; returns its length and moves *s to it. */
static size_t next_pair(const char **s, const char *skip, const char *stop)
{
    *s += strspn(*s, skip);
    return strcspn(*s, stop);
}

static const char *find(const char *s, const char *name, const char *skip, const char *stop,
                        size_t *len)
{
    while (*s != '\0') {
        size_t n = next_pair(&s, skip, stop);

        if (is_named(s, n, name)) {
            *len = n - strlen(name) - 1;
            return s + strlen(name) + 1;
        }
        s += n;
    }
    return NULL;
}

const char *link_in_query(const char *query, size_t *len)
{
    return find(query, LINK_NAME, "?&", "&", len);
}

const char *link_in_cookie(const char *cookie, const char *name, size_t *len)
{
    return find(cookie, name, "; \t", ";", len);
}

/* Every other byte stays where it is, including empty pairs. */
void link_put_query(struct buf *out, const char *query)
{
    char mark = '?';

    if (*query != '?')
        return;
    for (;;) {
        size_t n = strcspn(++query, "&");

        if (!is_named(query, n, LINK_NAME)) {
            buf_putc(out, mark);
            buf_put(out, query, n);
            mark = '&';
        }
        query += n;
        if (*query == '\0')
            return;
    }
}

void link_put_cookie(struct buf *out, const char *cookie)
{
    bool first = true;

    while (*cookie != '\0') {
        size_t n = next_pair(&cookie, "; \t", ";");

        if (n > 0 && !is_named(cookie, n, LINK_NAME) && !is_named(cookie, n, LINK_HOST_NAME)) {
            buf_puts(out, first ? "Cookie: " : "; ");
            buf_put(out, cookie, n);
            first = false;
        }
        cookie += n;
    }
    if (!first)
        buf_put(out, "\r\n", 2);
}
