/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_process.c - POST /v1/processes/run: start, wait, reply with the output
 *
 * The common run writes little and ends soon, so we collect nothing while it runs: a lossless
 * viewer that is not ready keeps the output in the ring, and the reply is written straight from the
 * ring at the exit. Only when the ring is half full, or when a second stream appears (its marks are
 * bounded as well), the viewer becomes ready and collects head and tail. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "engine/journal/headtail.h"

/* The collected output, if the ring alone does not suffice. */
struct gathered {
    struct headtail all, out, err;
};

struct run_process {
    struct follow follow;      /* without a process until it is started */
    struct gathered *gathered; /* NULL: the ring has all of it */
    uint64_t max_bytes, gather_at;
    uint64_t scanned; /* the ring was scanned up to here for a second stream */
    enum stream only; /* the stream of [0, scanned) */
    bool base64, keep, pty;
};

static void gathered_free(struct gathered *g)
{
    if (g == NULL)
        return;
    headtail_fini(&g->all);
    headtail_fini(&g->out);
    headtail_fini(&g->err);
    free(g);
}

static struct run_process *run_of(struct call *c)
{
    return list_entry(c, struct run_process, follow.call);
}

static struct run_process *run_of_follow(struct follow *f)
{
    return list_entry(f, struct run_process, follow);
}

static void run_release(struct call *c)
{
    struct run_process *r = run_of(c);

    follow_release(c);
    gathered_free(r->gathered);
}

/* The process keeps running under the worker that replaces this one. */
static void run_drain(struct call *c)
{
    struct run_process *r = run_of(c);
    struct process_view v;
    struct hf_error err;

    if (r->follow.process == NULL)
        return; /* the reply to the start is imminent */
    process_view(r->follow.process, &v);
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; look up process %s afterwards",
            v.id);
    call_fail(c, &err);
}

static void run_disconnected(struct call *c)
{
    struct run_process *r = run_of(c);

    if (r->follow.process == NULL)
        return; /* run_on_spawned() handles it */
    if (!r->keep)
        process_terminate(r->follow.process, -1, "detach", NULL, NULL);
    call_end(c);
}

static const struct call_kind run_kind = {
    .stays = true,
    .release = run_release,
    .disconnected = run_disconnected,
    .drain = run_drain,
};

/* --- output ----------------------------------------------------------------- */

static void gather(struct gathered *g, const struct slice *s)
{
    headtail_feed(&g->all, s->bytes, s->len);
    if (s->stream == STREAM_STDOUT)
        headtail_feed(&g->out, s->bytes, s->len);
    else if (s->stream == STREAM_STDERR)
        headtail_feed(&g->err, s->bytes, s->len);
}

static void run_gather(struct run_process *r)
{
    struct gathered *g = hf_xalloc(sizeof *g);

    headtail_init(&g->all, r->max_bytes);
    headtail_init(&g->out, r->max_bytes);
    headtail_init(&g->err, r->max_bytes);
    r->gathered = g;
}

/* Does [0, next) have only one stream? Each byte is scanned once. */
static bool run_is_plain(struct run_process *r, const struct journal *j)
{
    uint64_t next = journal_next(j);
    struct slice s;

    if (r->scanned == next)
        return true;
    s = journal_slice(j, r->scanned, (size_t)(next - r->scanned));
    if (r->scanned == 0)
        r->only = s.stream;
    if (s.stream != r->only || s.at + s.len != next)
        return false;
    r->scanned = next;
    return true;
}

static bool run_ahead(struct follow *f)
{
    struct run_process *r = run_of_follow(f);
    struct journal *j = process_journal(f->process);

    if (r->gathered != NULL || !process_is_running(f->process))
        return true;
    if (journal_next(j) < r->gather_at && run_is_plain(r, j))
        return false;
    run_gather(r);
    return true;
}

static void run_bytes(struct follow *f, const struct slice *s)
{
    const struct run_process *r = run_of_follow(f);

    if (r->gathered != NULL)
        gather(r->gathered, s);
}

/* A lossless viewer from 0 on misses nothing; if it did, the bytes would count as omitted. */
static void run_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct run_process *r = run_of_follow(f);

    if (r->gathered == NULL)
        run_gather(r);
    r->gathered->all.total += to - from;
}

/* --- the reply ---------------------------------------------------------------- */

static uint64_t write_gathered(const struct run_process *r, struct json_out *o)
{
    struct native *n = native_of_call(&r->follow.call);
    struct gathered *g = r->gathered;

    json_reply_headtail(n, o, "stdout", r->pty ? &g->all : &g->out, r->base64);
    json_reply_headtail(n, o, "stderr", &g->err, r->base64);
    return json_reply_headtail(n, o, "output", &g->all, r->base64);
}

/* All output is one stream and in the ring. */
static void write_plain(const struct run_process *r, struct json_out *o, uint64_t len)
{
    const char *bytes = journal_bytes(process_journal(r->follow.process), 0);
    bool is_err = r->only == STREAM_STDERR;

    json_reply_text(o, "stdout", bytes, is_err ? 0 : len, r->base64);
    json_reply_text(o, "stderr", bytes, is_err ? len : 0, r->base64);
    json_reply_text(o, "output", bytes, len, r->base64);
}

/* The last output may not have been scanned, or be too much for one reply. */
static void gather_if_needed(struct run_process *r, uint64_t end)
{
    struct journal *j = process_journal(r->follow.process);

    if (r->gathered != NULL || (end <= r->max_bytes && run_is_plain(r, j)))
        return;
    run_gather(r);
    for (uint64_t at = 0; at < end;) {
        struct slice s = journal_slice(j, at, (size_t)(end - at));

        gather(r->gathered, &s);
        at += s.len;
    }
}

static bool run_exited(struct follow *f, const struct exit_record *x)
{
    struct run_process *r = run_of_follow(f);
    uint64_t end = journal_next(process_journal(f->process)), omitted = 0;
    struct json_out o;

    gather_if_needed(r, end);
    o = dialect_reply_open(r->follow.call.base);
    json_key(&o, "process");
    process_write_json(r->follow.process, &o);
    if (r->gathered != NULL)
        omitted = write_gathered(r, &o);
    else
        write_plain(r, &o, end);
    json_kstr(&o, "encoding", r->base64 ? "base64" : "utf8");
    process_json_exit(&o, x);
    json_kbool(&o, "timed_out", x->kind == EXIT_TIMED_OUT);
    json_ku64(&o, "omitted_bytes", omitted);
    call_send(&f->call, 200, &o);
    return false;
}

static const struct follow_ops run_ops = {
    .ahead = run_ahead,
    .bytes = run_bytes,
    .gap = run_gap,
    .exited = run_exited,
};

/* --- the start ------------------------------------------------------------------ */

static void run_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct follow_open o = {.viewer = viewer_own(0), .gathers = true};
    struct run_process *r = arg;
    struct call *c = &r->follow.call;
    struct hf_error err;

    if (p == NULL) {
        call_fail(c, why);
    } else if (c->rq == NULL) {
        if (!r->keep)
            process_terminate(p, -1, "detach", NULL, NULL);
        call_end(c);
    } else if (follow_attach(&r->follow, &run_ops, p, &o, &err) < 0) {
        process_terminate(p, -1, "api", NULL, NULL);
        call_fail(c, &err);
    } else if (c->base->draining) {
        run_drain(c);
    }
}

static struct run_process *run_new(struct http_request *rq, const struct spawn_request *request)
{
    struct run_process *r = call_begin(rq, &run_kind, sizeof *r);
    uint64_t ring = request->spec.history_bytes > 0
                        ? (uint64_t)request->spec.history_bytes
                        : engine_options(r->follow.call.base->engine)->journal_bytes;

    r->max_bytes = (uint64_t)request->max_output_bytes;
    r->gather_at = ring / 2;
    r->base64 = request->base64;
    r->keep = request->keep;
    r->pty = request->spec.pty;
    return r;
}

int run_handle(struct http_request *rq, struct hf_error *err)
{
    json_auto_t *body = NULL;
    struct spawn_request request;
    struct run_process *r;
    int rc;

    if (dialect_check_open(dialect_base_of(rq), err) < 0 ||
        (body = native_decode_json(rq, err)) == NULL)
        return -1;
    rc = spawn_request_decode(&request, body, true, err);
    if (rc == 0) {
        r = run_new(rq, &request);
        request.spec.quiet_start = true;
        rc = engine_spawn(native_of(rq)->base.engine, &request.spec, run_on_spawned, r, err);
        if (rc < 0)
            call_end(&r->follow.call);
    }
    spawn_request_fini(&request);
    return rc;
}
