/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_exec.c - POST …/machines/ID/exec: runs a command and replies when it has ended
 *
 * The status reports whether the command could be run, not how it ended: it is 200 even for a
 * command that failed or does not exist. If the client disconnects, the command keeps running until
 * its deadline and is in every list. No 502 and no 503 once it may be running: Fly's own client
 * would retry, and run it twice. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/collect.h"
#include "dialects/fly/fly.h"

struct fly_exec {
    struct pending pending;
    struct http_request *rq;
    struct fly *fly;
    struct collect *collect;
    int64_t timeout_s;
};

static void exec_done(struct fly_exec *x)
{
    x->fly->waits--;
    pending_fini(&x->pending);
    free(x);
}

static void exec_free(struct pending *p)
{
    struct fly_exec *x = list_entry(p, struct fly_exec, pending);

    collect_free(x->collect);
    exec_done(x);
}

static void exec_on_disconnect(void *user)
{
    struct fly_exec *x = user;

    collect_abandon(x->collect, false);
    exec_done(x);
}

/* --- the reply ------------------------------------------------------------------------------- */

static void reply_error(struct fly_exec *x, struct process *p, enum hf_code code, const char *what)
{
    struct hf_error err = {0};
    struct process_view v;

    process_view(p, &v);
    hf_fail(&err, code, "%s; see process %s", what, v.id);
    fly_add_process_header(x->rq, p);
    fly_error(x->rq, &err);
}

static void put_cut(struct buf *note, const char *stream, const struct buf *kept, uint64_t total)
{
    if (total > kept->len)
        buf_printf(note, "\n[%s was cut after %zu of %llu bytes]\n", stream, kept->len,
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

static void reply_result(struct fly_exec *x, const struct collected *c)
{
    struct json_out o = fly_reply(x->fly);

    json_kint(&o, "exit_code", c->exit->exit_code);
    json_kint(&o, "exit_signal", c->exit->signum);
    json_key(&o, "stdout");
    json_strn(&o, buf_data(c->out), c->out->len);
    write_stderr(&o, c);
    fly_add_process_header(x->rq, c->process);
    fly_send(x->rq, 200, &o);
}

static void exec_ended(void *arg, const struct collected *c)
{
    struct fly_exec *x = arg;
    char what[100];

    if (c->exit->kind == EXIT_TIMED_OUT) {
        snprintf(what, sizeof what, "the command was terminated after %lld s",
                 (long long)x->timeout_s);
        reply_error(x, c->process, HF_E_request_timeout, what);
    } else {
        reply_result(x, c);
    }
    exec_done(x);
}

/* As a shell reports it. */
static void reply_unstarted(struct http_request *rq, const struct hf_error *err)
{
    struct buf reason = {0};
    struct json_out o;

    if (fly_exit_of(err) == 0) {
        fly_error(rq, err);
        return;
    }
    fly_put_reason(&reason, err);
    o = fly_reply(fly_of(rq));
    json_kint(&o, "exit_code", fly_exit_of(err));
    json_kint(&o, "exit_signal", 0);
    json_kstr(&o, "stdout", "");
    json_kstr(&o, "stderr", buf_cstr(&reason));
    fly_send(rq, 200, &o);
    buf_fini(&reason);
}

static void exec_failed(void *arg, const struct hf_error *err)
{
    struct fly_exec *x = arg;

    reply_unstarted(x->rq, err);
    exec_done(x);
}

static const struct collect_ops exec_ops = {.failed = exec_failed, .done = exec_ended};

/* --- the daemon shuts down -------------------------------------------------------------------- */

/* For a process that is being started, the spawn callback replies. */
static void exec_drain(struct pending *p)
{
    struct fly_exec *x = list_entry(p, struct fly_exec, pending);
    struct process *running = collect_process(x->collect);
    struct hf_error err = {0};

    if (running != NULL) {
        fly_error_draining(x->rq, running);
    } else {
        hf_fail(&err, HF_E_internal,
                "the daemon is shutting down; the command may have been started");
        fly_error(x->rq, &err);
    }
    collect_abandon(x->collect, false);
    exec_done(x);
}

static const struct pending_kind exec_kind = {.drain = exec_drain, .free = exec_free};

/* --- start ------------------------------------------------------------------------------------ */

static void exec_begin(struct http_request *rq, struct spawn_spec *spec)
{
    struct fly *f = fly_of(rq);
    struct fly_exec *x = hf_xalloc(sizeof *x);
    struct hf_error err = {0};

    x->rq = rq;
    x->fly = f;
    x->timeout_s = spec->timeout_ms / 1000;
    f->waits++;
    pending_init(&x->pending, &f->pending, &exec_kind);
    http_set_user(rq, x, exec_on_disconnect);
    if (collect_start(f->engine, spec, LIMIT_FLY_OUTPUT_BYTES, &exec_ops, x, &x->collect, &err) <
        0) {
        http_set_user(rq, NULL, NULL);
        exec_done(x);
        reply_unstarted(rq, &err);
    }
}

void fly_machine_exec(struct http_request *rq)
{
    json_auto_t *body = fly_machine(rq) ? fly_body(rq) : NULL;
    struct hf_error err = {0};
    struct fly_request request;

    if (body == NULL || !fly_admit(rq))
        return;
    if (fly_decode_exec(&request, body, &err) < 0)
        fly_error(rq, &err);
    else
        exec_begin(rq, &request.spec);
    fly_request_fini(&request);
}
