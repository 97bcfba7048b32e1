/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rfc3339.c - parses times in RFC 3339 format, with any zone. Layer: base.
 */
#include "base/rfc3339.h"

#include <string.h>

/* Days since 1970-01-01. Without the C library, which reads the time zone file, see clock.h. */
static int64_t days_of(int64_t y, int m, int d)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = m > 2 ? y : y - 1; /* years whose February is over */

    return y * 365 + past / 4 - past / 100 + past / 400 + before[m - 1] + d - 1 - 719527;
}

/* Parses `count` digits and then this character, if it is not NUL; -1: no match. */
static int digits(const char **text, int count, char then)
{
    int v = 0;

    for (; count > 0; count--, ++*text) {
        if (**text < '0' || **text > '9')
            return -1;
        v = v * 10 + (**text - '0');
    }
    if (then == '\0')
        return v;
    return *(*text)++ == then ? v : -1;
}

/* "Z" or "+01:00", as the minutes to add in order to get UTC. */
static bool zone_parse(const char *text, int *minutes)
{
    int sign = *text == '-' ? 1 : -1, h, m;

    *minutes = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return true;
    if ((*text != '+' && *text != '-') || strlen(text) != 6)
        return false;
    text++;
    h = digits(&text, 2, ':');
    m = digits(&text, 2, '\0');
    *minutes = sign * (h * 60 + m);
    return h >= 0 && h <= 23 && m >= 0 && m <= 59;
}

/* "2026-01-02T03:04:05[.678]" and a zone. */
bool rfc3339_parse(const char *text, int64_t *wall_ms)
{
    static const struct {
        int count, min, max;
        char then;
    } parts[] = {{4, 1, 9999, '-'}, {2, 1, 12, '-'}, {2, 1, 31, 'T'},
                 {2, 0, 23, ':'},   {2, 0, 59, ':'}, {2, 0, 60, '\0'}};
    int v[6], fraction = 0, scale = 100, zone;

    for (int i = 0; i < 6; i++) {
        v[i] = digits(&text, parts[i].count, parts[i].then);
        if (v[i] < parts[i].min || v[i] > parts[i].max)
            return false;
    }
    if (*text == '.' && (*++text < '0' || *text > '9'))
        return false;
    for (; *text >= '0' && *text <= '9'; text++, scale /= 10)
        fraction += (*text - '0') * scale;
    if (!zone_parse(text, &zone))
        return false;
    *wall_ms = (((days_of(v[0], v[1], v[2]) * 24 + v[3]) * 60 + v[4] + zone) * 60 + v[5]) * 1000 +
               fraction;
    return true;
}
