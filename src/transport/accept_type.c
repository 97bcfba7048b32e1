/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept_type.c - matches media types against the Accept header
 *
 * Quality values are in thousandths. Layer: transport.
 */
#include <string.h>
#include <strings.h>

#include "transport/http.h"

struct accept_type_range {
    const char *type;
    size_t len;
    int quality;
};

/* The quality parameter, such as ";q=0.5"; 1000 if there is none. */
static int parse_quality(const char *s, size_t len)
{
    static const int weight[] = {1000, 0, 100, 10, 1};

    for (size_t i = 0; i + 3 < len; i++) {
        int q = 0;

        if (s[i] != ';')
            continue;
        while (i + 1 < len && (s[i + 1] == ' ' || s[i + 1] == '\t'))
            i++;
        if (i + 3 >= len || (s[i + 1] != 'q' && s[i + 1] != 'Q') || s[i + 2] != '=')
            continue;
        for (size_t k = 0; k < 5 && i + 3 + k < len; k++) {
            char c = s[i + 3 + k];

            if (c >= '0' && c <= '9')
                q += (c - '0') * weight[k];
            else if (c != '.')
                break;
        }
        return q > 1000 ? 1000 : q;
    }
    return 1000;
}

/* The next element of the list; NULL at its end. */
static const char *next_range(const char *s, struct accept_type_range *out)
{
    size_t all;

    s += strspn(s, " \t,");
    if (*s == '\0')
        return NULL;
    all = strcspn(s, ",");
    out->type = s;
    out->len = strcspn(s, ",; \t");
    out->quality = parse_quality(s + out->len, all - out->len);
    return s + all;
}

/* 3: exact, 2: "type/ *", 1: any, 0: another type. */
static int range_fits(const struct accept_type_range *r, const char *type)
{
    size_t len = strlen(type), group = strcspn(type, "/") + 1;

    if (r->len == len && strncasecmp(r->type, type, len) == 0)
        return 3;
    if (r->len == group + 1 && strncasecmp(r->type, type, group) == 0 && r->type[group] == '*')
        return 2;
    if (r->len == 3 && memcmp(r->type, "*/*", 3) == 0)
        return 1;
    return 0;
}

bool http_accepts(const struct http_request *rq, const char *type)
{
    const char *s = http_header(rq, "Accept");
    int best = 0, quality = 0;
    struct accept_type_range r;

    if (s == NULL)
        return true;
    while ((s = next_range(s, &r)) != NULL) {
        int fit = range_fits(&r, type);

        if (fit > best) {
            best = fit;
            quality = r.quality;
        }
    }
    return quality > 0;
}

bool http_lists(const struct http_request *rq, const char *header, const char *name)
{
    const char *s = http_header(rq, header);
    size_t len = strlen(name);
    struct accept_type_range r;

    while (s != NULL && (s = next_range(s, &r)) != NULL) {
        if (r.len == len && strncasecmp(r.type, name, len) == 0)
            return r.quality > 0;
    }
    return false;
}

/* True only if the header names the type and prefers no other named type. */
bool http_wants(const struct http_request *rq, const char *type)
{
    const char *s = http_header(rq, "Accept");
    int wanted = 0, other = 0;
    struct accept_type_range r;

    while (s != NULL && (s = next_range(s, &r)) != NULL) {
        int fit = range_fits(&r, type);

        if (fit == 3 && r.quality > wanted)
            wanted = r.quality;
        else if (fit == 0 && r.quality > other)
            other = r.quality;
    }
    return wanted > 0 && wanted >= other;
}
