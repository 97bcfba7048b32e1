/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.c - creation, drain and teardown of the native dialect. Layer: dialects.
 */
#include "dialects/native/native.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/problem.h"
#include "dialects/native/process/share_links.h"

struct native *native_new(struct engine *e, struct auth *auth, const struct native_info *info)
{
    struct native *n = hf_xalloc(sizeof *n);

    n->base.engine = e;
    n->base.loop = engine_loop(e);
    list_init(&n->base.pending);
    input_call_queue_init(&n->base.typing, &n->base.pending);
    n->auth = auth;
    n->info = *info;
    if (info->http != NULL)
        n->http = *info->http;
    else
        http_options_default(&n->http);
    links_start(n);
    list_init(&n->ops);
    list_init(&n->spawning);
    list_init(&n->clients);
    list_init(&n->reloads);
    n->base.table = (struct route_table){
        .prefix = "",
        .routes = native_route_list,
        .count = native_route_count,
        .error = problem_reply,
        .context = n,
    };
    return n;
}

void native_free(struct native *n)
{
    struct list *it, *tmp;

    if (n == NULL)
        return;
    pending_free(&n->base.pending);
    list_for_each (it, tmp, &n->ops) {
        struct op *op = list_entry(it, struct op, link);

        op->kind->on_free(op);
    }
    assert(list_is_empty(&n->ops));
    buf_fini(&n->base.scratch);
    buf_fini(&n->joined);
    free(n);
}

const struct route_table *native_routes(struct native *n)
{
    return &n->base.table;
}

void native_refuse_new(struct native *n)
{
    n->base.closed = true;
}

void native_drain(struct native *n)
{
    struct list *it, *tmp;

    dialect_drain(&n->base);
    list_for_each (it, tmp, &n->ops) {
        struct op *op = list_entry(it, struct op, link);

        if (op->kind->on_drain != NULL)
            op->kind->on_drain(op);
    }
}

struct native *native_of(const struct http_request *rq)
{
    return http_context(rq);
}

struct native *native_of_call(const struct call *c)
{
    return (struct native *)c->base;
}

void native_call_drain(struct call *c)
{
    struct hf_error err;

    dialect_check_open(c->base, &err);
    call_fail(c, &err);
}

void native_op_init(struct op *op, struct native *n, const struct op_kind *kind)
{
    op->native = n;
    op->kind = kind;
    list_append(&n->ops, &op->link);
}

void native_op_fini(struct op *op)
{
    list_remove(&op->link);
}

int native_wait_begin(struct native *n, const struct http_request *rq, struct hf_error *err)
{
    size_t kept = caller_is_guest(rq) ? LIMIT_WAITS / LIMIT_WAITS_KEPT_PART : 0;

    if (n->waits >= LIMIT_WAITS - kept) {
        int rc = hf_fail(err, HF_E_too_many_waits,
                         "%zu requests are already waiting; cancel some of them or try again later",
                         n->waits);

        if (err != NULL)
            err->limit = "waits";
        return rc;
    }
    n->waits++;
    return 0;
}

void native_wait_end(struct native *n)
{
    assert(n->waits > 0);
    n->waits--;
}
