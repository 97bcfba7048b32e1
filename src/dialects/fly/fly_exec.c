/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_exec.c - POST …/machines/ID/exec: runs a command and replies when it has ended
 *
 * The status reports whether the command could be run, not how it ended: it is 200 even for a
 * command that failed or does not exist. If the client disconnects, the command keeps running until
 * its deadline and is in every list. No 502 and no 503 once it may be running: Fly's own client
 * would retry, and run it twice. Layer: dialects.
 */
#include "dialects/common/call.h"
#include "dialects/common/collect.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"

struct fly_exec {
    struct call call;
    struct fly *fly;
    struct collect *collect; /* NULL: it has ended, or is abandoned */
    int64_t timeout_s;
};

/* With a collector, the dialect is being freed. */
static void exec_release(struct call *c)
{
    struct fly_exec *x = (struct fly_exec *)c;

    if (x->collect != NULL)
        collect_free(x->collect);
    x->fly->waits--;
}

static void exec_abandon(struct call *c)
{
    struct fly_exec *x = (struct fly_exec *)c;

    collect_abandon(x->collect, false);
    x->collect = NULL;
}

/* The daemon shuts down. A process that is being started keeps running, too. */
static void exec_drain(struct call *c)
{
    struct process *p = collect_process(((struct fly_exec *)c)->collect);
    struct http_request *rq;

    if (p != NULL)
        process_ref(p);
    exec_abandon(c);
    rq = call_end(c);
    if (p != NULL)
        fly_error_draining(rq, p);
    else
        dialect_fail(rq, HF_E_internal,
                     "the daemon is shutting down; the command may have been started");
    process_unref(p);
}

static const struct call_kind exec_kind = {
    .release = exec_release, .disconnected = exec_abandon, .drain = exec_drain};

/* --- the reply ------------------------------------------------------------------------------- */

static void put_cut(struct buf *note, const char *stream, const struct buf *kept, uint64_t total)
{
    if (total > kept->len)
        buf_printf(note, "\n[%s was truncated after %zu of %llu bytes]\n", stream, kept->len,
                   (unsigned long long)total);
}

static void write_stderr(struct json_out *o, const struct collected *c)
{
    struct buf text = {0};

    put_cut(&text, "standard output", c->out, c->out_total);
    put_cut(&text, "standard error", c->err, c->err_total);
    json_key(o, "stderr");
    if (text.len == 0) {
        json_strn(o, buf_data(c->err), c->err->len);
    } else {
        struct buf all = {0};

        buf_put(&all, buf_data(c->err), c->err->len);
        buf_put(&all, buf_data(&text), text.len);
        json_strn(o, buf_data(&all), all.len);
        buf_fini(&all);
    }
    buf_fini(&text);
}

static void reply_timeout(struct http_request *rq, int64_t timeout_s, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    dialect_fail(rq, HF_E_request_timeout,
                 "the command was terminated after %lld s; see process %s", (long long)timeout_s,
                 v.id);
}

static void reply_result(struct http_request *rq, const struct collected *c)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kint(&o, "exit_code", c->exit->exit_code);
    json_kint(&o, "exit_signal", c->exit->signum);
    json_key(&o, "stdout");
    json_strn(&o, buf_data(c->out), c->out->len);
    write_stderr(&o, c);
    dialect_reply_send(rq, 200, &o);
}

static void exec_ended(void *arg, const struct collected *c)
{
    struct fly_exec *x = arg;
    int64_t timeout_s = x->timeout_s;
    struct http_request *rq;

    x->collect = NULL;
    rq = call_end(&x->call);
    fly_add_process_header(rq, c->process);
    if (c->exit->kind == EXIT_TIMED_OUT)
        reply_timeout(rq, timeout_s, c->process);
    else
        reply_result(rq, c);
}

/* As a shell reports it. */
static void reply_unstarted(struct http_request *rq, const struct hf_error *err)
{
    struct buf reason = {0};
    struct json_out o;

    if (fly_exit_of(err) == 0) {
        http_reply_error(rq, err);
        return;
    }
    fly_put_reason(&reason, err);
    o = dialect_reply_open(dialect_base_of(rq));
    json_kint(&o, "exit_code", fly_exit_of(err));
    json_kint(&o, "exit_signal", 0);
    json_kstr(&o, "stdout", "");
    json_kstr(&o, "stderr", buf_cstr(&reason));
    dialect_reply_send(rq, 200, &o);
    buf_fini(&reason);
}

static void exec_failed(void *arg, const struct hf_error *err)
{
    struct fly_exec *x = arg;

    x->collect = NULL;
    reply_unstarted(call_end(&x->call), err);
}

static const struct collect_ops exec_ops = {.failed = exec_failed, .done = exec_ended};

/* --- start ------------------------------------------------------------------------------------ */

static void exec_begin(struct http_request *rq, struct spawn_spec *spec)
{
    struct fly_exec *x = call_begin(rq, &exec_kind, sizeof *x);
    struct hf_error err = {0};

    x->fly = fly_of(rq);
    x->fly->waits++;
    x->timeout_s = spec->timeout_ms / 1000;
    if (collect_start(x->fly->base.engine, spec, LIMIT_FLY_OUTPUT_BYTES, &exec_ops, x, &x->collect,
                      &err) < 0)
        exec_failed(x, &err);
}

void fly_machine_exec(struct http_request *rq)
{
    json_auto_t *body = fly_machine(rq) ? dialect_body(rq) : NULL;
    struct hf_error err = {0};
    struct fly_request request;

    if (body == NULL || !fly_admit(rq))
        return;
    if (fly_decode_exec(&request, body, &err) < 0)
        http_reply_error(rq, &err);
    else
        exec_begin(rq, &request.spec);
    fly_request_fini(&request);
}
