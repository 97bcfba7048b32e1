/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url_query.c - percent-decoding of a request's path and query
 *
 * Layer: transport.
 */
#include "transport/url_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

ssize_t url_percent_decode(const char *s, size_t len, bool plus, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        char c = s[i];

        if (c == '%') {
            int hi = len - i > 2 ? hex_digit(s[i + 1]) : -1;
            int lo = len - i > 2 ? hex_digit(s[i + 2]) : -1;

            if (hi < 0 || lo < 0)
                return -EINVAL;
            c = (char)(hi * 16 + lo);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == '\0')
            return -EINVAL;
        out[n++] = c;
    }
    out[n] = '\0';
    return (ssize_t)n;
}

static bool segment_is_fit(const char *s)
{
    if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
        return false;
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    }
    return true;
}

int path_parse(struct path *p, const char *raw, struct hf_error *err)
{
    size_t len = strlen(raw), at = 0;

    *p = (struct path){0};
    if (raw[0] != '/')
        return hf_fail(err, HF_E_bad_path, "The path must begin with a slash.");
    p->mem = malloc(len + 1); /* a decoded segment and its NUL fit where it and its slash were */
    if (p->mem == NULL)
        return hf_fail(err, HF_E_no_memory, "Out of memory for the path.");
    for (const char *s = raw + 1;;) {
        size_t part = strcspn(s, "/");
        ssize_t n = url_percent_decode(s, part, false, p->mem + at);

        if (n < 0 || !segment_is_fit(p->mem + at)) {
            path_fini(p);
            return hf_fail(err, HF_E_bad_path,
                           "The path has a bad escape, a control character, or a '.' or '..' "
                           "segment.");
        }
        at += (size_t)n + 1;
        p->count++;
        if (s[part] == '\0')
            return 0;
        s += part + 1;
    }
}

void path_fini(struct path *p)
{
    free(p->mem);
    *p = (struct path){0};
}

static size_t count_pairs(const char *raw)
{
    size_t n = 1;

    for (; *raw != '\0'; raw++)
        n += *raw == '&';
    return n;
}

/* Decodes one "name=value" of len bytes to *at and moves *at past it. */
static int pair_decode(struct query_pair *pair, const char *s, size_t len, char **at)
{
    const char *eq = memchr(s, '=', len);
    size_t name_len = eq == NULL ? len : (size_t)(eq - s);
    ssize_t n = url_percent_decode(s, name_len, true, *at);

    if (n <= 0)
        return -EINVAL;
    pair->name = *at;
    *at += n + 1;
    pair->value = "";
    if (eq == NULL)
        return 0;
    n = url_percent_decode(eq + 1, len - name_len - 1, true, *at);
    if (n < 0)
        return -EINVAL;
    pair->value = *at;
    *at += n + 1;
    return 0;
}

int query_parse(struct url_query *q, const char *raw, struct hf_error *err)
{
    size_t max = count_pairs(raw);
    char *at;

    *q = (struct url_query){0};
    if (*raw == '\0')
        return 0;
    if (max > QUERY_PAIRS_MAX)
        return hf_fail(err, HF_E_bad_query, "The query has more than %d parameters.",
                       QUERY_PAIRS_MAX);
    q->mem = at = malloc(strlen(raw) + max + 1);
    q->list = calloc(max, sizeof *q->list);
    if (q->mem == NULL || q->list == NULL) {
        query_fini(q);
        return hf_fail(err, HF_E_no_memory, "Out of memory for the query.");
    }
    while (*raw != '\0') {
        size_t len = strcspn(raw, "&");

        if (len > 0 && pair_decode(&q->list[q->count++], raw, len, &at) < 0) {
            query_fini(q);
            return hf_fail(err, HF_E_bad_query,
                           "The query has a bad escape, a NUL or a parameter without a name.");
        }
        raw += len + (raw[len] == '&');
    }
    return 0;
}

void query_fini(struct url_query *q)
{
    free(q->mem);
    free(q->list);
    *q = (struct url_query){0};
}

static bool name_is_listed(const char *name, const char *list)
{
    size_t len = strlen(name);

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, " ");

        if (n == len && memcmp(list, name, n) == 0)
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

int query_check(const struct url_query *q, const char *allowed, struct hf_error *err)
{
    for (size_t i = 0; i < q->count; i++) {
        const char *name = q->list[i].name;

        if (!name_is_listed(name, allowed))
            return hf_fail_field(err, HF_E_bad_query, name,
                                 "Unknown query parameter; allowed here: %s.",
                                 allowed == NULL || *allowed == '\0' ? "none" : allowed);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(q->list[j].name, name) == 0)
                return hf_fail_field(err, HF_E_bad_query, name,
                                     "The query parameter is given more than once.");
        }
    }
    return 0;
}

const char *query_get(const struct url_query *q, const char *name)
{
    for (size_t i = 0; i < q->count; i++) {
        if (strcmp(q->list[i].name, name) == 0)
            return q->list[i].value;
    }
    return NULL;
}
