/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.c - runs the states over bytes
 *
 * The run keeps the set of states that can be reached at the current offset, each with the leftmost
 * start that leads there. Both lists below are ordered by start, because every step walks them in
 * order and the first to reach a state keeps it. No priorities are kept: the first state to accept
 * is the match.
 *
 * Between two bytes, assertions are evaluated in two passes. The first pass runs before the next
 * byte is known, so that a match that needs no lookahead is reported at once; assertions that do
 * need it are left open. If there were any, the second pass starts again from the seeds once the
 * byte is known. Both passes depend on the offset alone, never on where a chunk ended.
 *
 * Layer: engine.
 */
#include "engine/match/regex.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/match/regex_prog.h"

/* Values for either side of an offset where there is no known byte. */
enum { BYTE_NONE = -1, BYTE_UNKNOWN = -2 };

struct regex_thread {
    uint64_t start;
    uint32_t state;
};

struct regex_run {
    const struct regex *re;
    uint64_t at;                  /* offset of the next byte */
    int before;                   /* the byte before it, or BYTE_NONE */
    struct regex_thread *seeds;   /* states that the last byte led to */
    struct regex_thread *threads; /* states reachable from there without a byte that consume one */
    size_t seed_count, thread_count;
    uint64_t *seen; /* by state: the last round that reached it */
    uint64_t round;
    uint32_t *stack;
    bool settled; /* threads belong to `at` */
    bool is_open; /* some assertion waits for the next byte */
    bool matched;
    struct regex_match match;
};

struct regex *regex_new(const char *pattern, size_t len, struct hf_error *err)
{
    struct regex *re = hf_xalloc(sizeof *re);
    struct regex_tree tree = {0};
    int rc = regex_parse(&tree, pattern, len, err);

    if (rc == 0)
        rc = regex_build(re, &tree, err);
    regex_tree_fini(&tree);
    if (rc < 0) {
        regex_free(re);
        return NULL;
    }
    return re;
}

void regex_free(struct regex *re)
{
    if (re == NULL)
        return;
    free(re->states);
    free(re->edges);
    free(re);
}

/* About 5 ns for a state and 1 ns for an edge, for each byte. */
size_t regex_slice_bytes(const struct regex *re)
{
    size_t bytes = 100 * 1000 / (re->state_count + re->edge_count / 5);

    return bytes > 64 * 1024 ? 64 * 1024 : bytes;
}

struct regex_run *regex_run_new(const struct regex *re, uint64_t at)
{
    size_t n = re->state_count;
    struct regex_run *run = calloc(1, sizeof *run);

    if (run == NULL)
        return NULL;
    run->re = re;
    run->at = at;
    run->before = BYTE_NONE;
    run->seeds = malloc(n * sizeof *run->seeds);
    run->threads = malloc(n * sizeof *run->threads);
    run->seen = calloc(n, sizeof *run->seen);
    run->stack = malloc(n * sizeof *run->stack);
    if (!run->seeds || !run->threads || !run->seen || !run->stack) {
        regex_run_free(run);
        return NULL;
    }
    return run;
}

void regex_run_free(struct regex_run *run)
{
    if (run == NULL)
        return;
    free(run->seeds);
    free(run->threads);
    free(run->seen);
    free(run->stack);
    free(run);
}

void regex_run_restart(struct regex_run *run, uint64_t at)
{
    run->at = at;
    run->before = BYTE_NONE;
    run->seed_count = run->thread_count = 0;
    run->settled = false;
}

void regex_run_set_before(struct regex_run *run, unsigned char byte)
{
    assert(!run->settled);
    run->before = byte;
}

/* --- assertions --- */

enum verdict { HOLDS, FAILS, OPEN };

static bool is_word(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= 'a' && byte <= 'z');
}

/* "\r\n" is one line end: no line starts, and none ends, between the two. */
static enum verdict line_start_holds(int before, int next)
{
    if (before == '\r')
        return next == BYTE_UNKNOWN ? OPEN : next == '\n' ? FAILS : HOLDS;
    return before == '\n' || before == BYTE_NONE ? HOLDS : FAILS;
}

static enum verdict line_end_holds(int before, int next)
{
    if (next == BYTE_UNKNOWN)
        return OPEN;
    if (next == '\n')
        return before == '\r' ? FAILS : HOLDS;
    return next == '\r' || next == BYTE_NONE ? HOLDS : FAILS;
}

static enum verdict assertion_holds(enum regex_assert assertion, int before, int next)
{
    bool border = is_word(before) != is_word(next);

    switch (assertion) {
    case REGEX_LINE_START: return line_start_holds(before, next);
    case REGEX_LINE_END: return line_end_holds(before, next);
    case REGEX_WORD: return next == BYTE_UNKNOWN ? OPEN : border ? HOLDS : FAILS;
    case REGEX_NOT_WORD: return next == BYTE_UNKNOWN ? OPEN : border ? FAILS : HOLDS;
    }
    return FAILS;
}

/* --- one offset --- */

static void push_unseen(struct regex_run *run, size_t *depth, uint32_t state)
{
    if (run->seen[state] == run->round)
        return;
    run->seen[state] = run->round;
    run->stack[(*depth)++] = state;
}

/* Follows every path from `state` that consumes no byte; true if one ends in a match. */
static bool run_follow(struct regex_run *run, uint32_t state, uint64_t start, int next)
{
    size_t depth = 0;

    push_unseen(run, &depth, state);
    while (depth > 0) {
        uint32_t s = run->stack[--depth];
        const struct regex_state *st = &run->re->states[s];
        enum verdict v = HOLDS;

        switch (st->op) {
        case REGEX_OP_ACCEPT:
            run->matched = true;
            run->match = (struct regex_match){start, run->at};
            return true;
        case REGEX_OP_BYTES:
            run->threads[run->thread_count++] = (struct regex_thread){start, s};
            break;
        case REGEX_OP_SPLIT:
            push_unseen(run, &depth, st->b);
            push_unseen(run, &depth, st->a);
            break;
        case REGEX_OP_ASSERT:
            v = assertion_holds((enum regex_assert)st->b, run->before, next);
            if (v == HOLDS)
                push_unseen(run, &depth, st->a);
            run->is_open |= v == OPEN;
            break;
        }
    }
    return false;
}

/* A new start is useful only if the next byte can begin a match. */
static bool run_wants_start(const struct regex_run *run, int next)
{
    return run->re->may_be_empty || (next >= 0 && run->re->first[next]);
}

/* Finds the threads of this offset. A start here comes last: it is the rightmost. */
static bool run_settle(struct regex_run *run, int next)
{
    run->round++;
    run->thread_count = 0;
    run->is_open = false;
    run->settled = true;
    for (size_t i = 0; i < run->seed_count; i++)
        if (run_follow(run, run->seeds[i].state, run->seeds[i].start, next))
            return true;
    return run_wants_start(run, next) && run_follow(run, run->re->start, run->at, next);
}

static uint32_t state_step(const struct regex *re, const struct regex_state *st, uint8_t byte)
{
    const struct regex_edge *e = re->edges + st->a;

    for (uint32_t i = 0; i < st->b && e[i].lo <= byte; i++)
        if (byte <= e[i].hi)
            return e[i].to + 1u;
    return 0;
}

/* Every thread consumes the byte or dies; the states it leads to become seeds. */
static void run_step(struct regex_run *run, uint8_t byte)
{
    const struct regex *re = run->re;

    run->round++;
    run->seed_count = 0;
    for (size_t i = 0; i < run->thread_count; i++) {
        struct regex_thread *t = &run->threads[i];
        uint32_t to = state_step(re, &re->states[t->state], byte);

        if (to == 0 || run->seen[to - 1] == run->round)
            continue;
        run->seen[to - 1] = run->round;
        run->seeds[run->seed_count++] = (struct regex_thread){t->start, to - 1};
    }
    run->at++;
    run->before = byte;
}

static void run_take_byte(struct regex_run *run, uint8_t byte)
{
    if (run->is_open) {
        if (run_settle(run, byte))
            return;
    } else if (!run->re->may_be_empty && run->re->first[byte]) {
        /* The first pass left the start out; it cannot accept here. */
        run_follow(run, run->re->start, run->at, byte);
    }
    run_step(run, byte);
    run_settle(run, BYTE_UNKNOWN);
}

/* No thread is active: skips bytes that cannot begin a match. */
static size_t run_skip(struct regex_run *run, const uint8_t *p, size_t len)
{
    const bool *first = run->re->first;
    size_t n = 0;

    if (run->seed_count > 0 || run->re->may_be_empty)
        return 0;
    while (n < len && !first[p[n]])
        n++;
    if (n > 0) {
        run->at += n;
        run->before = p[n - 1];
        run_settle(run, BYTE_UNKNOWN);
    }
    return n;
}

static enum regex_result run_answer(const struct regex_run *run, struct regex_match *out)
{
    if (!run->matched)
        return REGEX_MORE;
    *out = run->match;
    return REGEX_MATCH;
}

enum regex_result regex_run_feed(struct regex_run *run, const void *bytes, size_t len,
                                 struct regex_match *out)
{
    const uint8_t *p = bytes;

    if (!run->settled)
        run_settle(run, BYTE_UNKNOWN);
    for (size_t i = 0; i < len && !run->matched;) {
        i += run_skip(run, p + i, len - i);
        if (i < len)
            run_take_byte(run, p[i++]);
    }
    return run_answer(run, out);
}

enum regex_result regex_run_finish(struct regex_run *run, struct regex_match *out)
{
    if (!run->matched && !run_settle(run, BYTE_NONE))
        run_settle(run, BYTE_UNKNOWN);
    return run_answer(run, out);
}
