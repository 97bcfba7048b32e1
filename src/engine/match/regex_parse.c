/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_parse.c - parses a pattern into a tree
 *
 * Recursive descent, one function per level of the grammar. Every function returns a node's index,
 * or a negative errno after the error was reported once with its position. Layer: engine.
 */
#include "engine/match/regex_prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

struct parser {
    const char *start, *p, *end;
    struct regex_tree *t;
    struct hf_error *err;
    int depth;
    bool fold, dot_all;
};

static int parse_alternation(struct parser *ps);

static int fail_at(struct parser *ps, const char *where, const char *reason)
{
    return hf_fail(ps->err, HF_E_bad_regex, "The regular expression is invalid at byte %zu: %s.",
                   (size_t)(where - ps->start), reason);
}

static bool is_at(const struct parser *ps, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(ps->end - ps->p) >= n && memcmp(ps->p, text, n) == 0;
}

static bool take(struct parser *ps, const char *text)
{
    if (!is_at(ps, text))
        return false;
    ps->p += strlen(text);
    return true;
}

/* --- tree --- */

static int add_node(struct parser *ps, enum regex_kind kind)
{
    struct regex_tree *t = ps->t;

    if (t->node_count == t->node_cap) {
        t->node_cap = t->node_cap ? t->node_cap * 2 : 32;
        t->nodes = hf_xrealloc(t->nodes, t->node_cap * sizeof *t->nodes);
    }
    t->nodes[t->node_count] = (struct regex_node){.kind = kind};
    return (int)t->node_count++;
}

static int add_assert(struct parser *ps, enum regex_assert assertion)
{
    int n = add_node(ps, REGEX_ASSERT);

    ps->t->nodes[n].assertion = assertion;
    return n;
}

/* --- classes --- */

/* Makes a node of the ranges that were added since `from`. */
static int class_finish(struct parser *ps, size_t from, bool negate)
{
    int n = add_node(ps, REGEX_CLASS);
    struct regex_node *node = &ps->t->nodes[n];

    regex_class_finish(ps->t, from, ps->fold, negate);
    node->range = (uint32_t)from;
    node->range_count = (uint32_t)(ps->t->range_count - from);
    return n;
}

static int class_of_one(struct parser *ps, uint32_t cp)
{
    size_t from = ps->t->range_count;

    regex_class_add(ps->t, cp, cp);
    return class_finish(ps, from, false);
}

/* --- characters and escapes --- */

/* The pattern is valid UTF-8 as a whole, so this cannot run over its end. */
static uint32_t take_char(struct parser *ps)
{
    uint8_t b = (uint8_t)*ps->p++;
    int more = b < 0x80 ? 0 : b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
    uint32_t cp = more == 0 ? b : b & (0x3Fu >> more);

    while (more-- > 0)
        cp = cp << 6 | ((uint8_t)*ps->p++ & 0x3F);
    return cp;
}

/* After "\x": two digits, or one to six in braces. A code point or an error. */
static int parse_hex(struct parser *ps, const char *where)
{
    bool braces = take(ps, "{");
    int most = braces ? 6 : 2, count = 0, cp = 0;

    while (count < most && ps->p < ps->end && hex_digit(*ps->p) >= 0) {
        cp = cp * 16 + hex_digit(*ps->p++);
        count++;
    }
    if ((braces && (count == 0 || !take(ps, "}"))) || (!braces && count != 2))
        return fail_at(ps, where, "\\x needs two hexadecimal digits or up to six in braces");
    if (cp > REGEX_CHAR_MAX || (cp >= REGEX_SURROGATE_LO && cp <= REGEX_SURROGATE_HI))
        return fail_at(ps, where, "this code point does not exist");
    return cp;
}

static int fail_escape(struct parser *ps, const char *where, char c)
{
    if ((c >= '1' && c <= '9') || c == 'k' || c == 'g')
        return fail_at(ps, where, "back-references are not supported");
    if (c == 'A' || c == 'Z' || c == 'z' || c == 'G')
        return fail_at(ps, where, "this anchor is not supported, use ^ or $");
    if (c == 'p' || c == 'P')
        return fail_at(ps, where, "Unicode properties are not supported, use a class of ranges");
    if (c == '0')
        return fail_at(ps, where, "octal escapes are not supported, use \\x00");
    return fail_at(ps, where, "unknown escape");
}

/* After "\": one character, by name or by itself. A code point or an error. */
static int parse_char_escape(struct parser *ps, const char *where)
{
    static const char names[] = "nrtfvae", codes[] = "\n\r\t\f\v\a\x1b";
    uint32_t cp = take_char(ps);
    const char *name;

    if (cp == 'x')
        return parse_hex(ps, where);
    name = cp != 0 && cp < 0x80 ? strchr(names, (int)cp) : NULL;
    if (name != NULL)
        return codes[name - names];
    if ((cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z'))
        return fail_escape(ps, where, (char)cp);
    return (int)cp;
}

/* \d \w \s and their opposites: adds the ranges; true if it was one of them. */
static bool take_class_escape(struct parser *ps)
{
    char c = *ps->p;

    if (c == 'd' || c == 'D')
        regex_class_add_set(ps->t, REGEX_DIGITS, c == 'D');
    else if (c == 'w' || c == 'W')
        regex_class_add_set(ps->t, REGEX_WORDS, c == 'W');
    else if (c == 's' || c == 'S')
        regex_class_add_set(ps->t, REGEX_SPACES, c == 'S');
    else
        return false;
    ps->p++;
    return true;
}

/* After "\", outside of a class. */
static int parse_escape(struct parser *ps, const char *where)
{
    size_t from = ps->t->range_count;
    int cp;

    if (ps->p == ps->end)
        return fail_at(ps, where, "a backslash at the end");
    if (take(ps, "b"))
        return add_assert(ps, REGEX_WORD);
    if (take(ps, "B"))
        return add_assert(ps, REGEX_NOT_WORD);
    if (take_class_escape(ps))
        return class_finish(ps, from, false);
    cp = parse_char_escape(ps, where);
    return cp < 0 ? cp : class_of_one(ps, (uint32_t)cp);
}

/* --- [ ] --- */

enum { ITEM_SET = REGEX_CHAR_MAX + 1 }; /* a set such as \d: cannot bound a range */

/* One end of a range: a code point, ITEM_SET (already added) or an error. */
static int parse_class_item(struct parser *ps)
{
    const char *where = ps->p;

    if (is_at(ps, "[:") && memmem(ps->p, (size_t)(ps->end - ps->p), ":]", 2) != NULL)
        return fail_at(ps, where, "POSIX classes are not supported, use \\d, \\w, \\s or ranges");
    if (!take(ps, "\\"))
        return (int)take_char(ps);
    if (ps->p == ps->end)
        return fail_at(ps, where, "a backslash at the end");
    if (take(ps, "b"))
        return '\b';
    if (take_class_escape(ps))
        return ITEM_SET;
    return parse_char_escape(ps, where);
}

static int parse_class_range(struct parser *ps)
{
    const char *where = ps->p;
    int lo = parse_class_item(ps), hi;

    if (lo < 0)
        return lo;
    hi = lo;
    /* A "-" before the end of the class stands for itself. */
    if (is_at(ps, "-") && !is_at(ps, "-]") && ps->p + 1 < ps->end) {
        ps->p++;
        hi = parse_class_item(ps);
        if (hi < 0)
            return hi;
        if (lo == ITEM_SET || hi == ITEM_SET)
            return fail_at(ps, where, "a range must be between characters");
        if (lo > hi)
            return fail_at(ps, where, "a range from high to low");
    }
    if (lo != ITEM_SET)
        regex_class_add(ps->t, (uint32_t)lo, (uint32_t)hi);
    return 0;
}

/* After "[". A "]" in first position stands for itself. */
static int parse_class(struct parser *ps, const char *where)
{
    size_t from = ps->t->range_count;
    bool negate = take(ps, "^");
    bool first = true;

    while (first || !is_at(ps, "]")) {
        int rc;

        if (ps->p == ps->end)
            return fail_at(ps, where, "this [ has no ]");
        rc = parse_class_range(ps);
        if (rc < 0)
            return rc;
        first = false;
    }
    ps->p++;
    return class_finish(ps, from, negate);
}

/* --- groups, atoms, repetition --- */

static int check_group_kind(struct parser *ps, const char *where)
{
    if (!take(ps, "?") || take(ps, ":"))
        return 0;
    if (is_at(ps, "=") || is_at(ps, "!") || is_at(ps, "<=") || is_at(ps, "<!"))
        return fail_at(ps, where, "look-around is not supported");
    if (is_at(ps, "P=") || is_at(ps, "R"))
        return fail_at(ps, where, "back-references are not supported");
    if (is_at(ps, "<") || is_at(ps, "P<") || is_at(ps, "'"))
        return fail_at(ps, where, "named groups are not supported, use ( )");
    if (is_at(ps, "i") || is_at(ps, "s") || is_at(ps, "m"))
        return fail_at(ps, where, "flags are allowed only at the very front");
    return fail_at(ps, where, "this kind of group is not supported");
}

/* After "(". */
static int parse_group(struct parser *ps, const char *where)
{
    int rc = check_group_kind(ps, where);

    if (rc < 0)
        return rc;
    if (++ps->depth > REGEX_DEPTH_MAX)
        return fail_at(ps, where, "groups are nested too deeply");
    rc = parse_alternation(ps);
    if (rc < 0)
        return rc;
    if (!take(ps, ")"))
        return fail_at(ps, where, "this ( has no )");
    ps->depth--;
    return rc;
}

static int parse_dot(struct parser *ps)
{
    size_t from = ps->t->range_count;

    regex_class_add_set(ps->t, ps->dot_all ? REGEX_NOTHING : REGEX_LINE_ENDS, true);
    return class_finish(ps, from, false);
}

static int take_number(struct parser *ps)
{
    int n = -1;

    while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9') {
        n = (n < 0 ? 0 : n) * 10 + (*ps->p++ - '0');
        if (n > REGEX_REPEAT_MAX)
            n = REGEX_REPEAT_MAX + 1; /* the exact excess does not matter */
    }
    return n;
}

/* A "{" that is not {n}, {n,} or {n,m} stands for itself, as in most dialects. */
static bool take_braces(struct parser *ps, int *min, int *max)
{
    const char *back = ps->p;

    if (!take(ps, "{"))
        return false;
    *min = *max = take_number(ps);
    if (*min >= 0 && take(ps, ",")) {
        *max = take_number(ps);
        if (*max < 0)
            *max = REGEX_ENDLESS;
    }
    if (*min >= 0 && take(ps, "}"))
        return true;
    ps->p = back;
    return false;
}

static bool take_quantifier(struct parser *ps, int *min, int *max)
{
    *min = 0;
    *max = REGEX_ENDLESS;
    if (take(ps, "*"))
        return true;
    if (take(ps, "?")) {
        *max = 1;
        return true;
    }
    if (take(ps, "+")) {
        *min = 1;
        return true;
    }
    return take_braces(ps, min, max);
}

static int parse_atom(struct parser *ps)
{
    const char *where = ps->p;
    int min, max;

    if (take_quantifier(ps, &min, &max))
        return fail_at(ps, where, "nothing to repeat");
    if (take(ps, "("))
        return parse_group(ps, where);
    if (take(ps, "["))
        return parse_class(ps, where);
    if (take(ps, "."))
        return parse_dot(ps);
    if (take(ps, "^"))
        return add_assert(ps, REGEX_LINE_START);
    if (take(ps, "$"))
        return add_assert(ps, REGEX_LINE_END);
    if (take(ps, "\\"))
        return parse_escape(ps, where);
    return class_of_one(ps, take_char(ps));
}

static int check_quantifier(struct parser *ps, const char *where, int atom, int min, int max)
{
    int again_min, again_max;

    if (ps->t->nodes[atom].kind == REGEX_ASSERT)
        return fail_at(ps, where, "nothing to repeat");
    if (min > REGEX_REPEAT_MAX || (max != REGEX_ENDLESS && max > REGEX_REPEAT_MAX))
        return fail_at(ps, where, "a repetition count must be at most 1000");
    if (min > max)
        return fail_at(ps, where, "a repetition from high to low");
    take(ps, "?"); /* lazy: we report the earliest end anyway */
    if (is_at(ps, "+"))
        return fail_at(ps, ps->p, "possessive quantifiers are not supported");
    where = ps->p;
    if (take_quantifier(ps, &again_min, &again_max))
        return fail_at(ps, where, "a second quantifier, use a group");
    return 0;
}

static int parse_repeat(struct parser *ps)
{
    int atom = parse_atom(ps);
    const char *where = ps->p;
    int min, max, n, rc;

    if (atom < 0 || !take_quantifier(ps, &min, &max))
        return atom;
    rc = check_quantifier(ps, where, atom, min, max);
    if (rc < 0)
        return rc;
    n = add_node(ps, REGEX_REPEAT);
    ps->t->nodes[n].min = (uint16_t)min;
    ps->t->nodes[n].max = (uint16_t)max;
    ps->t->nodes[n].child = (uint32_t)atom;
    return n;
}

static int parse_sequence(struct parser *ps)
{
    int list = add_node(ps, REGEX_CAT);
    int last = 0;

    while (ps->p < ps->end && !is_at(ps, "|") && !is_at(ps, ")")) {
        int n = parse_repeat(ps);

        if (n < 0)
            return n;
        if (last == 0)
            ps->t->nodes[list].child = (uint32_t)n;
        else
            ps->t->nodes[last].next = (uint32_t)n;
        last = n;
    }
    if (last == 0)
        ps->t->nodes[list].kind = REGEX_EMPTY;
    return list;
}

static int parse_alternation(struct parser *ps)
{
    int list, last;
    int n = parse_sequence(ps);

    if (n < 0 || !is_at(ps, "|"))
        return n;
    list = add_node(ps, REGEX_ALT);
    ps->t->nodes[list].child = (uint32_t)n;
    for (last = n; take(ps, "|"); last = n) {
        n = parse_sequence(ps);
        if (n < 0)
            return n;
        ps->t->nodes[last].next = (uint32_t)n;
    }
    return list;
}

/* "(?ims)" at the very front; anything else is left to the groups. */
static void take_flags(struct parser *ps)
{
    bool fold = false, dot_all = false;
    const char *p;

    if (!is_at(ps, "(?"))
        return;
    for (p = ps->p + 2; p < ps->end && strchr("ims", *p) != NULL && *p != '\0'; p++) {
        fold |= *p == 'i';
        dot_all |= *p == 's';
    }
    if (p == ps->end || *p != ')' || p == ps->p + 2)
        return;
    ps->p = p + 1;
    ps->fold = fold;
    ps->dot_all = dot_all;
}

int regex_parse(struct regex_tree *t, const char *pattern, size_t len, struct hf_error *err)
{
    struct parser ps = {.start = pattern, .p = pattern, .end = pattern + len, .t = t, .err = err};
    int root;

    if (len > LIMIT_REGEX_BYTES)
        return hf_fail(err, HF_E_bad_regex, "The regular expression is longer than %d bytes.",
                       LIMIT_REGEX_BYTES);
    if (!utf8_is_valid(pattern, len))
        return hf_fail(err, HF_E_bad_regex, "The regular expression is not valid UTF-8.");
    add_node(&ps, REGEX_EMPTY);
    take_flags(&ps);
    root = parse_alternation(&ps);
    if (root < 0)
        return root;
    if (ps.p < ps.end)
        return fail_at(&ps, ps.p, "this ) has no (");
    t->root = (uint32_t)root;
    return 0;
}

void regex_tree_fini(struct regex_tree *t)
{
    free(t->nodes);
    free(t->ranges);
    *t = (struct regex_tree){0};
}
