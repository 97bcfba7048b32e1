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

#include "base/mem.h"
#include "dialects/common/console.h"
#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"

struct dt_follow {
    struct list link; /* in dt.follows */
    struct dt *dt;
    struct console *console; /* of the shell's process, once the command has started */
    char *session, *id;
    uint64_t to;      /* where its output ends, if `ended` */
    bool live, ended; /* live; else only what there is now */
    bool plain;       /* no markers */
};

static void follow_free(struct dt_follow *f)
{
    list_remove(&f->link);
    free(f->session);
    free(f->id);
    free(f);
}

static void follow_close(struct dt_follow *f)
{
    console_close(f->console, 1000, "");
}

/* --- to the client ------------------------------------------------------------------------ */

static void send_run(struct dt_follow *f, enum stream stream, const char *bytes, size_t len)
{
    struct iovec iov[2] = {
        {(void *)(uintptr_t)(stream == STREAM_STDERR ? "\2\2\2" : "\1\1\1"), 3},
        {(void *)(uintptr_t)bytes, len},
    };

    if (len > 0)
        ws_send(console_ws(f->console), WS_BINARY, f->plain ? iov + 1 : iov, f->plain ? 1 : 2);
}

/* Later commands write to the same journal. */
static void follow_bytes(struct console *c, const struct slice *s)
{
    struct dt_follow *f = console_user(c);
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

static void follow_gap(struct console *c, uint64_t from, uint64_t to)
{
    struct dt_follow *f = console_user(c);
    bool last = f->ended && to >= f->to;

    if (last)
        to = f->to > from ? f->to : from;
    if (to > from)
        send_gap(f, to - from);
    if (last)
        follow_close(f);
}

/* The shell has exited: no more output can come. */
static void follow_exited(struct console *c, const struct exit_record *x)
{
    (void)x;
    follow_close(console_user(c));
}

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
    struct process *p = engine_find(f->dt->base.engine, c->begin.process_id, NULL);
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = c->begin.from,
        .internal = true,
        .only_stream = -1,
        .slice_bytes = DT_FRAME_BYTES - 3,
    };
    struct hf_error err;

    if (p == NULL) {
        follow_remains(f, c);
        return;
    }
    if (!f->live && !c->ended) {
        f->ended = true;
        f->to = journal_next(process_journal(p));
    }
    if (console_begin(f->console, p, &o, &err) < 0)
        follow_close(f);
}

static void follow_check(struct dt_follow *f)
{
    const struct viewer *v = console_viewer(f->console);
    struct dt_command c;

    if (console_is_closing(f->console))
        return;
    if (!dt_command_find(f->dt, f->session, f->id, &c)) {
        /* Deleted: the end of the shell is the end of the command, if it had started. */
        if (v == NULL)
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
    if (v == NULL)
        follow_attach(f, &c.log);
    v = console_viewer(f->console);
    if (v != NULL && f->ended && viewer_offset(v) >= f->to)
        follow_close(f);
}

void dt_follows_check(struct dt *dt)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &dt->follows)
        follow_check(list_entry(it, struct dt_follow, link));
}

/* --- the connection --------------------------------------------------------------------------- */

static void ignore_text(struct console *c, const char *text, size_t len)
{
    (void)c, (void)text, (void)len;
}

static size_t ignore_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)c, (void)bytes, (void)last;
    return len;
}

static void follow_closed(struct console *c, int code)
{
    (void)code;
    follow_free(console_user(c));
}

static const struct console_ops follow_ops = {
    .bytes = follow_bytes,
    .gap = follow_gap,
    .exited = follow_exited,
    .text = ignore_text,
    .binary = ignore_binary,
    .closed = follow_closed,
};

void dt_follow(struct http_request *rq, const struct dt_command *c)
{
    char protocol[DT_PROTOCOL_BYTES];
    struct dt *dt = dt_of(rq);
    struct console_open o = {.viewer = {.read_only = true}, .ops = &follow_ops};
    struct hf_error err;
    struct dt_follow *f;

    if (!dt_upgrade_ok(rq))
        return;
    f = hf_xalloc(sizeof *f);
    f->dt = dt;
    f->session = hf_xstrdup(session_id(c->session));
    f->id = hf_xstrdup(c->id);
    f->live = dialect_query_flag(rq, "follow");
    f->plain = dt_split_of(rq) == DT_STRIPPED;
    list_append(&dt->follows, &f->link);
    o.user = f;
    o.protocol = dt_protocol(rq, protocol);
    f->console = console_open(rq, &o, &err);
    if (f->console != NULL)
        follow_check(f);
    else
        follow_free(f);
}
