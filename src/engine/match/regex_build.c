/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_build.c - turns the tree into states
 *
 * States are built from the end to the beginning: emit(node, next) makes the states that match the
 * node and then continue at `next`, and returns the first of them. A bounded repetition is
 * expanded, so it counts against the limit.
 *
 * Before anything is built, its cost is counted; a class is counted once, even inside a repetition.
 * So refusing a pattern costs time in proportion to its length, not to the limit.
 *
 * A class of code points becomes a small trie of bytes: one state for the lead byte and one for
 * each kind of rest. Rests that accept any continuation bytes are shared, so a dot needs only 8
 * states. Layer: engine.
 */
#include "engine/match/regex_prog.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"

struct builder {
    struct regex *re;
    const struct regex_tree *t;
    uint32_t state_cap, edge_cap;
    uint32_t any_tail[4]; /* of one class: accepts k continuation bytes; 0: not made yet */
    bool counts;          /* count states and edges instead of making them */
    bool too_large;
};

/* Edges of one state while they are collected; lead bytes need the most. */
struct edge_list {
    struct regex_edge edges[256];
    size_t count;
};

static uint32_t emit(struct builder *b, uint32_t node, uint32_t next);

static uint32_t add_state(struct builder *b, enum regex_op op, uint32_t a, uint32_t c)
{
    struct regex *re = b->re;

    if (re->state_count >= LIMIT_REGEX_STATES) {
        b->too_large = true;
        return 0;
    }
    if (b->counts)
        return re->state_count++;
    if (re->state_count == b->state_cap) {
        b->state_cap = b->state_cap ? b->state_cap * 2 : 16;
        re->states = hf_xrealloc(re->states, b->state_cap * sizeof *re->states);
    }
    re->states[re->state_count] = (struct regex_state){op, a, c};
    return re->state_count++;
}

static uint32_t add_bytes_state(struct builder *b, const struct edge_list *list)
{
    struct regex *re = b->re;
    uint32_t from = re->edge_count;

    if (from + list->count > REGEX_EDGES_MAX) {
        b->too_large = true;
        return 0;
    }
    while (!b->counts && from + list->count > b->edge_cap) {
        b->edge_cap = b->edge_cap ? b->edge_cap * 2 : 16;
        re->edges = hf_xrealloc(re->edges, b->edge_cap * sizeof *re->edges);
    }
    for (size_t i = 0; i < list->count && !b->counts; i++)
        re->edges[from + i] = list->edges[i];
    re->edge_count += (uint32_t)list->count;
    return add_state(b, REGEX_OP_BYTES, from, (uint32_t)list->count);
}

static void edge_list_add(struct edge_list *list, uint32_t byte, uint32_t to)
{
    struct regex_edge *last = list->count ? &list->edges[list->count - 1] : NULL;

    if (last != NULL && last->to == to && last->hi + 1u == byte)
        last->hi = (uint8_t)byte;
    else
        list->edges[list->count++] =
            (struct regex_edge){(uint8_t)byte, (uint8_t)byte, (uint16_t)to};
}

/* --- classes --- */

enum cover { COVER_NONE, COVER_SOME, COVER_ALL };

/* How much of the code points in [lo, hi] that are at least `least` is in the class. */
static enum cover class_cover(const struct builder *b, const struct regex_node *class, uint32_t lo,
                              uint32_t hi, uint32_t least)
{
    const struct regex_range *r = b->t->ranges + class->range;
    size_t low = 0, high = class->range_count;

    if (hi < least)
        return COVER_NONE;
    while (low < high) { /* the first range that does not end before lo */
        size_t mid = (low + high) / 2;

        if (r[mid].hi < lo)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == class->range_count || r[low].lo > hi)
        return COVER_NONE;
    return r[low].lo <= lo && r[low].hi >= hi && lo >= least ? COVER_ALL : COVER_SOME;
}

/* The state that accepts any k continuation bytes and then continues. */
static uint32_t emit_any_tail(struct builder *b, size_t k)
{
    struct edge_list list = {.count = 1};

    for (size_t i = 1; i <= k; i++) {
        if (b->any_tail[i] != 0)
            continue;
        list.edges[0] = (struct regex_edge){0x80, 0xBF, (uint16_t)b->any_tail[i - 1]};
        b->any_tail[i] = add_bytes_state(b, &list);
    }
    return b->any_tail[k];
}

/*
 * The state that accepts the k continuation bytes of those code points in [base, base + 64^k) that
 * are in the class.
 */
static uint32_t emit_tail(struct builder *b, const struct regex_node *class, uint32_t base,
                          size_t k, uint32_t least)
{
    struct edge_list list = {.count = 0};
    uint32_t span = 1u << (6 * (k - 1));

    for (uint32_t i = 0; i < 64 && !b->too_large; i++) {
        uint32_t lo = base + i * span;
        enum cover cover = class_cover(b, class, lo, lo + span - 1, least);

        if (cover == COVER_ALL)
            edge_list_add(&list, 0x80 + i, emit_any_tail(b, k - 1));
        else if (cover == COVER_SOME)
            edge_list_add(&list, 0x80 + i, emit_tail(b, class, lo, k - 1, least));
    }
    return add_bytes_state(b, &list);
}

/* The four forms of UTF-8; `least` excludes the overlong ones. */
static const struct utf8_form {
    uint8_t lead_lo, lead_hi, mask, tail;
    uint32_t least;
} utf8_forms[] = {
    {0x00, 0x7F, 0x7F, 0, 0},
    {0xC2, 0xDF, 0x1F, 1, 0x80},
    {0xE0, 0xEF, 0x0F, 2, 0x800},
    {0xF0, 0xF4, 0x07, 3, 0x10000},
};

static void emit_leads(struct builder *b, const struct regex_node *class, const struct utf8_form *f,
                       struct edge_list *list)
{
    uint32_t span = 1u << (6 * f->tail), from = f->lead_lo, to = f->lead_hi;
    const struct regex_range *first = b->t->ranges + class->range,
                             *last = first + class->range_count - 1;

    /* Most classes are one character, so try only the lead bytes between its ends. */
    if (class->range_count == 0 || last->hi < f->least)
        return;
    if (first->lo >= f->least && first->lo / span > (from & f->mask))
        from += first->lo / span - (from & f->mask);
    if (last->hi / span < (to & f->mask))
        to -= (to & f->mask) - last->hi / span;
    for (uint32_t lead = from; lead <= to && !b->too_large; lead++) {
        uint32_t lo = (lead & f->mask) * span;
        enum cover cover = class_cover(b, class, lo, lo + span - 1, f->least);

        if (cover == COVER_ALL)
            edge_list_add(list, lead, emit_any_tail(b, f->tail));
        else if (cover == COVER_SOME)
            edge_list_add(list, lead, emit_tail(b, class, lo, f->tail, f->least));
    }
}

static uint32_t emit_class(struct builder *b, const struct regex_node *class, uint32_t next)
{
    struct edge_list list = {.count = 0};

    b->any_tail[0] = next;
    b->any_tail[1] = b->any_tail[2] = b->any_tail[3] = 0;
    for (size_t i = 0; i < sizeof utf8_forms / sizeof *utf8_forms; i++)
        emit_leads(b, class, &utf8_forms[i], &list);
    return add_bytes_state(b, &list);
}

/* --- the rest of the tree --- */

/* From the last to the first; recursion would be as deep as the pattern is long. */
static uint32_t emit_sequence(struct builder *b, const struct regex_node *cat, uint32_t next)
{
    uint32_t count = 0, i = 0;
    uint32_t *items;

    for (uint32_t n = cat->child; n != 0; n = b->t->nodes[n].next)
        count++;
    items = hf_xalloc(count * sizeof *items);
    for (uint32_t n = cat->child; n != 0; n = b->t->nodes[n].next)
        items[i++] = n;
    while (i > 0 && !b->too_large)
        next = emit(b, items[--i], next);
    free(items);
    return next;
}

static uint32_t emit_alternation(struct builder *b, const struct regex_node *alt, uint32_t next)
{
    uint32_t n = alt->child;
    uint32_t all = emit(b, n, next);

    while ((n = b->t->nodes[n].next) != 0 && !b->too_large)
        all = add_state(b, REGEX_OP_SPLIT, all, emit(b, n, next));
    return all;
}

/* A loop through a split, whose edge into the child is known only afterwards. */
static uint32_t emit_loop(struct builder *b, uint32_t child, uint32_t next, bool at_least_once)
{
    uint32_t loop = add_state(b, REGEX_OP_SPLIT, 0, next);
    uint32_t body = emit(b, child, loop);

    if (!b->too_large)
        b->re->states[loop].a = body;
    return at_least_once ? body : loop;
}

static uint32_t emit_repeat(struct builder *b, const struct regex_node *rep, uint32_t next)
{
    uint32_t at = next, before;
    int must = rep->min, may = rep->max == REGEX_ENDLESS ? 0 : rep->max - rep->min;

    if (rep->max == REGEX_ENDLESS) {
        at = emit_loop(b, rep->child, next, must > 0);
        must -= must > 0;
    }
    while (may-- > 0 && !b->too_large)
        at = add_state(b, REGEX_OP_SPLIT, emit(b, rep->child, at), next);
    while (must-- > 0 && !b->too_large) {
        before = b->re->state_count;
        at = emit(b, rep->child, at);
        /* What needs no state needs none when repeated, either. */
        if (b->re->state_count == before)
            break;
    }
    return at;
}

static uint32_t emit(struct builder *b, uint32_t node, uint32_t next)
{
    const struct regex_node *n = &b->t->nodes[node];

    if (b->too_large)
        return 0;
    switch (n->kind) {
    case REGEX_EMPTY: return next;
    case REGEX_CLASS: return emit_class(b, n, next);
    case REGEX_ASSERT: return add_state(b, REGEX_OP_ASSERT, next, n->assertion);
    case REGEX_CAT: return emit_sequence(b, n, next);
    case REGEX_ALT: return emit_alternation(b, n, next);
    case REGEX_REPEAT: return emit_repeat(b, n, next);
    }
    return next;
}

/* Finds which bytes can begin a match, and whether a match can be empty, if every assertion
 * held. */
static void find_first(struct regex *re)
{
    bool *seen = hf_xalloc(re->state_count);
    uint32_t *stack = hf_xalloc((size_t)re->state_count * 2 * sizeof *stack);
    size_t depth = 0;

    stack[depth++] = re->start;
    while (depth > 0) {
        uint32_t s = stack[--depth];
        const struct regex_state *st = &re->states[s];

        if (seen[s])
            continue;
        seen[s] = true;
        if (st->op == REGEX_OP_ACCEPT)
            re->may_be_empty = true;
        for (uint32_t i = 0; st->op == REGEX_OP_BYTES && i < st->b; i++)
            for (uint32_t c = re->edges[st->a + i].lo; c <= re->edges[st->a + i].hi; c++)
                re->first[c] = true;
        if (st->op == REGEX_OP_SPLIT)
            stack[depth++] = st->b;
        if (st->op == REGEX_OP_SPLIT || st->op == REGEX_OP_ASSERT)
            stack[depth++] = st->a;
    }
    free(stack);
    free(seen);
}

/* --- cost ------------ */

struct cost {
    uint64_t states, edges; /* neither beyond COST_MAX */
};
#define COST_MAX UINT32_MAX

static struct cost cost_sum(struct cost a, struct cost b, uint64_t times)
{
    struct cost sum = {a.states + b.states * times, a.edges + b.edges * times};

    sum.states = sum.states < COST_MAX ? sum.states : COST_MAX;
    sum.edges = sum.edges < COST_MAX ? sum.edges : COST_MAX;
    return sum;
}

static bool cost_is_too_large(struct cost c)
{
    return c.states > LIMIT_REGEX_STATES || c.edges > REGEX_EDGES_MAX;
}

static struct cost class_cost(const struct regex_tree *t, const struct regex_node *class)
{
    struct regex counted = {.state_count = 1}; /* no state of a class has number 0 */
    struct builder b = {.re = &counted, .t = t, .counts = true};

    emit_class(&b, class, 0);
    return b.too_large ? (struct cost){COST_MAX, COST_MAX}
                       : (struct cost){counted.state_count - 1, counted.edge_count};
}

static struct cost node_cost(const struct regex_tree *t, uint32_t node);

/* Expanded as emit_repeat() does it. */
static struct cost repeat_cost(const struct regex_tree *t, const struct regex_node *rep)
{
    const struct cost child = node_cost(t, rep->child), split = {1, 0}, none = {0, 0};
    uint64_t may = rep->max == REGEX_ENDLESS ? 0 : (uint64_t)rep->max - rep->min;

    if (rep->max == REGEX_ENDLESS)
        return cost_sum(split, child, rep->min > 0 ? rep->min : 1);
    return cost_sum(cost_sum(none, child, rep->min), cost_sum(child, split, 1), may);
}

/* In an alternation, every child but the first has a split before it. */
static struct cost children_cost(const struct regex_tree *t, const struct regex_node *parent)
{
    const struct cost split = {1, 0};
    struct cost sum = {0, 0};

    for (uint32_t n = parent->child; n != 0 && !cost_is_too_large(sum); n = t->nodes[n].next) {
        if (parent->kind == REGEX_ALT && n != parent->child)
            sum = cost_sum(sum, split, 1);
        sum = cost_sum(sum, node_cost(t, n), 1);
    }
    return sum;
}

static struct cost node_cost(const struct regex_tree *t, uint32_t node)
{
    const struct regex_node *n = &t->nodes[node];

    switch (n->kind) {
    case REGEX_EMPTY: break;
    case REGEX_CLASS: return class_cost(t, n);
    case REGEX_ASSERT: return (struct cost){1, 0};
    case REGEX_CAT:
    case REGEX_ALT: return children_cost(t, n);
    case REGEX_REPEAT: return repeat_cost(t, n);
    }
    return (struct cost){0, 0};
}

static struct cost tree_cost(const struct regex_tree *t)
{
    const struct cost accept = {1, 0};

    return cost_sum(accept, node_cost(t, t->root), 1);
}

uint64_t regex_states_needed(const struct regex_tree *t)
{
    return tree_cost(t).states;
}

int regex_build(struct regex *re, const struct regex_tree *t, struct hf_error *err)
{
    struct builder b = {.re = re, .t = t, .too_large = cost_is_too_large(tree_cost(t))};

    if (!b.too_large) {
        add_state(&b, REGEX_OP_ACCEPT, 0, 0);
        re->start = emit(&b, t->root, 0);
    }
    if (b.too_large)
        return hf_fail(err, HF_E_bad_regex,
                       "The regular expression is too large when its repetitions are expanded; "
                       "at most %d states are allowed.",
                       LIMIT_REGEX_STATES);
    find_first(re);
    return 0;
}
