/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_get.c - get and list, and the position of a cursor in the output. Layer: dialects.
 */
#include <string.h>

#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

void hyper_get(struct http_request *rq)
{
    struct process *p = hyper_process(rq);

    if (p != NULL)
        hyper_reply_process(rq, p);
}

void hyper_terminal_get(struct http_request *rq)
{
    struct process *p = hyper_process(rq);

    if (p != NULL)
        hyper_reply_terminal(rq, p, dialect_query_flag(rq, "includeOutput"));
}

/* --- list ------------------------------------------------------------------------------------ */

struct hyper_get_page {
    const char *status; /* of the query: names separated by commas */
    uint64_t limit, created_after, created_before;
    struct process *after; /* NULL: from the newest */
};

static bool page_after(struct http_request *rq, struct hyper_get_page *pg)
{
    const char *cursor = http_query(rq, "cursor");
    struct hf_error err = {0};

    if (cursor == NULL || cursor[0] == '\0')
        return true;
    pg->after = engine_find(dialect_base_of(rq)->engine, cursor, NULL);
    if (pg->after != NULL)
        return true;
    hf_fail_field(&err, HF_E_bad_query, "cursor",
                  "the process of this cursor no longer exists; start from the first page");
    hyper_error(rq, &err);
    return false;
}

static bool page_decode(struct http_request *rq, struct hyper_get_page *pg)
{
    *pg = (struct hyper_get_page){.limit = LIMIT_HYPER_LIST, .created_before = UINT64_MAX};
    pg->status = http_query(rq, "status");
    if (!hyper_number(rq, "limit", &pg->limit) ||
        !hyper_number(rq, "created_after", &pg->created_after) ||
        !hyper_number(rq, "created_before", &pg->created_before))
        return false;
    if (pg->limit == 0 || pg->limit > LIMIT_HYPER_LIST)
        pg->limit = LIMIT_HYPER_LIST;
    return page_after(rq, pg);
}

static bool has_name(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

static bool page_has(const struct hyper_get_page *pg, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return (pg->status == NULL || pg->status[0] == '\0' ||
            has_name(pg->status, hyper_status(&v))) &&
           (uint64_t)v.created_ms >= pg->created_after &&
           (uint64_t)v.created_ms <= pg->created_before;
}

static void page_write(const struct hyper_get_page *pg, struct engine *e, struct json_out *o)
{
    struct process *p = pg->after, *last = NULL;
    struct process_view v;
    uint64_t count = 0;

    json_key(o, "data");
    json_open(o, '[');
    while ((p = engine_next(e, p)) != NULL) {
        if (!page_has(pg, p))
            continue;
        if (count++ == pg->limit)
            break;
        hyper_write_process(o, p);
        last = p;
    }
    json_close(o, ']');
    if (p != NULL)
        process_view(last, &v);
    json_kstr(o, "next_cursor", p != NULL ? v.id : NULL);
}

void hyper_list(struct http_request *rq)
{
    struct hyper *h = hyper_of(rq);
    struct json_out o;
    struct hyper_get_page pg;

    if (!page_decode(rq, &pg))
        return;
    o = dialect_reply_open(&h->base);
    page_write(&pg, h->base.engine, &o);
    dialect_reply_send(rq, 200, &o);
}

/* --- cursors ------------------------------------------------------------------------------ */

/* Is the run with this number held from its beginning, and within the replay window? */
static bool run_is_held(const struct journal *j, uint64_t run, uint64_t window)
{
    struct journal_mark m;
    uint64_t next = journal_next(j);

    if (run >= journal_run_count(j))
        return true;
    return journal_mark_from(j, run, &m) && m.number == run && m.at >= journal_first(j) &&
           next - m.at <= window;
}

bool hyper_cursor(struct http_request *rq, struct process *p, const char *name, uint64_t window,
                  uint64_t *run)
{
    struct journal *j = process_journal(p);
    struct hf_error err = {0};

    *run = 0;
    if (!hyper_number(rq, name, run))
        return false;
    if (*run == 0)
        *run = journal_run_first(j);
    else if (!run_is_held(j, *run, window))
        hf_fail_field(&err, HF_E_offset_gone, name,
                      "Replay window expired: output after seq %llu is no longer kept; omit %s to "
                      "get all that is kept",
                      (unsigned long long)*run, name);
    else if (*run > journal_run_count(j))
        hf_fail_field(&err, HF_E_range_not_satisfiable, name,
                      "%s is beyond the output, whose last seq is %llu", name,
                      (unsigned long long)journal_run_count(j));
    if (err.code != HF_OK)
        hyper_error(rq, &err);
    return err.code == HF_OK;
}
