/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_call.c - requests that run a process to its end. Layer: dialects.
 */
#include "dialects/common/collect_call.h"

#include "base/clock.h"
#include "dialects/common/dialect_base.h"

static struct collect_call *collect_call_of(struct call *c)
{
    return list_entry(c, struct collect_call, call);
}

/* --- the call -------------------------------------------------------------------------------- */

static void collect_call_release(struct call *c)
{
    struct collect_call *r = collect_call_of(c);

    if (r->collect != NULL)
        collect_free(r->collect);
    c->base->collecting--;
    if (r->ops->release != NULL)
        r->ops->release(r);
}

static void abandon(struct collect_call *r, bool end)
{
    collect_abandon(r->collect, end);
    r->collect = NULL;
}

static void collect_call_disconnected(struct call *c)
{
    abandon(collect_call_of(c), true);
}

/* The process keeps running under the next worker; the reply refers the client to it. */
static void collect_call_drain(struct call *c)
{
    const char *detail = collect_call_of(c)->ops->drain_detail;
    struct hf_error err = {0};

    abandon(collect_call_of(c), false);
    if (detail == NULL)
        detail = "the daemon is shutting down; look up the process afterwards";
    hf_fail(&err, HF_E_shutting_down, "%s", detail);
    call_fail(c, &err);
}

static const struct call_kind collect_call_kind = {
    .release = collect_call_release,
    .disconnected = collect_call_disconnected,
    .drain = collect_call_drain,
};

/* --- the collector, which is freed after either callback ------------------------------------- */

static void collect_call_on_failed(void *arg, const struct hf_error *err)
{
    struct collect_call *r = arg;

    r->collect = NULL;
    if (r->ops->failed == NULL) {
        call_fail(&r->call, err);
        return;
    }
    http_set_user(r->call.rq, NULL, NULL);
    r->ops->failed(r, r->call.rq, err);
    r->call.rq = NULL;
    call_end(&r->call);
}

static void collect_call_on_done(void *arg, const struct collected *c)
{
    struct collect_call *r = arg;

    r->collect = NULL;
    http_set_user(r->call.rq, NULL, NULL);
    r->ops->done(r, r->call.rq, c);
    r->call.rq = NULL;
    call_end(&r->call);
}

static const struct collect_ops collect_ops = {.failed = collect_call_on_failed,
                                               .done = collect_call_on_done};

void collect_call_begin(struct collect_call *r, const struct collect_call_ops *ops,
                        struct http_request *rq, struct spawn_spec *spec, size_t max_bytes)
{
    struct engine *e = dialect_base_of(rq)->engine;
    struct hf_error err = {0};

    r->ops = ops;
    r->began_ms = clock_mono_ms();
    call_adopt(&r->call, rq, &collect_call_kind);
    r->call.base->collecting++;
    if (collect_start(e, spec, max_bytes, &collect_ops, r, &r->collect, &err) < 0)
        collect_call_on_failed(r, &err);
}
