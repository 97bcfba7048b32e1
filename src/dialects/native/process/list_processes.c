/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_processes.c - GET /v1/processes: newest first, in pages. Layer: dialects.
 */
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/process_filter.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000

struct list_processes_page {
    struct filter filter;
    int64_t limit;
    struct process *after; /* NULL: from the newest */
    bool helpers;          /* include helpers */
};

static int page_decode(struct list_processes_page *pg, const struct http_request *rq,
                       struct hf_error *err)
{
    const char *after = http_query(rq, "after");

    pg->limit = LIST_DEFAULT;
    pg->helpers = http_role(rq) == ROLE_OWN;
    if (filter_decode(&pg->filter, rq, err) < 0 ||
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
    struct process *p = pg->after, *last = NULL;
    struct process_view v;
    int64_t count = 0;
    bool more = false;

    json_key(o, "processes");
    json_open(o, '[');
    while ((p = page_next(pg, e, p)) != NULL) {
        if (!filter_match(&pg->filter, p))
            continue;
        if (count == pg->limit) {
            more = true;
            break;
        }
        process_write_json(p, o);
        last = p;
        count++;
    }
    json_close(o, ']');
    if (more)
        process_view(last, &v);
    json_kstr(o, "next", more ? v.id : NULL);
}

void list_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct list_processes_page pg = {0};
    struct hf_error err;
    struct json_out o;

    if (page_decode(&pg, rq, &err) < 0) {
        http_reply_error(rq, &err);
    } else {
        o = dialect_reply_open(&n->base);
        page_write(&pg, n->base.engine, &o);
        dialect_reply_send(rq, 200, &o);
    }
    filter_fini(&pg.filter);
}
