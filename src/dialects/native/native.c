/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.c - creation, drain and teardown of the native dialect. Layer: dialects.
 */
#include "dialects/native/native.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/common/file_op.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_handlers.h"

static void native_fini(struct dialect_base *b)
{
    buf_fini(&((struct native *)b)->joined);
}

static const struct dialect native_dialect = {
    .name = "native",
    .prefix = "",
    .groups = native_route_groups,
    .error = json_reply_problem,
    .size = sizeof(struct native),
    .fini = native_fini,
};

struct native *native_new(struct engine *e, struct auth *auth, const struct native_info *info)
{
    const struct dialect_host host = {.engine = e, .loop = engine_loop(e)};
    struct native *n = (struct native *)dialect_make(&native_dialect, &host);

    n->auth = auth;
    n->info = *info;
    if (info->http != NULL)
        n->http = *info->http;
    else
        http_options_default(&n->http);
    native_start_links(n);
    list_init(&n->spawning);
    list_init(&n->connects);
    list_init(&n->reloads);
    file_op_end_all(e);
    return n;
}

void native_free(struct native *n)
{
    if (n != NULL)
        dialect_free(&native_dialect, &n->base);
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
    dialect_drain(&n->base);
}

struct native *native_of(const struct http_request *rq)
{
    return http_context(rq);
}

struct native *native_of_call(const struct call *c)
{
    return (struct native *)c->base;
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
