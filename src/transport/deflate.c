/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate.c - permessage-deflate (RFC 7692)
 *
 * Layer: transport.
 */
#include "transport/deflate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* Raw deflate. Level 1: terminal output compresses well at any level, and CPU time is scarce. */
#define DEFLATE_LEVEL 1
#define DEFLATE_WINDOW (-15)
#define DEFLATE_ROOM 4096

/* Ends a flushed stream; senders omit it and receivers append it. */
static const unsigned char deflate_tail[4] = {0x00, 0x00, 0xff, 0xff};

struct deflater {
    z_stream z;
    struct buf out;
};

struct inflater {
    z_stream z;
    size_t tail_used; /* bytes of the tail that were fed in */
};

struct deflater *deflater_new(void)
{
    struct deflater *d = calloc(1, sizeof *d);

    if (d != NULL && deflateInit2(&d->z, DEFLATE_LEVEL, Z_DEFLATED, DEFLATE_WINDOW, 8,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        free(d);
        return NULL;
    }
    return d;
}

void deflater_free(struct deflater *d)
{
    if (d == NULL)
        return;
    deflateEnd(&d->z);
    buf_fini(&d->out);
    free(d);
}

/* Runs zlib until it has no more output for its input. */
static bool deflater_pump(struct deflater *d, int flush)
{
    do {
        int rc;

        if (buf_reserve(&d->out, DEFLATE_ROOM) < 0)
            return false;
        d->z.next_out = (unsigned char *)buf_data(&d->out) + d->out.len;
        d->z.avail_out = DEFLATE_ROOM;
        rc = deflate(&d->z, flush);
        if (rc != Z_OK && rc != Z_BUF_ERROR)
            return false;
        d->out.len += DEFLATE_ROOM - d->z.avail_out;
    } while (d->z.avail_out == 0);
    return true;
}

const struct buf *deflater_run(struct deflater *d, const struct iovec *iov, int count)
{
    bool ok = true;

    buf_clear(&d->out);
    deflateReset(&d->z);
    for (int i = 0; i < count && ok; i++) {
        d->z.next_in = iov[i].iov_base;
        d->z.avail_in = (unsigned)iov[i].iov_len;
        ok = deflater_pump(d, i + 1 < count ? Z_NO_FLUSH : Z_SYNC_FLUSH);
    }
    if (!ok || d->out.len < sizeof deflate_tail)
        return NULL;
    d->out.len -= sizeof deflate_tail;
    return &d->out;
}

struct inflater *inflater_new(void)
{
    struct inflater *i = calloc(1, sizeof *i);

    if (i != NULL && inflateInit2(&i->z, DEFLATE_WINDOW) != Z_OK) {
        free(i);
        return NULL;
    }
    return i;
}

void inflater_free(struct inflater *i)
{
    if (i == NULL)
        return;
    inflateEnd(&i->z);
    free(i);
}

static int inflater_step(struct inflater *i, const void *in, size_t len)
{
    int rc;

    i->z.next_in = (unsigned char *)(uintptr_t)in;
    i->z.avail_in = (unsigned)len;
    rc = inflate(&i->z, Z_SYNC_FLUSH);
    /* A final block may end the stream inside a message, which RFC 7692 section 7.2.3.5 allows:
     * what follows, such as the tail, is then a new stream. */
    if (rc == Z_STREAM_END)
        rc = inflateReset(&i->z);
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : -EPROTO;
}

int inflater_run(struct inflater *i, const char *in, size_t len, bool last, size_t *used, char *out,
                 size_t room, size_t *made)
{
    int rc;

    i->z.next_out = (unsigned char *)out;
    i->z.avail_out = (unsigned)room;
    *used = 0;
    do {
        rc = inflater_step(i, in + *used, len - *used);
        *used = len - i->z.avail_in;
    } while (rc == 0 && *used < len && i->z.avail_out > 0);
    while (rc == 0 && *used == len && last && i->tail_used < sizeof deflate_tail &&
           i->z.avail_out > 0) {
        rc = inflater_step(i, deflate_tail + i->tail_used, sizeof deflate_tail - i->tail_used);
        i->tail_used = sizeof deflate_tail - i->z.avail_in;
    }
    *made = room - i->z.avail_out;
    return rc;
}

/* --- the offer ------------------------------------------------------------------------- */

static size_t skip_blanks(const char *s, size_t len)
{
    size_t n = 0;

    while (n < len && (s[n] == ' ' || s[n] == '\t'))
        n++;
    return n;
}

/* 8 to 15, optionally quoted, without leading zeros. */
static bool is_window_bits(const char *s, size_t len)
{
    if (len >= 2 && s[0] == '"' && s[len - 1] == '"')
        s++, len -= 2;
    return (len == 1 && (s[0] == '8' || s[0] == '9')) ||
           (len == 2 && s[0] == '1' && s[1] >= '0' && s[1] <= '5');
}

/* Splits "name = value"; returns the length of the name. *value is NULL without one. */
static size_t split_parameter(const char *s, size_t len, const char **value, size_t *value_len)
{
    const char *equals = memchr(s, '=', len);
    size_t name = equals != NULL ? (size_t)(equals - s) : len, blanks;

    *value = NULL;
    *value_len = 0;
    if (equals != NULL) {
        blanks = skip_blanks(equals + 1, len - name - 1);
        *value = equals + 1 + blanks;
        *value_len = len - name - 1 - blanks;
        while (*value_len > 0 && strchr(" \t", (*value)[*value_len - 1]) != NULL)
            --*value_len;
    }
    while (name > 0 && strchr(" \t", s[name - 1]) != NULL)
        name--;
    return name;
}

/* A parameter that requires nothing of us, or that we comply with anyway; *seen detects one that
 * occurs twice. One that requires a smaller window of us is declined: our compressor is shared. */
static bool parameter_is_fine(const char *s, size_t len, unsigned *seen)
{
    static const struct {
        const char *name;
        bool has_value; /* optional */
    } known[] = {{"server_no_context_takeover", false},
                 {"client_no_context_takeover", false},
                 {"client_max_window_bits", true}};
    size_t blanks = skip_blanks(s, len), value_len, n;
    const char *value;

    s += blanks;
    n = split_parameter(s, len - blanks, &value, &value_len);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != n || strncasecmp(s, known[i].name, n) != 0)
            continue;
        if ((*seen & 1U << i) != 0)
            return false;
        *seen |= 1U << i;
        return value == NULL || (known[i].has_value && is_window_bits(value, value_len));
    }
    return false;
}

/* An offer is declined if a parameter is malformed, unknown or one that we cannot comply with (RFC
 * 7692, 7). */
static bool offer_is_fine(const char *s, size_t len)
{
    static const char name[] = "permessage-deflate";
    size_t n = strcspn(s, ";, \t");
    unsigned seen = 0;

    if (n != sizeof name - 1 || strncasecmp(s, name, n) != 0)
        return false;
    n += skip_blanks(s + n, len - n);
    while (n < len && s[n] == ';') {
        size_t part = strcspn(s + n + 1, ";,");

        if (!parameter_is_fine(s + n + 1, part, &seen))
            return false;
        n += 1 + part;
    }
    return n == len;
}

bool deflate_is_offered(const char *extensions)
{
    while (extensions != NULL && *extensions != '\0') {
        size_t len;

        extensions += strspn(extensions, " \t,");
        len = strcspn(extensions, ",");
        if (offer_is_fine(extensions, len))
            return true;
        extensions += len;
    }
    return false;
}
