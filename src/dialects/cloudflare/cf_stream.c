/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_stream.c - GET /api/process/{id}/stream: output so far, live output, then the exit
 *
 * Also the events that carry output, which commands use as well. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_launch.h"
#include "engine/stream/viewer.h"

/* --- events with output ----------------------------------------------------------------------- */

static void send_text(struct cf_call *c, bool is_err, const char *text, size_t len,
                      const char *process_id)
{
    struct json_out o = cf_event(c, is_err ? "stderr" : "stdout");

    json_key(&o, "data");
    json_strn(&o, text, len);
    if (process_id != NULL)
        json_kstr(&o, "processId", process_id);
    cf_event_send(c, &o);
}

void cf_send_output(struct cf_call *c, struct cf_text *t, const struct slice *s,
                    const char *process_id)
{
    bool is_err = s->stream == STREAM_STDERR;
    struct buf whole = {0};

    cf_text_feed(t, is_err, s->bytes, s->len, &whole);
    if (whole.len > 0)
        send_text(c, is_err, buf_data(&whole), whole.len, process_id);
    buf_fini(&whole);
}

void cf_send_output_end(struct cf_call *c, struct cf_text *t, const char *process_id)
{
    for (int is_err = 0; is_err < 2; is_err++) {
        struct buf rest = {0};

        cf_text_end(t, is_err, &rest);
        if (rest.len > 0)
            send_text(c, is_err, buf_data(&rest), rest.len, process_id);
        buf_fini(&rest);
    }
}

void cf_send_gap(struct cf_call *c, uint64_t from, uint64_t to, const char *process_id)
{
    char text[100];
    int n = snprintf(text, sizeof text, "[%llu bytes of output are no longer held]\n",
                     (unsigned long long)(to - from));

    send_text(c, true, text, (size_t)n, process_id);
}

/* --- a process -------------------------------------------------------------------------------- */

struct cf_stream_log {
    struct cf_call *call;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct cf_text text;
    char *id;
};

static void log_free(struct cf_stream_log *l)
{
    viewer_detach(l->viewer);
    process_unref(l->process);
    free(l->id);
    free(l);
}

static void log_closed(void *arg, enum cf_close_reason why)
{
    (void)why;
    log_free(arg);
}

static void log_drain(void *arg)
{
    struct cf_stream_log *l = arg;

    viewer_pump(l->viewer);
}

static const struct cf_wait_ops wait_ops = {.closed = log_closed, .drain = log_drain};

static bool log_ready(void *arg)
{
    struct cf_stream_log *l = arg;

    return cf_stream_ready(l->call);
}

static void log_bytes(void *arg, const struct slice *s)
{
    struct cf_stream_log *l = arg;

    cf_send_output(l->call, &l->text, s, l->id);
}

static void log_gap(void *arg, uint64_t from, uint64_t to)
{
    struct cf_stream_log *l = arg;

    cf_send_gap(l->call, from, to, l->id);
}

static void log_exited(void *arg, const struct exit_record *x)
{
    struct cf_stream_log *l = arg;
    struct process_view v;
    struct json_out o;
    char text[80];

    process_view(l->process, &v);
    cf_send_output_end(l->call, &l->text, l->id);
    snprintf(text, sizeof text, "Process %s with exit code %d", cf_process_status(&v),
             x->exit_code);
    o = cf_event(l->call, "exit");
    json_kstr(&o, "processId", l->id);
    json_kint(&o, "exitCode", x->exit_code);
    json_kstr(&o, "data", text);
    cf_event_send(l->call, &o);
    cf_stream_end(l->call);
    log_free(l);
}

static const struct viewer_ops viewer_ops = {
    .ready = log_ready,
    .bytes = log_bytes,
    .gap = log_gap,
    .exited = log_exited,
};

static void log_begin(struct cf_stream_log *l)
{
    struct process_view v;
    struct json_out o;

    process_view(l->process, &v);
    cf_stream_begin(l->call);
    o = cf_event(l->call, "process_info");
    json_kstr(&o, "processId", l->id);
    cf_write_command(&o, "command", &v);
    json_kstr(&o, "status", cf_process_status(&v));
    cf_event_send(l->call, &o);
}

void cf_process_stream(struct cf_call *c)
{
    const struct viewer_options options = {.since = SINCE_OFFSET,
                                           .read_only = true,
                                           .guest = cf_call_role(c) < ROLE_TYPE,
                                           .verbatim = true,
                                           .only_stream = -1};
    struct process *p = cf_process_of(c);
    struct hf_error err;
    struct cf_stream_log *l;

    if (p == NULL)
        return;
    l = hf_xalloc(sizeof *l);
    l->call = c;
    l->process = process_ref(p);
    l->id = hf_xstrdup(cf_process_id(cf_call_cf(c), p));
    if (viewer_attach(p, &options, &viewer_ops, l, &l->viewer, &err) < 0) {
        log_free(l);
        cf_error(c, &err);
        return;
    }
    cf_wait(c, &wait_ops, l);
    log_begin(l);
}
