/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_range.c - the headers of conditional and partial requests. Layer: dialects.
 */
#include "dialects/common/http_range.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/text.h"

/* --- Range ----------------------------------------------------------------------------------- */

/* Digits up to `end`; false: none, or others. */
static bool range_number(const char *from, const char *end, int64_t *out)
{
    char digits[20];
    size_t len = (size_t)(end - from);

    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, from, len);
    digits[len] = '\0';
    return strspn(digits, "0123456789") == len && text_to_i64(digits, 0, INT64_MAX, out);
}

bool http_range_parse(const char *header, struct http_range *out)
{
    const char *at, *dash, *end;
    int64_t first, last;

    if (header == NULL || strncasecmp(header, "bytes=", 6) != 0)
        return false;
    at = header + 6 + strspn(header + 6, " \t");
    end = at + strcspn(at, " \t");
    dash = strchr(at, '-');
    if (end[strspn(end, " \t")] != '\0' || dash == NULL || dash >= end)
        return false;
    if (dash == at) {
        out->from = -1;
        return range_number(dash + 1, end, &out->length);
    }
    if (!range_number(at, dash, &first))
        return false;
    out->from = first;
    out->length = -1;
    if (dash + 1 == end)
        return true;
    if (!range_number(dash + 1, end, &last) || last < first)
        return false;
    out->length = last - first < INT64_MAX ? last - first + 1 : INT64_MAX;
    return true;
}

/* --- entity tags ----------------------------------------------------------------------------- */

/* The next tag of the list: its text without quotes. False: the end, or malformed. */
static bool next_tag(const char **at, const char **tag, size_t *len, bool *weak)
{
    const char *p = *at + strspn(*at, " \t,"), *end;

    *weak = p[0] == 'W' && p[1] == '/';
    p += *weak ? 2 : 0;
    if (*p != '"' || (end = strchr(p + 1, '"')) == NULL)
        return false;
    *tag = p + 1;
    *len = (size_t)(end - p - 1);
    *at = end + 1;
    return true;
}

static bool is_any(const char *header)
{
    const char *p = header + strspn(header, " \t");

    return p[0] == '*' && p[1 + strspn(p + 1, " \t")] == '\0';
}

bool http_range_lists_tag(const char *header, const char *tag, bool weak)
{
    const char *found;
    bool is_weak;
    size_t len;

    if (is_any(header))
        return true;
    while (next_tag(&header, &found, &len, &is_weak))
        if ((weak || !is_weak) && len == strlen(tag) && memcmp(found, tag, len) == 0)
            return true;
    return false;
}

bool http_range_single_tag(const char *header, char *out, unsigned size)
{
    const char *tag;
    bool weak;
    size_t len;

    if (is_any(header)) {
        snprintf(out, size, "*");
        return true;
    }
    if (!next_tag(&header, &tag, &len, &weak) || weak || len == 0 || len >= size ||
        header[strspn(header, " \t")] != '\0')
        return false;
    memcpy(out, tag, len);
    out[len] = '\0';
    return true;
}

/* --- dates ----------------------------------------------------------------------------------- */

void http_range_date(int64_t ms, char out[HTTP_RANGE_DATE_BYTES])
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t s = (time_t)(ms / 1000);
    struct tm tm = {0};

    out[0] = '\0';
    if (ms < 0 || gmtime_r(&s, &tm) == NULL || tm.tm_year > 9999 - 1900)
        return;
    snprintf(out, HTTP_RANGE_DATE_BYTES, "%s, %02d %s %04d %02d:%02d:%02d GMT",
             days[tm.tm_wday % 7], tm.tm_mday % 32, months[tm.tm_mon % 12],
             (tm.tm_year + 1900) % 10000, tm.tm_hour % 24, tm.tm_min % 60, tm.tm_sec % 61);
}
