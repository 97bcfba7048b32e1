/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_run.c - POST /v1/processes/run. Layer: dialects.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dialects/common/collect.h"
#include "dialects/sandbox-agent/agent.h"

struct agent_run {
    struct pending pending;
    struct http_request *rq;
    struct agent *agent;
    struct collect *collect;
    uint64_t began_ms;
};

static void run_done(struct agent_run *r)
{
    r->agent->runs--;
    pending_fini(&r->pending);
    free(r);
}

static void run_free(struct pending *p)
{
    struct agent_run *r = list_entry(p, struct agent_run, pending);

    collect_free(r->collect);
    run_done(r);
}

/* The process keeps running under the next worker; the reply refers the client to it. */
static void run_drain(struct pending *p)
{
    struct agent_run *r = list_entry(p, struct agent_run, pending);
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down,
            "the daemon is shutting down; look up the process afterwards");
    agent_error(r->rq, &err);
    collect_abandon(r->collect, false);
    run_done(r);
}

static const struct pending_kind run_kind = {.drain = run_drain, .free = run_free};

static void run_on_disconnect(void *user)
{
    struct agent_run *r = user;

    collect_abandon(r->collect, true);
    run_done(r);
}

static void run_failed(void *arg, const struct hf_error *err)
{
    struct agent_run *r = arg;

    agent_error(r->rq, err);
    run_done(r);
}

static void run_ended(void *arg, const struct collected *c)
{
    struct agent_run *r = arg;
    struct json_out o = agent_reply_open(r->agent);
    bool timed_out = c->exit->kind == EXIT_TIMED_OUT;

    if (timed_out || c->exit->code < 0)
        json_knull(&o, "exitCode");
    else
        json_kint(&o, "exitCode", c->exit->code);
    json_kbool(&o, "timedOut", timed_out);
    json_key(&o, "stdout");
    json_strn(&o, buf_data(c->out), c->out->len);
    json_key(&o, "stderr");
    json_strn(&o, buf_data(c->err), c->err->len);
    json_kbool(&o, "stdoutTruncated", c->out_total > c->out->len);
    json_kbool(&o, "stderrTruncated", c->err_total > c->err->len);
    json_ku64(&o, "durationMs", clock_mono_ms() - r->began_ms);
    agent_send(r->rq, 200, &o);
    process_forget(c->process); /* no client knows its id */
    run_done(r);
}

static const struct collect_ops run_ops = {.failed = run_failed, .done = run_ended};

static void run_begin(struct http_request *rq, struct spawn_spec *spec, int64_t max)
{
    struct agent *a = agent_of(rq);
    struct agent_run *r = hf_xalloc(sizeof *r);
    struct hf_error err;

    r->rq = rq;
    r->agent = a;
    r->began_ms = clock_mono_ms();
    a->runs++;
    pending_init(&r->pending, &a->pending, &run_kind);
    http_set_user(rq, r, run_on_disconnect);
    if (collect_start(a->engine, spec, (size_t)max, &run_ops, r, &r->collect, &err) < 0) {
        http_set_user(rq, NULL, NULL);
        run_done(r);
        agent_error(rq, &err);
    }
}

void agent_run(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct hf_error err = {0};
    struct agent_request request;

    if (body == NULL)
        return;
    if (agent_decode_run(&request, body, &agent_of(rq)->config, &err) < 0)
        agent_error(rq, &err);
    else
        run_begin(rq, &request.spec, request.max_output);
    agent_request_fini(&request);
}
