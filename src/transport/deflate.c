/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate.c - permessage-deflate (RFC 7692). Layer: transport.
 */
#include "transport/deflate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* Raw deflate. Level 1: terminals compress well at any level, and the CPU is wanted elsewhere. */
#define DEFLATE_LEVEL 1
#define DEFLATE_WINDOW (-15)
#define DEFLATE_ROOM 4096

/* Ends a flushed stream; senders leave it out and receivers put it back. */
static const unsigned char deflate_tail[4] = {0x00, 0x00, 0xff, 0xff};

struct deflater {
    z_stream z;
    struct buf out;
};

struct inflater {
    z_stream z;
    size_t tail_used; /* bytes of the tail that went in */
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
    /* A final block may end the stream inside a message; RFC 7692 section 7.2.3.5
     * allows that: what follows, such as the tail, is then a new stream. */
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

/* One offer: "permessage-deflate; client_max_window_bits; ...". What asks us to use a
 * smaller window is declined: our compressor is shared. */
/* A parameter that needs nothing of us, or that we keep anyway. */
static bool parameter_is_fine(const char *s, size_t len)
{
    static const char *const known[] = {"server_no_context_takeover", "client_no_context_takeover",
                                        "client_max_window_bits"};
    size_t n;

    while (len > 0 && (s[0] == ' ' || s[0] == '\t'))
        s++, len--;
    for (n = 0; n < len && s[n] != '=' && s[n] != ' ' && s[n] != '\t';)
        n++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i]) == n && strncasecmp(s, known[i], n) == 0)
            return true;
    }
    return false;
}

/* An offer with a parameter that we cannot keep or do not know is declined (RFC 7692, 5.1). */
static bool offer_is_fine(const char *s, size_t len)
{
    static const char name[] = "permessage-deflate";
    size_t n = strcspn(s, ";, \t");

    if (n != sizeof name - 1 || strncasecmp(s, name, n) != 0)
        return false;
    while (n < len && s[n] == ' ')
        n++;
    while (n < len && s[n] == ';') {
        size_t part = strcspn(s + n + 1, ";,");

        if (!parameter_is_fine(s + n + 1, part))
            return false;
        n += 1 + part;
    }
    return true;
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
