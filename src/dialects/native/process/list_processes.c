/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_processes.c - GET /v1/processes: newest first, in pages; and GET /v1/processes/{id}. Layer:
 * dialects.
 */
#include "base/limits.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/process_filter.h"
#include "engine/live_usage.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000
#define RECENT_BYTES (64 * 1024)

struct list_processes_page {
    struct filter filter;
    int64_t limit;
    struct process *after; /* NULL: from the newest */
    bool helpers;          /* include helpers */
    bool live;             /* with the usage of running ones */
};

/* ?usage=live: what running processes use now. It is not the default, because it reads /proc. */
static int usage_decode(const struct http_request *rq, bool *live, struct hf_error *err)
{
    static const char *const kinds[] = {"live", NULL};
    int kind = -1;

    if (native_decode_choice(rq, "usage", kinds, &kind, err) < 0)
        return -1;
    *live = kind >= 0;
    return 0;
}

static int page_decode(struct list_processes_page *pg, const struct http_request *rq,
                       struct hf_error *err)
{
    const char *after = http_query(rq, "after");

    pg->limit = LIST_DEFAULT;
    pg->helpers = http_role(rq) == ROLE_OWN;
    if (filter_decode(&pg->filter, rq, err) < 0 || usage_decode(rq, &pg->live, err) < 0 ||
        native_decode_i64(rq, "limit", 1, LIST_MAX, &pg->limit, err) < 0)
        return -1;
    if (after == NULL)
        return 0;
    pg->after = native_decode_find(rq, after, NULL);
    if (pg->after != NULL)
        return 0;
    return hf_fail_field(
        err, HF_E_bad_query, "after",
        "the process of \"after\" no longer exists; start again from the first page");
}

static struct process *page_next(const struct list_processes_page *pg, struct engine *e,
                                 struct process *after)
{
    return pg->helpers ? engine_next_all(e, after) : engine_next(e, after);
}

static void page_write(const struct list_processes_page *pg, struct engine *e, struct json_out *o)
{
    struct live_table *live = pg->live ? live_table_read(LIMIT_LIVE_PROCESSES) : NULL;
    struct process *p = pg->after, *last = NULL;
    struct process_view v;
    int64_t count = 0;
    bool more = false;

    json_kopen(o, "processes", '[');
    while ((p = page_next(pg, e, p)) != NULL) {
        if (!filter_match(&pg->filter, p))
            continue;
        if (count == pg->limit) {
            more = true;
            break;
        }
        process_write_json_live(p, o, live);
        last = p;
        count++;
    }
    live_table_free(live);
    json_close(o, ']');
    if (more)
        process_view(last, &v);
    json_kstr(o, "next", more ? v.id : NULL);
}

int list_handle(struct http_request *rq, struct hf_error *err)
{
    struct list_processes_page pg = {0};
    int rc = page_decode(&pg, rq, err);
    struct json_out o;

    if (rc == 0) {
        o = dialect_reply_open(dialect_base_of(rq));
        page_write(&pg, dialect_base_of(rq)->engine, &o);
        dialect_reply_send(rq, 200, &o);
    }
    filter_fini(&pg.filter);
    return rc;
}

/* --- one process -------------------------------------------------------------------------- */

static void write_recent(struct process *p, struct json_out *o)
{
    struct journal *j = process_journal(p);
    struct process_view v;
    uint64_t at;

    process_view(p, &v);
    at = journal_tail_bytes(j, RECENT_BYTES, v.pty);
    json_kopen(o, "recent_output", '{');
    json_ku64(o, "offset", at);
    process_json_data(o, journal_bytes(j, at), journal_next(j) - at);
    json_close(o, '}');
}

int process_get_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    static const char *const parts[] = {"output", NULL};
    struct live_table *table;
    struct json_out o;
    int include = -1;
    bool live;

    if (native_decode_choice(rq, "include", parts, &include, err) < 0 ||
        usage_decode(rq, &live, err) < 0)
        return -1;
    table = live ? live_table_read(LIMIT_LIVE_PROCESSES) : NULL;
    o = json_reply_process_open(rq, p, table);
    live_table_free(table);
    if (include >= 0)
        write_recent(p, &o);
    dialect_reply_send(rq, 200, &o);
    return 0;
}
