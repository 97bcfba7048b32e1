/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_tail.c - finds where the last bytes or lines begin
 *
 * All streams together are plain bytes. For a single stream, the journal's runs are walked
 * backwards: each run belongs to one stream and has a number. A line end starts a line only if a
 * byte of the same stream follows it. Layer: dialects.
 */
#include "dialects/common/output_tail.h"

#include <stdio.h>
#include <string.h>

/* Per step: about 50 us even if every byte ends a line, or if a filter skips runs. */
#define STEP_BYTES (8 * 1024)
#define STEP_RUNS 1024

void tail_begin(struct tail *t, const struct journal *j, enum tail_unit unit, uint64_t n,
                int only_stream)
{
    *t = (struct tail){
        .journal = j,
        .unit = unit,
        .only_stream = only_stream,
        .left = n,
        .next = journal_next(j),
        .run = journal_run_count(j),
    };
    t->at = t->found = t->next;
}

/* The last `len` bytes before t->at belong to the requested stream. */
static void search_bytes(struct tail *t, size_t len)
{
    size_t n = len < t->left ? len : (size_t)t->left;

    t->left -= n;
    t->at -= n;
    t->found = t->at;
}

static void search_lines(struct tail *t, size_t len)
{
    uint64_t from = t->at - len, line;
    const char *base = journal_bytes(t->journal, from), *end;

    while ((end = memrchr(base, '\n', (size_t)(t->at - from))) != NULL) {
        line = from + (uint64_t)(end - base);
        if (line + 1 < t->at)
            t->found = line + 1;
        if (t->found < t->next && --t->left == 0)
            return;
        t->at = t->found = line;
    }
    if (t->at > from)
        t->at = t->found = from;
}

static void search(struct tail *t, size_t len)
{
    t->unit == TAIL_BYTES ? search_bytes(t, len) : search_lines(t, len);
}

/* The place is found, or nothing before `at` is kept. */
static bool is_over(struct tail *t)
{
    uint64_t first = journal_first(t->journal);

    if (t->left == 0)
        return true;
    if (t->at > first)
        return false;
    if (t->found < first)
        t->found = first; /* it was dropped in the meantime */
    return true;
}

/* All streams: a piece of plain bytes. */
static void step_all(struct tail *t)
{
    uint64_t held = t->at - journal_first(t->journal);
    size_t most = t->unit == TAIL_BYTES ? SIZE_MAX : STEP_BYTES; /* those need not be read */

    search(t, held < most ? (size_t)held : most);
}

/* One stream: the end of the run before `at`, or the whole run if it is another stream's. */
static size_t step_run(struct tail *t)
{
    struct slice s = journal_run(t->journal, t->run - 1);
    size_t n = s.at < t->at ? (size_t)(t->at - s.at) : 0;

    if ((int)s.stream != t->only_stream) {
        t->at = s.at < t->at ? s.at : t->at;
        t->run--;
        return 0;
    }
    n = n < STEP_BYTES ? n : STEP_BYTES;
    if (n > 0)
        search(t, n);
    if (t->at <= s.at)
        t->run--;
    return n;
}

static void step_stream(struct tail *t)
{
    size_t bytes = 0;

    for (int i = 0; i < STEP_RUNS && bytes < STEP_BYTES && !is_over(t); i++) {
        if (t->run <= journal_run_first(t->journal)) {
            t->at = journal_first(t->journal);
            return;
        }
        bytes += step_run(t);
    }
}

bool tail_step(struct tail *t)
{
    if (is_over(t))
        return true;
    if (t->only_stream < 0)
        step_all(t);
    else
        step_stream(t);
    return is_over(t);
}

/* --- for a request -------------------------------------------------------------------- */

/* The state of a search between two calls of a handler, which finds its process each time. */
struct finding {
    char process[64]; /* its id, which is shorter; "": not started */
    struct tail tail;
};

static struct tail *tail_of(struct http_request *rq, struct process *p, enum tail_unit unit,
                            uint64_t n, int only_stream)
{
    struct finding *f = http_keep(rq, sizeof *f);
    struct process_view v;

    process_view(p, &v);
    if (strcmp(f->process, v.id) != 0) {
        snprintf(f->process, sizeof f->process, "%s", v.id);
        tail_begin(&f->tail, process_journal(p), unit, n, only_stream);
    }
    f->tail.journal = process_journal(p);
    return &f->tail;
}

bool tail_find(struct http_request *rq, struct process *p, enum tail_unit unit, uint64_t n,
               int only_stream, uint64_t *from, uint64_t *next)
{
    struct tail *t = tail_of(rq, p, unit, n, only_stream);

    while (!tail_step(t)) {
        if (!loop_has_time(http_loop(rq))) {
            http_call_again(rq);
            return false;
        }
    }
    *from = t->found;
    *next = t->next;
    return true;
}
