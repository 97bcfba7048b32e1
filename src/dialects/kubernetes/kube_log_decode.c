/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log_decode.c - parses RFC 3339 times and prefixes lines with them. Layer: dialects.
 */
#include "dialects/kubernetes/kube_log_decode.h"

#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"

bool log_time_parse(const char *text, int64_t *wall_ms)
{
    return strncmp(text, "1970", 4) >= 0 && rfc3339_parse(text, wall_ms);
}

void log_put_timed(struct buf *out, const char *bytes, size_t len, int64_t wall_ms, bool *inside)
{
    char time[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(wall_ms, time);
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end != NULL ? (size_t)(end - bytes) + 1 : len;

        if (!*inside) {
            buf_puts(out, time);
            buf_putc(out, ' ');
        }
        buf_put(out, bytes, n);
        *inside = end == NULL;
        bytes += n;
        len -= n;
    }
}
