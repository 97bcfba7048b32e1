/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_listen.c - Listen: the output that is held, live output, titles, then the exit
 *
 * A viewer is an offset, so a client that does not read delays no other. The program's name is
 * polled while a client listens, as in the original. The protocol has no message for output that a
 * slow reader has missed, so its stream ends with an error instead of continuing silently: the next
 * Listen begins with all that is held. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/gitpod/gitpod.h"
#include "engine/stream/viewer.h"

struct listen {
    struct pending pending;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct http_stream *out; /* NULL: not started, or over */
    struct timer *timer;
    uint64_t until_ms; /* 0: none */
    struct gitpod_title title;
    bool title_sent; /* the title was sent at least once */
    bool begun;
    bool json;
};

static void listen_free(struct pending *p)
{
    struct listen *l = list_entry(p, struct listen, pending);

    viewer_detach(l->viewer);
    timer_close(l->timer);
    process_unref(l->process);
    pending_fini(p);
    free(l);
}

/* --- messages ----------------------------------------------------------------------------- */

static void send_line(struct listen *l, struct json_out *o)
{
    json_close(o, '}');
    json_close(o, '}');
    buf_putc(o->buf, '\n');
    http_stream_write(l->out, &(struct iovec){buf_data(o->buf), o->buf->len}, 1);
    buf_fini(o->buf);
}

static struct json_out begin_line(struct buf *text)
{
    struct json_out o;

    json_out_init(&o, text);
    json_open(&o, '{');
    json_key(&o, "result");
    json_open(&o, '{');
    return o;
}

/* A tag and a length precede the bytes, which are not copied. */
static void send_bytes(struct listen *l, uint32_t number, const void *bytes, size_t len)
{
    char head[GRPC_HEAD_BYTES + 12];
    size_t n = GRPC_HEAD_BYTES;
    struct iovec iov[] = {{head, 0}, {(void *)(uintptr_t)bytes, len}};

    n += pb_varint(head + n, (uint64_t)number << 3 | 2);
    n += pb_varint(head + n, len);
    gitpod_head(head, n - GRPC_HEAD_BYTES + len);
    iov[0].iov_len = n;
    http_stream_write(l->out, iov, 2);
}

static void send_wire(struct listen *l, const struct buf *wire)
{
    char head[GRPC_HEAD_BYTES];
    struct iovec iov[] = {{head, sizeof head}, {buf_data(wire), wire->len}};

    gitpod_head(head, wire->len);
    http_stream_write(l->out, iov, 2);
}

static void send_data(struct listen *l, const struct slice *s)
{
    struct buf text = {0};
    struct json_out o;

    if (!l->json) {
        send_bytes(l, 1, s->bytes, s->len);
        return;
    }
    o = begin_line(&text);
    json_key(&o, "data");
    json_raw(&o, "\"", 1);
    base64_encode(&text, s->bytes, s->len);
    buf_putc(&text, '"');
    json_kstr(&o, "titleSource", "process");
    send_line(l, &o);
}

static void send_title(struct listen *l)
{
    struct buf text = {0};
    struct json_out o;

    if (l->json) {
        o = begin_line(&text);
        json_kstr(&o, "title", l->title.text);
        json_kstr(&o, "titleSource", l->title.api ? "api" : "process");
        send_line(l, &o);
        return;
    }
    pb_put_bytes(&text, 3, l->title.text, strlen(l->title.text));
    if (l->title.api)
        pb_put_number(&text, 4, 1);
    send_wire(l, &text);
    buf_fini(&text);
}

static void send_exit(struct listen *l, int code)
{
    struct buf text = {0};
    struct json_out o;

    if (l->json) {
        o = begin_line(&text);
        json_kint(&o, "exitCode", code);
        json_kstr(&o, "titleSource", "process");
        send_line(l, &o);
        return;
    }
    pb_put_number(&text, 2, (uint64_t)code);
    send_wire(l, &text);
    buf_fini(&text);
}

/* --- termination ----------------------------------------------------------------------------- */

static void listen_end(struct listen *l, enum grpc_code code, const char *why)
{
    struct buf text = {0};
    struct json_out o;

    if (!l->json) {
        gitpod_trailers(l->out, code, why);
    } else if (code != GRPC_OK) {
        json_out_init(&o, &text);
        json_open(&o, '{');
        json_key(&o, "error");
        gitpod_write_status(&o, code, why);
        json_close(&o, '}');
        buf_putc(&text, '\n');
        http_stream_write(l->out, &(struct iovec){buf_data(&text), text.len}, 1);
        buf_fini(&text);
    }
    http_stream_end(l->out);
    listen_free(&l->pending);
}

static void listen_drain(struct pending *p)
{
    listen_end(list_entry(p, struct listen, pending), GRPC_UNAVAILABLE,
               "the daemon is shutting down; listen again");
}

static const struct pending_kind listen_kind = {.drain = listen_drain, .free = listen_free};

/* --- titles ----------------------------------------------------------------------------------- */

static void update_title(struct listen *l)
{
    struct gitpod_title now;

    if (!http_stream_ready(l->out))
        return; /* the next poll */
    gitpod_title(l->process, &now);
    if (l->title_sent && now.api == l->title.api && strcmp(now.text, l->title.text) == 0)
        return;
    l->title = now;
    l->title_sent = true;
    send_title(l);
}

static void listen_on_timer(struct timer *t, void *arg)
{
    struct listen *l = arg;
    uint64_t now = loop_now_ms(engine_loop(process_engine(l->process))), next = GITPOD_TITLE_MS;

    if (l->until_ms != 0 && now >= l->until_ms) {
        listen_end(l, GRPC_DEADLINE_EXCEEDED, "the deadline of the call has passed");
        return;
    }
    update_title(l);
    if (l->until_ms != 0 && l->until_ms - now < next)
        next = l->until_ms - now;
    timer_start(t, next);
}

/* --- viewer callbacks ------------------------------------------------------------------------- */

static bool listen_ready(void *arg)
{
    const struct listen *l = arg;

    return l->out != NULL && http_stream_ready(l->out);
}

static void listen_bytes(void *arg, const struct slice *s)
{
    struct listen *l = arg;

    l->begun = true;
    send_data(l, s);
}

/*
 * Output that was lost before the start is not reported: that is how far back the daemon holds
 * output.
 */
static void listen_gap(void *arg, uint64_t from, uint64_t to)
{
    struct listen *l = arg;

    (void)from, (void)to;
    if (l->begun)
        listen_end(l, GRPC_INTERNAL, "read timeout: output was missed; listen again");
}

static bool is_forced(struct process *p)
{
    struct process_view v;
    json_t *meta;
    bool forced;

    process_view(p, &v);
    meta = gitpod_meta(&v);
    forced = json_is_true(json_object_get(json_object_get(meta, "gitpod"), "force_success"));
    json_decref(meta);
    return forced;
}

static void listen_exited(void *arg, const struct exit_record *x)
{
    struct listen *l = arg;

    if (x->exit_code < 0) {
        listen_end(l, GRPC_INTERNAL, "the terminal's exit status is unknown");
        return;
    }
    send_exit(l, is_forced(l->process) ? 0 : x->exit_code);
    listen_end(l, GRPC_OK, NULL);
}

static const struct viewer_ops viewer_ops = {
    .ready = listen_ready,
    .bytes = listen_bytes,
    .gap = listen_gap,
    .exited = listen_exited,
};

/* --- connection callbacks --------------------------------------------------------------------- */

static void listen_on_room(void *arg)
{
    viewer_pump(((struct listen *)arg)->viewer);
}

static void listen_on_disconnect(void *arg)
{
    listen_free(&((struct listen *)arg)->pending);
}

static const struct http_stream_ops out_ops = {.on_drain = listen_on_room,
                                               .on_disconnect = listen_on_disconnect};

/* --- the call --------------------------------------------------------------------------------- */

/* A client that may type shows the output on a terminal, which replies to the programs' queries. */
static int attach(struct listen *l, const struct http_request *rq, struct hf_error *err)
{
    const bool types = http_role(rq) >= ROLE_TYPE;
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .role = types ? VIEWER_TYPE : VIEWER_WATCH,
        .read_only = !types,
        .guest = caller_is_guest(rq),
        .terminal = types,
        .name = http_peer(rq),
        .only_stream = -1,
        .slice_bytes = GITPOD_DATA_BYTES,
    };

    return viewer_attach(l->process, &o, &viewer_ops, l, &l->viewer, err);
}

void gitpod_listen(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_alias_request);
    struct process *p =
        message == NULL ? NULL : gitpod_find(rq, message, false, "terminal not found");
    struct hf_error err = {0};
    struct listen *l;

    if (p == NULL)
        return;
    l = hf_xalloc(sizeof *l);
    l->process = process_ref(p);
    l->json = gitpod_is_json(rq);
    l->until_ms = gitpod_deadline(rq);
    pending_init(&l->pending, &gitpod_of(rq)->pending, &listen_kind);
    if (attach(l, rq, &err) < 0) {
        listen_free(&l->pending);
        gitpod_error(rq, &err);
        return;
    }
    l->timer = timer_new(gitpod_of(rq)->loop, listen_on_timer, l);
    l->out = http_stream_start(rq, 200, l->json ? "application/json" : GRPC_TYPE, &out_ops, l);
    listen_on_timer(l->timer, l);
}
