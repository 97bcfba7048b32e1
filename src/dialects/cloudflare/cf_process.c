/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_process.c - processes: start, list, get, logs. Any process of the daemon, not only those
 * started here. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_launch.h"

/* --- names and states ---------------------------------------------------------------------- */

/* The client puts ids into paths without escaping, so only plain tags serve as ids. */
static bool is_plain(const char *tag)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-:@!$&'()*+,;=";

    return tag[0] != '\0' && strspn(tag, plain) == strlen(tag);
}

const char *cf_process_id(struct cf *cf, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.tag != NULL && is_plain(v.tag) && cf_find(cf, v.tag) == p ? v.tag : v.id;
}

struct process *cf_process_of(struct cf_call *c)
{
    const char *id = cf_param(c, "id");
    struct process *p = cf_find(cf_call_cf(c), id);
    char text[200];

    if (p != NULL)
        return p;
    snprintf(text, sizeof text, "Process not found: %.150s", id);
    cf_fail_about(c, 404, "PROCESS_NOT_FOUND", text, "processId", id);
    return NULL;
}

const char *cf_process_status(const struct process_view *v)
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
    json_kstr(o, "status", cf_process_status(&v));
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
    struct cf_call *call;
    struct cf_launch *launch;
    bool terminal;
};

static void start_closed(void *arg, enum cf_close_reason why)
{
    struct cf_process_start *s = arg;

    if (why != CF_FREED)
        cf_launch_leave(s->launch, false);
    free(s);
}

static const struct cf_wait_ops start_ops = {.closed = start_closed};

static void start_done(void *arg, struct process *p, const struct hf_error *err)
{
    struct cf_process_start *s = arg;
    struct cf_call *c = s->call;
    bool terminal = s->terminal;
    struct process_view v;
    struct json_out o;

    free(s);
    if (p == NULL) {
        cf_error(c, err);
        return;
    }
    process_view(p, &v);
    o = cf_ok(c);
    json_kstr(&o, terminal ? "terminalId" : "processId", cf_process_id(cf_call_cf(c), p));
    json_kint(&o, "pid", v.pid);
    cf_write_command(&o, "command", &v);
    cf_send(c, 200, &o);
}

static void start_begin(struct cf_call *c, const struct cf_launch_request *a, bool terminal)
{
    struct cf_process_start *s = hf_xalloc(sizeof *s);

    s->call = c;
    s->terminal = terminal;
    cf_wait(c, &start_ops, s);
    cf_launch(cf_call_cf(c), a, start_done, s, &s->launch);
}

static bool decode_tag(struct cf_call *c, const char *name, const char **out)
{
    if (!cf_text(c, name, false, out))
        return false;
    if (*out == NULL || ((*out)[0] != '\0' && strlen(*out) <= LIMIT_TAG_BYTES))
        return true;
    cf_fail_about(c, 400, "VALIDATION_FAILED", "an id must have 1 to 128 bytes", "field", name);
    return false;
}

void cf_process_start(struct cf_call *c)
{
    struct cf_launch_request a = {0};

    if (cf_body(c) == NULL || !cf_text(c, "command", true, &a.command) ||
        !decode_tag(c, "processId", &a.tag) || !cf_text(c, "cwd", false, &a.cwd) ||
        !cf_int(c, "timeoutMs", 0, LIMIT_DURATION_MS, &a.timeout_ms) || !cf_env_object(c, &a.env))
        return;
    a.session = cf_session_id(c);
    if (strcmp(a.session, CF_NO_SESSION) == 0)
        a.session = NULL;
    start_begin(c, &a, false);
}

/* --- terminals of the next generation: created here, watched at /ws/terminal ------------------ */

static bool decode_command(struct cf_call *c, const json_t *body, struct cf_launch_request *a)
{
    const json_t *command = json_object_get(body, "command");

    if (command == NULL || json_is_null(command))
        return true;
    if (json_is_string(command))
        return cf_text(c, "command", true, &a->command);
    a->argv = command;
    if (cf_is_argv(command))
        return true;
    cf_fail(c, 400, "VALIDATION_FAILED", "command must be a string or a list of strings");
    return false;
}

void cf_terminal_create(struct cf_call *c)
{
    const json_t *body = cf_body(c);
    struct cf_launch_request a = {.pty = true, .rows = 24, .cols = 80, .impatient = true};

    if (body == NULL || !decode_command(c, body, &a) || !decode_tag(c, "id", &a.tag) ||
        !cf_text(c, "cwd", false, &a.cwd) || !cf_text(c, "shell", false, &a.shell) ||
        !cf_int(c, "cols", 1, TERMINAL_SIZE_MAX, &a.cols) ||
        !cf_int(c, "rows", 1, TERMINAL_SIZE_MAX, &a.rows) ||
        !cf_int(c, "bufferSize", LIMIT_JOURNAL_MIN_BYTES, LIMIT_JOURNAL_MAX_BYTES,
                &a.history_bytes) ||
        !cf_env_object(c, &a.env))
        return;
    if (json_object_get(body, "sessionId") != NULL)
        a.session = cf_session_id(c);
    start_begin(c, &a, true);
}

/* --- list, get -------------------------------------------------------------------------------- */

void cf_process_list(struct cf_call *c)
{
    struct cf *cf = cf_call_cf(c);
    const char *status = cf_call_query(c, "status");
    struct json_out o = cf_ok(c);
    struct process *p = NULL;

    json_key(&o, "processes");
    json_open(&o, '[');
    while ((p = engine_next(cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (!cf_is_shell(cf, p) && (status == NULL || strcmp(status, cf_process_status(&v)) == 0))
            write_process(cf, &o, p);
    }
    json_close(&o, ']');
    cf_send(c, 200, &o);
}

void cf_process_get(struct cf_call *c)
{
    struct process *p = cf_process_of(c);
    struct json_out o;

    if (p == NULL)
        return;
    o = cf_ok(c);
    json_key(&o, "process");
    write_process(cf_call_cf(c), &o, p);
    cf_send(c, 200, &o);
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

void cf_process_logs(struct cf_call *c)
{
    struct process *p = cf_process_of(c);
    const struct journal *j;
    struct json_out o;
    uint64_t from;

    if (p == NULL)
        return;
    j = process_journal(p);
    from = journal_first(j);
    if (journal_next(j) - from > LIMIT_CF_OUTPUT_BYTES)
        from = journal_next(j) - LIMIT_CF_OUTPUT_BYTES; /* one reply cannot hold a long history */
    o = cf_ok(c);
    json_kstr(&o, "processId", cf_process_id(cf_call_cf(c), p));
    write_stream(&o, "stdout", j, from, false);
    write_stream(&o, "stderr", j, from, true);
    if (from > 0)
        json_ku64(&o, "omittedBytes", from);
    cf_send(c, 200, &o);
}
