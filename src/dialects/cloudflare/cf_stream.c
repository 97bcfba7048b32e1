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
#include "dialects/cloudflare/cf_launch.h"
#include "dialects/cloudflare/cf_process.h"
#include "dialects/common/follow.h"

/* --- events with output ----------------------------------------------------------------------- */

static void send_text(struct call *c, bool is_err, const char *text, size_t len,
                      const char *process_id)
{
    struct json_out o = cf_event(c, is_err ? "stderr" : "stdout");

    json_key(&o, "data");
    json_strn(&o, text, len);
    if (process_id != NULL)
        json_kstr(&o, "processId", process_id);
    cf_event_send(c, &o);
}

void cf_send_output(struct call *c, struct cf_text *t, const struct slice *s,
                    const char *process_id)
{
    bool is_err = s->stream == STREAM_STDERR;
    struct buf whole = {0};

    cf_text_feed(t, is_err, s->bytes, s->len, &whole);
    if (whole.len > 0)
        send_text(c, is_err, buf_data(&whole), whole.len, process_id);
    buf_fini(&whole);
}

void cf_send_output_end(struct call *c, struct cf_text *t, const char *process_id)
{
    for (int is_err = 0; is_err < 2; is_err++) {
        struct buf rest = {0};

        cf_text_end(t, is_err, &rest);
        if (rest.len > 0)
            send_text(c, is_err, buf_data(&rest), rest.len, process_id);
        buf_fini(&rest);
    }
}

void cf_send_gap(struct call *c, uint64_t from, uint64_t to, const char *process_id)
{
    char text[100];
    int n = snprintf(text, sizeof text, "[%llu bytes of output are no longer held]\n",
                     (unsigned long long)(to - from));

    send_text(c, true, text, (size_t)n, process_id);
}

/* --- a process -------------------------------------------------------------------------------- */

struct cf_stream {
    struct follow follow;
    struct cf_text text;
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
    snprintf(text, sizeof text, "Process %s with exit code %d", cf_process_status(&v),
             x->exit_code);
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
    struct process *p = cf_process_of(q);
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
    json_kstr(&o, "status", cf_process_status(&v));
    cf_event_send(q->call, &o);
}
