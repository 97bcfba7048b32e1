/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_follow.c - GET …/logs as a WebSocket: all output so far, then live output
 *
 * Frames are small and each begins with its own marker, because clients search a frame for markers
 * byte by byte, and fail on a frame of 128 KiB. The session's log says where the command's output
 * ends; it is checked whenever a session changes. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/daytona/daytona.h"
#include "transport/ws.h"

struct dt_follow {
    struct pending pending;
    struct list link; /* in dt.follows */
    struct dt *dt;
    struct ws *ws;
    struct process *process; /* the shell; referenced; NULL: still queued */
    struct viewer *viewer;
    char *session, *id;
    uint64_t to;               /* where its output ends, if `ended` */
    bool live, ended, closing; /* live; else only what there is now */
    bool plain;                /* no markers */
};

static void follow_detach(struct dt_follow *f)
{
    struct viewer *v = f->viewer;

    f->viewer = NULL;
    viewer_detach(v);
}

static void follow_free(struct pending *p)
{
    struct dt_follow *f = list_entry(p, struct dt_follow, pending);

    follow_detach(f);
    list_remove(&f->link);
    if (f->process != NULL)
        process_unref(f->process);
    pending_fini(p);
    free(f->session);
    free(f->id);
    free(f);
}

/* A server that shuts down closes its WebSockets itself, with 1001. */
static const struct pending_kind follow_kind = {.drain = NULL, .free = follow_free};

static void follow_close(struct dt_follow *f)
{
    if (f->closing)
        return;
    f->closing = true;
    follow_detach(f);
    ws_close(f->ws, 1000, "");
}

/* --- to the client ------------------------------------------------------------------------ */

static void send_run(struct dt_follow *f, enum stream stream, const char *bytes, size_t len)
{
    struct iovec iov[2] = {
        {(void *)(uintptr_t)(stream == STREAM_STDERR ? "\2\2\2" : "\1\1\1"), 3},
        {(void *)(uintptr_t)bytes, len},
    };

    if (len > 0)
        ws_send(f->ws, WS_BINARY, f->plain ? iov + 1 : iov, f->plain ? 1 : 2);
}

static bool on_ready(void *arg)
{
    struct dt_follow *f = arg;

    return f->ws != NULL && ws_ready(f->ws);
}

/* Later commands write to the same journal. */
static void on_bytes(void *arg, const struct slice *s)
{
    struct dt_follow *f = arg;
    uint64_t end = s->at + s->len;
    bool last = f->ended && end >= f->to;

    if (last)
        end = f->to > s->at ? f->to : s->at;
    send_run(f, s->stream, s->bytes, (size_t)(end - s->at));
    if (last)
        follow_close(f);
}

/* Never leave a silent gap. */
static void send_gap(struct dt_follow *f, uint64_t missing)
{
    struct buf note = {0};

    buf_printf(&note, "[%llu bytes of output were lost]\n", (unsigned long long)missing);
    send_run(f, STREAM_STDERR, buf_data(&note), note.len);
    buf_fini(&note);
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct dt_follow *f = arg;
    bool last = f->ended && to >= f->to;

    if (last)
        to = f->to > from ? f->to : from;
    if (to > from)
        send_gap(f, to - from);
    if (last)
        follow_close(f);
}

/* The shell has exited: no more output can come. */
static void on_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    follow_close(arg);
}

static const struct viewer_ops viewer_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

/* --- the command's state ---------------------------------------------------------------------- */

/* The shell no longer exists: use what the session's log has. */
static void follow_remains(struct dt_follow *f, const struct session_command *c)
{
    send_run(f, STREAM_STDOUT, c->head.bytes, c->head.len);
    if (c->end.omitted > 0)
        send_gap(f, c->end.omitted);
    send_run(f, STREAM_STDOUT, c->tail.bytes, c->tail.len);
    follow_close(f);
}

static void follow_attach(struct dt_follow *f, const struct session_command *c)
{
    struct process *p = engine_find(f->dt->engine, c->begin.process_id, NULL);
    struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = c->begin.from,
        .internal = true,
        .read_only = true,
        .guest = ws_role(f->ws) < ROLE_TYPE,
        .only_stream = -1,
        .slice_bytes = DT_FRAME_BYTES - 3,
    };

    if (p == NULL) {
        follow_remains(f, c);
        return;
    }
    f->process = process_ref(p);
    if (!f->live && !c->ended) {
        f->ended = true;
        f->to = journal_next(process_journal(p));
    }
    if (viewer_attach(p, &o, &viewer_ops, f, &f->viewer, NULL) < 0)
        follow_close(f);
}

static void follow_check(struct dt_follow *f)
{
    struct dt_command c;

    if (f->closing)
        return;
    if (!dt_command_find(f->dt, f->session, f->id, &c)) {
        /* Deleted: the end of the shell is the end of the command, if it had started. */
        if (f->viewer == NULL)
            follow_close(f);
        return;
    }
    if (!c.begun) {
        if (!f->live)
            follow_close(f);
        return;
    }
    if (c.log.ended && !f->ended) {
        f->ended = true;
        f->to = c.log.end.to;
    }
    if (f->process == NULL)
        follow_attach(f, &c.log);
    if (f->viewer != NULL && f->ended && viewer_offset(f->viewer) >= f->to)
        follow_close(f);
}

void dt_follows_check(struct dt *dt)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &dt->follows)
        follow_check(list_entry(it, struct dt_follow, link));
}

/* --- the connection --------------------------------------------------------------------------- */

static void ignore_text(void *arg, const char *text, size_t len)
{
    (void)arg, (void)text, (void)len;
}

static size_t ignore_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void on_drain(void *arg)
{
    struct dt_follow *f = arg;

    if (f->viewer != NULL)
        viewer_pump(f->viewer);
}

static void on_closed(void *arg, int code)
{
    struct dt_follow *f = arg;

    (void)code;
    follow_free(&f->pending);
}

static const struct ws_ops ws_ops = {
    .on_text = ignore_text,
    .on_binary = ignore_binary,
    .on_drain = on_drain,
    .on_closed = on_closed,
};

void dt_follow(struct http_request *rq, const struct dt_command *c)
{
    const char *live = http_query(rq, "follow");
    char protocol[DT_PROTOCOL_BYTES];
    struct dt *dt = dt_of(rq);
    struct dt_follow *f;

    if (!dt_upgrade_ok(rq))
        return;
    f = hf_xalloc(sizeof *f);
    f->dt = dt;
    f->session = hf_xstrdup(session_id(c->session));
    f->id = hf_xstrdup(c->id);
    f->live = live != NULL && (strcmp(live, "true") == 0 || strcmp(live, "1") == 0);
    f->plain = dt_split_of(rq) == DT_STRIPPED;
    list_append(&dt->follows, &f->link);
    pending_init(&f->pending, &dt->pending, &follow_kind);
    f->ws = ws_accept(rq, dt_protocol(rq, protocol), &ws_ops, f);
    follow_check(f);
}
