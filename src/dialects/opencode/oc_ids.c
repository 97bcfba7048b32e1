/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_ids.c - ids in the platform's format: a prefix, 12 hexadecimal digits of time and 14 other
 * characters. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "dialects/opencode/opencode.h"

/* Six zeros, then the daemon's own 20 characters; oc_decode.c converts them back. */
void oc_pty_id(const struct process_view *v, char out[OC_ID_BYTES])
{
    snprintf(out, OC_ID_BYTES, "pty_000000%.20s", v->id + 5);
}

static void put_id(const char *prefix, uint64_t time, const uint8_t *raw, char out[OC_ID_BYTES])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char *at = out + snprintf(out, OC_ID_BYTES, "%s_%012llx", prefix,
                              (unsigned long long)(time & 0xffffffffffffu));

    for (int i = 0; i < 14; i++)
        *at++ = digits[raw[i] % 62];
    *at = '\0';
}

void oc_make_id(const char *prefix, int64_t ms, unsigned place, const char *seed,
                char out[OC_ID_BYTES])
{
    char text[128];
    uint8_t raw[32];
    int n = snprintf(text, sizeof text, "%s %u %.80s", prefix, place, seed);

    sha256(text, (size_t)n, raw);
    put_id(prefix, (uint64_t)ms * 4096 + place, raw, out);
}

void oc_new_id(const char *prefix, bool newest_first, char out[OC_ID_BYTES])
{
    static int64_t last_ms;
    static unsigned count;
    int64_t now = clock_wall_ms();
    uint8_t raw[14];
    uint64_t time;

    count = now == last_ms ? count + 1 : 0;
    last_ms = now;
    time = (uint64_t)now * 4096 + count;
    crypto_random(raw, sizeof raw);
    put_id(prefix, newest_first ? ~time : time, raw, out);
}

void oc_uuid(char out[37])
{
    uint8_t r[16];

    crypto_random(r, sizeof r);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0],
             r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13],
             r[14], r[15]);
}
