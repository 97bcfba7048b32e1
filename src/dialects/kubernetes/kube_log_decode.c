/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log_decode.c - parses RFC 3339 times and prefixes lines with them. Layer: dialects.
 */
#include "dialects/kubernetes/kube_log_decode.h"

#include <string.h>

#include "base/clock.h"

/* Days from 1970-01-01 in the civil calendar. Years begin in March, so that leap days come last. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2);
    int64_t era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* The fraction after the seconds; the first three digits count. */
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

/* Exactly that many digits; false: fewer. */
static bool take_digits(const char **s, int count, int *out)
{
    *out = 0;
    for (; count > 0; count--, (*s)++) {
        if (**s < '0' || **s > '9')
            return false;
        *out = *out * 10 + (**s - '0');
    }
    return true;
}

static bool take_char(const char **s, char c)
{
    if (**s != c)
        return false;
    (*s)++;
    return true;
}

static bool parse_offset(const char *s, int64_t *minutes)
{
    int h, m, sign = *s == '-' ? -1 : 1;

    *minutes = 0;
    if (strcmp(s, "Z") == 0 || strcmp(s, "z") == 0)
        return true;
    if (*s != '+' && *s != '-')
        return false;
    s++;
    if (!take_digits(&s, 2, &h) || !take_char(&s, ':') || !take_digits(&s, 2, &m) || *s != '\0' ||
        h > 23 || m > 59)
        return false;
    *minutes = sign * (h * 60 + m);
    return true;
}

static bool parse_date(const char **s, int64_t *days)
{
    int y, m, d;

    if (!take_digits(s, 4, &y) || !take_char(s, '-') || !take_digits(s, 2, &m) ||
        !take_char(s, '-') || !take_digits(s, 2, &d) || y < 1970 || m < 1 || m > 12 || d < 1 ||
        d > 31)
        return false;
    *days = days_of(y, m, d);
    return true;
}

static bool parse_clock(const char **s, int64_t *seconds)
{
    int h, m, sec;

    if (!take_digits(s, 2, &h) || !take_char(s, ':') || !take_digits(s, 2, &m) ||
        !take_char(s, ':') || !take_digits(s, 2, &sec) || h > 23 || m > 59 || sec > 60)
        return false;
    *seconds = (h * 60 + m) * 60 + sec;
    return true;
}

bool log_time_parse(const char *text, int64_t *wall_ms)
{
    int64_t days, seconds, ms, minutes;

    if (!parse_date(&text, &days) || !take_char(&text, 'T') || !parse_clock(&text, &seconds))
        return false;
    text = parse_fraction(text, &ms);
    if (text == NULL || !parse_offset(text, &minutes))
        return false;
    *wall_ms = (days * 86400 + seconds - minutes * 60) * 1000 + ms;
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
