/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_pattern.c - regular expressions as ripgrep's users write them
 *
 * The C library matches bytes here, as no locale is set. So what matches one character becomes a
 * group that matches its bytes in UTF-8. Layer: dialects.
 */
#include "dialects/opencode/oc_pattern.h"

#include <ctype.h>
#include <string.h>

#include "base/limits.h"

#define CLASS_BYTES 128 /* what is not ASCII is in a class together, as OTHERS */
#define OTHERS 0

#define ASCII_NOT "\x80-\xff"               /* in a class: no byte of OTHERS */
#define OTHER_ONE "[\xc2-\xf4][\x80-\xbf]+" /* one character of OTHERS */
#define ANY_ONE "([^" ASCII_NOT "]|" OTHER_ONE ")"

struct pattern {
    const char *at;
    struct buf *out;
    struct hf_error *err;
};

static int refuse(struct pattern *p, const char *what)
{
    return hf_fail(p->err, HF_E_bad_query, "the pattern has %s, which this server does not support",
                   what);
}

/* --- classes: [...] -------------------------------------------------------------------------- */

typedef bool class_set[CLASS_BYTES];

static int is_word(int c)
{
    return isalnum(c) || c == '_';
}

static void set_add(class_set set, int (*has)(int), bool negated)
{
    for (int c = 1; c < CLASS_BYTES; c++)
        set[c] = set[c] || (has(c) != 0) != negated;
    set[OTHERS] = set[OTHERS] || negated;
}

/* [:NAME:], of which `at` is the colon. 0: there is none. */
static size_t set_add_named(class_set set, const char *at)
{
    static const struct {
        const char *name;
        int (*has)(int);
    } names[] = {
        {"alnum", isalnum},   {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit},   {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct},   {"space", isspace}, {"upper", isupper}, {"word", is_word},
        {"xdigit", isxdigit},
    };
    bool negated = at[1] == '^';
    const char *name = at + 1 + negated;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i].name);

        if (strncmp(name, names[i].name, len) == 0 && strncmp(name + len, ":]", 2) == 0) {
            set_add(set, names[i].has, negated);
            return (size_t)(name - at) + len + 2;
        }
    }
    return 0;
}

/* A character that stands for itself, also behind a backslash; -1: none. Moves on. */
static int one_character(struct pattern *p)
{
    int c = (unsigned char)*p->at;

    if (c == '\\') {
        c = (unsigned char)p->at[1];
        if (c == 't' || c == 'r' || ispunct(c))
            p->at++;
        else
            return -1;
        c = c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    if (c == '\0' || c >= CLASS_BYTES)
        return -1;
    p->at++;
    return c;
}

static bool set_add_escape(class_set set, char letter)
{
    switch (letter) {
    case 'd': set_add(set, isdigit, false); return true;
    case 'D': set_add(set, isdigit, true); return true;
    case 'w': set_add(set, is_word, false); return true;
    case 'W': set_add(set, is_word, true); return true;
    case 's': set_add(set, isspace, false); return true;
    case 'S': set_add(set, isspace, true); return true;
    default: return false;
    }
}

static int class_item(struct pattern *p, class_set set)
{
    int from, to;
    size_t n;

    if (*p->at == '[') {
        n = p->at[1] == ':' ? set_add_named(set, p->at + 1) : 0;
        p->at += n + 1;
        return n > 0 ? 0 : refuse(p, "a class inside a class");
    }
    if (*p->at == '\\' && set_add_escape(set, p->at[1])) {
        p->at += 2;
        return 0;
    }
    if (p->at[0] == '&' && p->at[1] == '&')
        return refuse(p, "an intersection of classes");
    from = to = one_character(p);
    if (from >= 0 && p->at[0] == '-' && p->at[1] != ']' && p->at[1] != '\0') {
        p->at++;
        to = one_character(p);
    }
    if (from < 0 || to < from)
        return refuse(p, "a class with an escape, a range or a character that is not ASCII");
    for (int c = from; c <= to; c++)
        set[c] = true;
    return 0;
}

/* What has a meaning in a bracket is placed where it has none. `bytes`: a negated class matches
 * each byte of what is not ASCII. */
static void put_bracket(struct buf *out, const class_set set, bool negated, bool bytes)
{
    size_t begun = out->len;

    buf_puts(out, negated ? "[^" : "[");
    if (set[']'])
        buf_putc(out, ']');
    for (int c = 1; c < CLASS_BYTES; c++) {
        int end = c;

        if (!set[c] || c == ']' || c == '^' || c == '-')
            continue;
        while (isalnum(c) && isalnum(end + 1) && set[end + 1])
            end++;
        buf_putc(out, (char)c);
        if (end > c + 1)
            buf_putc(out, '-');
        if (end > c)
            buf_putc(out, (char)end);
        c = end;
    }
    if (negated && !bytes)
        buf_puts(out, ASCII_NOT);
    if (set['^'] && !negated && out->len == begun + 1 && !set['-']) {
        out->len = begun;
        buf_puts(out, "\\^");
        return;
    }
    if (set['^'] && !negated && out->len == begun + 1)
        buf_puts(out, "-^");
    else
        buf_puts(out, set['^'] ? set['-'] ? "^-" : "^" : set['-'] ? "-" : "");
    buf_putc(out, ']');
}

/* `at` is behind what is to be repeated. Any number of characters is any number of bytes. */
static bool is_any_number(const struct pattern *p)
{
    return *p->at == '*';
}

/* `at` is behind the class. */
static void put_class(struct pattern *p, const class_set set, bool negated)
{
    if (set[OTHERS] == negated) {
        put_bracket(p->out, set, negated, false);
    } else if (negated && is_any_number(p)) {
        put_bracket(p->out, set, true, true);
    } else {
        buf_putc(p->out, '(');
        put_bracket(p->out, set, negated, false);
        buf_puts(p->out, "|" OTHER_ONE ")");
    }
}

/* `at` is behind its first byte. */
static void put_other(struct pattern *p)
{
    const char *begun = p->at - 1;

    while ((*p->at & 0xc0) == 0x80)
        p->at++;
    buf_putc(p->out, '(');
    buf_put(p->out, begun, (size_t)(p->at - begun));
    buf_putc(p->out, ')');
}

/* `at` is behind the bracket. */
static int decode_class(struct pattern *p)
{
    class_set set = {false};
    bool negated = *p->at == '^', first = true;

    p->at += negated;
    for (; first || *p->at != ']'; first = false) {
        int rc;

        if (*p->at == '\0')
            return hf_fail(p->err, HF_E_bad_query, "regex parse error: unclosed character class");
        if (first && *p->at == ']') {
            set[']'] = true;
            p->at++;
            continue;
        }
        rc = class_item(p, set);
        if (rc < 0)
            return rc;
    }
    p->at++;
    put_class(p, set, negated);
    return 0;
}

/* --- the rest -------------------------------------------------------------------------------- */

/* `at` is the backslash. */
static int decode_escape(struct pattern *p)
{
    char c = p->at[1];
    class_set set = {false};

    p->at += 2;
    if (c == '\0')
        return hf_fail(p->err, HF_E_bad_query, "regex parse error: incomplete escape sequence");
    if (c == 'b' || c == 'B') {
        buf_putc(p->out, '\\');
        buf_putc(p->out, c);
    } else if (c == 'A' || c == 'z') {
        buf_putc(p->out, c == 'A' ? '^' : '$');
    } else if (c == 't' || c == 'r') {
        buf_putc(p->out, c == 't' ? '\t' : '\r');
    } else if (set_add_escape(set, (char)tolower((unsigned char)c))) {
        put_class(p, set, isupper((unsigned char)c) != 0);
    } else if (ispunct((unsigned char)c)) {
        if (strchr(".[]\\()*+?{}|^$", c) != NULL)
            buf_putc(p->out, '\\');
        buf_putc(p->out, c);
    } else {
        return refuse(p, "an escape");
    }
    return 0;
}

/* `at` is behind the parenthesis. Groups are not numbered here. */
static int decode_group(struct pattern *p)
{
    buf_putc(p->out, '(');
    if (*p->at != '?')
        return 0;
    if (p->at[1] == ':') {
        p->at += 2;
        return 0;
    }
    p->at += p->at[1] == 'P' ? 2 : 1;
    if (*p->at != '<' || p->at[1] == '=' || p->at[1] == '!' || strchr(p->at, '>') == NULL)
        return refuse(p, "flags or a look-around");
    p->at = strchr(p->at, '>') + 1;
    return 0;
}

static int decode_one(struct pattern *p)
{
    char c = *p->at;

    if (c == '\\')
        return decode_escape(p);
    p->at++;
    if (c == '[')
        return decode_class(p);
    if (c == '(')
        return decode_group(p);
    if ((unsigned char)c >= CLASS_BYTES)
        put_other(p);
    else if (c == '.' && !is_any_number(p))
        buf_puts(p->out, ANY_ONE);
    else
        buf_putc(p->out, c);
    if (strchr("*+?}", c) != NULL && *p->at == '?')
        p->at++;
    return 0;
}

int oc_pattern_decode(const char *text, struct buf *out, bool *any_case, struct hf_error *err)
{
    struct pattern p = {.at = text, .out = out, .err = err};
    int rc = 0;

    *any_case = strncmp(text, "(?i)", 4) == 0;
    p.at += *any_case ? 4 : 0;
    while (rc == 0 && *p.at != '\0') {
        rc = decode_one(&p);
        if (rc == 0 && out->len > LIMIT_SEARCH_PATTERN_BYTES)
            rc = hf_fail(err, HF_E_bad_query, "the pattern is longer than %d bytes",
                         LIMIT_SEARCH_PATTERN_BYTES);
    }
    return rc;
}
