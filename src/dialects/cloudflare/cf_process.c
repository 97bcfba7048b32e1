/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_process.c - processes: start, list, get, logs, stream, kill. Any process of the daemon, not
 * only those started here. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_launch.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "dialects/common/follow.h"

/* --- names and states ---------------------------------------------------------------------- */

/* The client puts ids into paths without escaping, so only plain tags serve as ids. */
static bool is_plain(const char *tag)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-:@!$&'()*+,;=";

    return tag[0] != '\0' && strspn(tag, plain) == strlen(tag);
}

/* The id by which clients know a process: its tag if that is unambiguous, else its own id. */
static const char *cf_process_id(struct cf *cf, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.tag != NULL && is_plain(v.tag) && cf_find(cf, v.tag) == p ? v.tag : v.id;
}

/* The process in the path. NULL: there is none, and the request has been replied to. */
static struct process *process_of(struct cf_request *q)
{
    const char *id = router_param_get(&q->match, "id");
    struct process *p = cf_find(q->cf, id);
    char text[200];

    if (p != NULL)
        return p;
    snprintf(text, sizeof text, "Process not found: %.150s", id);
    cf_fail_about(cf_call(q), 404, "PROCESS_NOT_FOUND", text, "processId", id);
    return NULL;
}

static const char *process_status(const struct process_view *v)
{
    const struct exit_record *x = v->exit;

    if (v->running)
        return "running";
    if (x->kind == EXIT_LOST)
        return "error";
    if (x->exit_code == 0)
        return "completed";
    if (x->kind == EXIT_KILLED || x->kind == EXIT_TIMED_OUT || x->exit_code == 137 ||
        x->exit_code == 143)
        return "killed";
    return "failed";
}

static void write_process(struct cf *cf, struct json_out *o, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    json_open(o, '{');
    json_kstr(o, "id", cf_process_id(cf, p));
    json_kint(o, "pid", v.pid);
    cf_write_command(o, "command", &v);
    json_kstr(o, "status", process_status(&v));
    json_ktime(o, "startTime", v.created_ms);
    if (!v.running)
        json_ktime(o, "endTime", v.exited_ms);
    if (!v.running && v.exit->exit_code >= 0)
        json_kint(o, "exitCode", v.exit->exit_code);
    if (v.session_id != NULL)
        json_kstr(o, "sessionId", v.session_id);
    json_close(o, '}');
}

/* --- start ------------------------------------------------------------------------------------ */

struct cf_process_start {
    struct call call;
    struct cf_launch *launch; /* NULL: it has ended */
    bool terminal;
};

/* What is being started keeps running. */
static void start_release(struct call *c)
{
    struct cf_process_start *s = (struct cf_process_start *)c;

    if (s->launch != NULL)
        cf_launch_leave(s->launch, false);
}

static const struct call_kind start_kind = {.release = start_release, .drain = cf_drain};

static void start_done(void *arg, struct process *p, const struct hf_error *err)
{
    struct cf_process_start *s = arg;
    struct call *c = &s->call;
    struct process_view v;
    struct json_out o;

    s->launch = NULL;
    if (p == NULL) {
        cf_error(c, err);
        return;
    }
    process_view(p, &v);
    o = cf_ok(c);
    json_kstr(&o, s->terminal ? "terminalId" : "processId", cf_process_id((struct cf *)c->base, p));
    json_kint(&o, "pid", v.pid);
    cf_write_command(&o, "command", &v);
    cf_send(c, 200, &o);
}

static void start_begin(struct cf_request *q, const struct cf_launch_request *a)
{
    struct cf_process_start *s = cf_begin(q, &start_kind, sizeof *s);

    s->terminal = a->pty;
    cf_launch(q->cf, a, start_done, s, &s->launch);
}

#define TAG_FIELD(n) CF_LAUNCH_FIELD(n, STR, tag, .min = 1, .max = LIMIT_TAG_BYTES)

void cf_process_start(struct cf_request *q)
{
    static const struct json_field fields[] = {CF_COMMAND_FIELDS, TAG_FIELD("processId")};
    struct cf_launch_request a = {0};

    if (!cf_decode(q, fields, CF_COUNT(fields), &a))
        return;
    a.session = cf_session_or_none(q);
    start_begin(q, &a);
}

/* --- terminals of the next generation: created here, watched at /ws/terminal ------------------ */

static const struct json_field terminal_fields[] = {
    CF_LAUNCH_FIELD("command", ANY, argv),
    TAG_FIELD("id"),
    CF_LAUNCH_FIELD("cwd", STR, cwd),
    CF_LAUNCH_FIELD("shell", STR, shell),
    CF_LAUNCH_FIELD("cols", INT, cols, .min = 1, .max = TERMINAL_SIZE_MAX),
    CF_LAUNCH_FIELD("rows", INT, rows, .min = 1, .max = TERMINAL_SIZE_MAX),
    CF_LAUNCH_FIELD("bufferSize", INT, history_bytes, .min = LIMIT_JOURNAL_MIN_BYTES,
                    .max = LIMIT_JOURNAL_MAX_BYTES),
    CF_LAUNCH_FIELD("env", OBJECT, env),
};

/* The command is a line or a list of strings. */
static bool decode_command(struct cf_request *q, struct cf_launch_request *a)
{
    static const struct json_field line = CF_LAUNCH_FIELD("command", STR, command, .min = 1);

    if (a->argv == NULL || cf_is_argv(a->argv))
        return true;
    if (json_is_string(a->argv)) {
        a->argv = NULL;
        return cf_decode(q, &line, 1, a);
    }
    cf_fail(cf_call(q), 400, "VALIDATION_FAILED", "command must be a string or a list of strings");
    return false;
}

void cf_terminal_create(struct cf_request *q)
{
    struct cf_launch_request a = {.pty = true, .rows = 24, .cols = 80, .impatient = true};

    if (!cf_decode(q, terminal_fields, CF_COUNT(terminal_fields), &a) || !decode_command(q, &a))
        return;
    if (json_object_get(q->body, "sessionId") != NULL)
        a.session = cf_session_id(q);
    start_begin(q, &a);
}

/* --- list, get -------------------------------------------------------------------------------- */

void cf_process_list(struct cf_request *q)
{
    struct cf *cf = q->cf;
    const char *status = query_get(&q->query, "status");
    struct json_out o = cf_ok(cf_call(q));
    struct process *p = NULL;

    json_key(&o, "processes");
    json_open(&o, '[');
    while ((p = engine_next(cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (!cf_is_shell(cf, p) && (status == NULL || strcmp(status, process_status(&v)) == 0))
            write_process(cf, &o, p);
    }
    json_close(&o, ']');
    cf_send(q->call, 200, &o);
}

void cf_process_get(struct cf_request *q)
{
    struct process *p = process_of(q);
    struct json_out o;

    if (p == NULL)
        return;
    o = cf_ok(cf_call(q));
    json_key(&o, "process");
    write_process(q->cf, &o, p);
    cf_send(q->call, 200, &o);
}

/* --- logs ------------------------------------------------------------------------------------- */

static void write_stream(struct json_out *o, const char *key, const struct journal *j, uint64_t at,
                         bool is_err)
{
    struct buf all = {0};

    while (at < journal_next(j)) {
        struct slice s = journal_slice(j, at, SIZE_MAX);

        if ((s.stream == STREAM_STDERR) == is_err)
            buf_put(&all, s.bytes, s.len);
        at += s.len;
    }
    json_key(o, key);
    json_strn(o, buf_data(&all), all.len);
    buf_fini(&all);
}

void cf_process_logs(struct cf_request *q)
{
    struct process *p = process_of(q);
    const struct journal *j;
    struct json_out o;
    uint64_t from;

    if (p == NULL)
        return;
    j = process_journal(p);
    from = journal_first(j);
    if (journal_next(j) - from > LIMIT_CF_OUTPUT_BYTES)
        from = journal_next(j) - LIMIT_CF_OUTPUT_BYTES; /* one reply cannot hold a long history */
    o = cf_ok(cf_call(q));
    json_kstr(&o, "processId", cf_process_id(q->cf, p));
    write_stream(&o, "stdout", j, from, false);
    write_stream(&o, "stderr", j, from, true);
    if (from > 0)
        json_ku64(&o, "omittedBytes", from);
    cf_send(q->call, 200, &o);
}

/* --- GET /api/process/{id}/stream: output so far, live output, then the exit ----------------- */

struct cf_stream {
    struct follow follow;
    struct whole_text text;
    char *id;
};

static struct cf_stream *stream_of(struct follow *f)
{
    return list_entry(f, struct cf_stream, follow);
}

static void stream_release(struct follow *f)
{
    free(stream_of(f)->id);
}

static void stream_bytes(struct follow *f, const struct slice *s)
{
    cf_send_output(&f->call, &stream_of(f)->text, s, stream_of(f)->id);
}

static void stream_gap(struct follow *f, uint64_t from, uint64_t to)
{
    cf_send_gap(&f->call, from, to, stream_of(f)->id);
}

static bool stream_exited(struct follow *f, const struct exit_record *x)
{
    struct cf_stream *l = stream_of(f);
    struct process_view v;
    struct json_out o;
    char text[80];

    process_view(f->process, &v);
    cf_send_output_end(&f->call, &l->text, l->id);
    snprintf(text, sizeof text, "Process %s with exit code %d", process_status(&v), x->exit_code);
    o = cf_event(&f->call, "exit");
    json_kstr(&o, "processId", l->id);
    json_kint(&o, "exitCode", x->exit_code);
    json_kstr(&o, "data", text);
    cf_event_send(&f->call, &o);
    return true;
}

/* The stream just ends: the process keeps running. */
static void stream_drain(struct follow *f)
{
    (void)f;
}

static const struct follow_ops follow_ops = {
    .bytes = stream_bytes,
    .gap = stream_gap,
    .exited = stream_exited,
    .drain = stream_drain,
    .release = stream_release,
};

static void no_cache(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
}

void cf_process_stream(struct cf_request *q)
{
    const struct follow_open open = {
        .viewer = {.since = SINCE_OFFSET,
                   .guest = q->role < ROLE_TYPE,
                   .verbatim = true,
                   .only_stream = -1},
        .headers = no_cache,
    };
    struct process *p = process_of(q);
    struct process_view v;
    struct cf_stream *l;
    struct hf_error err;
    struct json_out o;

    if (p == NULL)
        return;
    l = cf_begin(q, &follow_kind, sizeof *l);
    l->id = hf_xstrdup(cf_process_id(q->cf, p));
    if (follow_attach(&l->follow, &follow_ops, p, &open, &err) < 0) {
        cf_error(q->call, &err);
        return;
    }
    process_view(p, &v);
    o = cf_event(q->call, "process_info");
    json_kstr(&o, "processId", l->id);
    cf_write_command(&o, "command", &v);
    json_kstr(&o, "status", process_status(&v));
    cf_event_send(q->call, &o);
}

/* --- kill ------------------------------------------------------------------------------------- */

/* Whole trees; the reply comes when they have ended. */
struct cf_kill {
    struct call call;
    struct process *one; /* referenced; NULL: all */
    size_t open, ended;
};

/* The terminations continue without their call. */
static void kill_release(struct call *c)
{
    struct cf_kill *k = (struct cf_kill *)c;
    struct process *p = NULL;

    while (k->open > 0 && (p = engine_next_all(c->base->engine, p)) != NULL)
        process_end_cancel(p, k);
    process_unref(k->one);
}

static const struct call_kind kill_kind = {.release = kill_release, .drain = cf_drain};

static void kill_on_end(void *arg, struct process *p, const struct survivors *s)
{
    struct cf_kill *k = arg;
    struct json_out o;

    (void)p, (void)s;
    k->ended++;
    if (--k->open > 0)
        return;
    o = cf_ok(&k->call);
    if (k->one != NULL)
        json_kstr(&o, "processId", cf_process_id((struct cf *)k->call.base, k->one));
    else
        json_ku64(&o, "cleanedCount", k->ended - 1);
    cf_send(&k->call, 200, &o);
}

static void kill_add(struct cf_kill *k, struct process *p)
{
    k->open++;
    process_terminate(p, -1, "api", kill_on_end, k);
}

void cf_process_kill(struct cf_request *q)
{
    struct process *p = process_of(q);
    struct cf_kill *k;
    char text[200];

    if (p == NULL)
        return;
    if (!process_is_running(p)) {
        snprintf(text, sizeof text, "Process %.150s has already ended",
                 router_param_get(&q->match, "id"));
        cf_fail_about(cf_call(q), 404, "COMMAND_NOT_FOUND", text, "processId",
                      router_param_get(&q->match, "id"));
        return;
    }
    k = cf_begin(q, &kill_kind, sizeof *k);
    k->one = process_ref(p);
    kill_add(k, p);
}

/* Terminals are not processes in the platform's sense, and the shells of sessions even less so. */
void cf_process_kill_all(struct cf_request *q)
{
    struct cf_kill *k = cf_begin(q, &kill_kind, sizeof *k);
    struct process *p = NULL;

    k->open = 1; /* for this loop, so that it does not finish before */
    while ((p = engine_next(q->cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && !v.pty && !cf_is_shell(q->cf, p))
            kill_add(k, p);
    }
    kill_on_end(k, NULL, NULL);
}
