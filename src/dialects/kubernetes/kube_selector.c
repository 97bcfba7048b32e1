/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_selector.c - parses selectors and matches them. Layer: dialects.
 */
#include "dialects/kubernetes/kube_selector.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"

enum relation { EQUAL, NOT_EQUAL, EXISTS, NOT_EXISTS, IN, NOT_IN };

/* One part of a selector; the names are ranges of its text. */
struct part {
    enum relation relation;
    const char *name, *value;
    size_t name_len, value_len;
};

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && strchr(BLANKS, **text) != NULL)
        ++*text, --*len;
    while (*len > 0 && strchr(BLANKS, (*text)[*len - 1]) != NULL)
        --*len;
}

/* The length of the part at the beginning: up to a comma that is not in parentheses. */
static size_t part_len(const char *text)
{
    bool inside = false;
    size_t n = 0;

    for (; text[n] != '\0' && (inside || text[n] != ','); n++)
        inside = text[n] == '(' || (inside && text[n] != ')');
    return n;
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strchr(" \t!=()<>,", text[i]) != NULL)
            return false;
    return len > 0;
}

/* NAME in (…), NAME notin (…). The values do not matter to an object without labels. */
static bool parse_set(const char *text, size_t len, struct part *out)
{
    const char *open = memchr(text, '(', len);
    size_t words;

    if (open == NULL || text[len - 1] != ')')
        return false;
    words = (size_t)(open - text);
    trim(&text, &words);
    out->name = text;
    out->name_len = strcspn(text, BLANKS);
    if (out->name_len >= words)
        return false;
    text += out->name_len;
    words -= out->name_len;
    trim(&text, &words);
    out->relation = words == 5 ? NOT_IN : IN;
    return (words == 2 && memcmp(text, "in", 2) == 0) ||
           (words == 5 && memcmp(text, "notin", 5) == 0);
}

static bool parse_part(const char *text, size_t len, struct part *out)
{
    const char *sign = memchr(text, '=', len);

    *out = (struct part){.relation = EXISTS, .name = text, .name_len = len};
    if (len > 0 && sign == NULL && text[len - 1] == ')')
        return parse_set(text, len, out) && is_name(out->name, out->name_len);
    if (sign == NULL && len > 0 && text[0] == '!') {
        out->relation = NOT_EXISTS;
        out->name++, out->name_len--;
    } else if (sign != NULL) {
        bool negated = sign > text && sign[-1] == '!';
        size_t at = (size_t)(sign - text);

        out->relation = negated ? NOT_EQUAL : EQUAL;
        out->name_len = at - negated;
        at += at + 1 < len && sign[1] == '=' && !negated ? 2 : 1;
        out->value = text + at;
        out->value_len = len - at;
        trim(&out->value, &out->value_len);
    }
    trim(&out->name, &out->name_len);
    return is_name(out->name, out->name_len);
}

typedef int match_fn(const struct part *p, const void *arg, struct hf_error *err);

static int match_all(const char *selector, match_fn *match, const void *arg, struct hf_error *err)
{
    int all = 1;

    while (selector != NULL && *selector != '\0') {
        const char *text = selector;
        size_t whole = part_len(selector), len = whole;
        struct part p;
        int rc;

        trim(&text, &len);
        if (!parse_part(text, len, &p))
            return hf_fail(err, HF_E_bad_query, "unable to parse requirement: '%.*s'", (int)len,
                           text);
        rc = match(&p, arg, err);
        if (rc < 0)
            return rc;
        all &= rc;
        selector += whole + (selector[whole] == ',');
    }
    return all;
}

static int match_field(const struct part *p, const void *arg, struct hf_error *err)
{
    const struct kube_field *f = arg;

    if (p->relation != EQUAL && p->relation != NOT_EQUAL)
        return hf_fail(err, HF_E_bad_query, "invalid field selector: '%.*s'", (int)p->name_len,
                       p->name);
    for (; f->name != NULL; f++)
        if (strlen(f->name) == p->name_len && memcmp(f->name, p->name, p->name_len) == 0)
            return (strlen(f->value) == p->value_len &&
                    memcmp(f->value, p->value, p->value_len) == 0) == (p->relation == EQUAL);
    return hf_fail(err, HF_E_bad_query, "field label not supported: %.*s", (int)p->name_len,
                   p->name);
}

static int match_no_labels(const struct part *p, const void *arg, struct hf_error *err)
{
    (void)arg, (void)err;
    return p->relation == NOT_EQUAL || p->relation == NOT_EXISTS || p->relation == NOT_IN;
}

int kube_select_fields(const char *selector, const struct kube_field *fields, struct hf_error *err)
{
    return match_all(selector, match_field, fields, err);
}

int kube_select_labels(const char *selector, struct hf_error *err)
{
    return match_all(selector, match_no_labels, NULL, err);
}
