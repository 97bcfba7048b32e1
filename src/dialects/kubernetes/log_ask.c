/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/kubernetes/log_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Days from 1970-01-01, by the civil calendar: years begin in March, so that leap days are last. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Behind the seconds: a fraction, of which three digits count. */
static const char *parse_fraction(const char *s, int64_t *ms)
{
    int64_t unit = 100;

    *ms = 0;
    if (*s != '.')
        return s;
    s++;
    if (*s < '0' || *s > '9')
        return NULL;
    for (; *s >= '0' && *s <= '9'; s++, unit /= 10)
        *ms += (*s - '0') * unit;
    return s;
}

static bool parse_offset(const char *s, int64_t *minutes)
{
    int h, m, used = 0;
    char sign;

    *minutes = 0;
    if (strcmp(s, "Z") == 0 || strcmp(s, "z") == 0)
        return true;
    if (sscanf(s, "%c%2d:%2d%n", &sign, &h, &m, &used) != 3 || s[used] != '\0' ||
        (sign != '+' && sign != '-') || h < 0 || h > 23 || m < 0 || m > 59)
        return false;
    *minutes = (sign == '-' ? -1 : 1) * (h * 60 + m);
    return true;
}

bool log_time_parse(const char *text, int64_t *wall_ms)
{
    int y, mo, d, h, mi, s, used = 0;
    int64_t ms, minutes;
    const char *rest;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6 ||
        used != 19)
        return false;
    if (y < 1970 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 || mi > 59 ||
        s < 0 || s > 60)
        return false;
    rest = parse_fraction(text + used, &ms);
    if (rest == NULL || !parse_offset(rest, &minutes))
        return false;
    *wall_ms = (((days_of(y, mo, d) * 24 + h) * 60 + mi - minutes) * 60 + s) * 1000 + ms;
    return true;
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
