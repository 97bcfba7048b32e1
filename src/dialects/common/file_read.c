/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_read.c - requests whose reply is the bytes of a file. Layer: dialects.
 */
#include "dialects/common/file_read.h"

#include <string.h>

#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/file_op.h"
#include "engine/stream/viewer.h"

#define REASON_BYTES 4096 /* of the error message */

struct file_read {
    struct call call;        /* streams from the first byte on */
    struct process *process; /* referenced; NULL until it was started */
    struct viewer *viewer;
    struct buf reason; /* the error message */
    file_read_fn *failed;
    const char *drain_text;
};

/* --- the call -------------------------------------------------------------------------------- */

static void read_release(struct call *c)
{
    struct file_read *r = (struct file_read *)c;

    viewer_detach(r->viewer);
    process_unref(r->process);
    buf_fini(&r->reason);
}

/* No client reads the rest: end the reader, too. */
static void read_leave(struct call *c)
{
    file_op_end(((struct file_read *)c)->process);
}

static void read_drain(struct call *c)
{
    struct hf_error err = {0};

    read_leave(c);
    hf_fail(&err, HF_E_shutting_down, "%s", ((struct file_read *)c)->drain_text);
    if (c->streams)
        call_stream_abort(c);
    else
        call_fail(c, &err);
}

static void read_room(struct call *c)
{
    viewer_pump(((struct file_read *)c)->viewer);
}

/* The engine calls back soon. */
static const struct call_kind starting_kind = {.release = read_release, .stays = true};

static const struct call_kind reading_kind = {
    .release = read_release,
    .disconnected = read_leave,
    .drain = read_drain,
    .room = read_room,
};

/* --- callbacks of the viewer ------------------------------------------------------------------ */

static bool read_ready(void *arg)
{
    const struct file_read *r = arg;

    return !r->call.streams || call_is_ready(&r->call);
}

static void read_write(struct file_read *r, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (len > 0 && r->call.out != NULL)
        http_stream_write(r->call.out, &iov, 1);
}

/* The first line reports that the file could be opened; only then can the reply be a success. */
static void read_head(struct file_read *r, const struct slice *s)
{
    const char *end = memchr(s->bytes, '\n', s->len);

    if (end == NULL)
        return;
    call_stream(&r->call, 200, "application/octet-stream");
    read_write(r, end + 1, s->len - (size_t)(end + 1 - s->bytes));
}

static void read_bytes(void *arg, const struct slice *s)
{
    struct file_read *r = arg;
    size_t room = REASON_BYTES - r->reason.len;

    if (s->stream == STREAM_STDERR)
        buf_put(&r->reason, s->bytes, s->len < room ? s->len : room);
    else if (r->call.streams)
        read_write(r, s->bytes, s->len);
    else
        read_head(r, s);
}

static void read_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to; /* a lossless viewer from 0 on misses nothing */
}

static void read_exited(void *arg, const struct exit_record *x)
{
    struct file_read *r = arg;
    struct process *p = process_ref(r->process);

    if (r->call.streams && x->exit_code == 0) {
        call_stream_end(&r->call);
    } else if (r->call.streams) {
        call_stream_abort(&r->call);
    } else {
        r->failed(call_detach(&r->call), buf_data(&r->reason), r->reason.len);
        call_end(&r->call);
    }
    process_forget(p);
    process_unref(p);
}

static const struct viewer_ops viewer_ops = {
    .ready = read_ready,
    .bytes = read_bytes,
    .gap = read_gap,
    .exited = read_exited,
};

/* --- the start -------------------------------------------------------------------------------- */

static void read_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct file_read *r = arg;
    struct hf_error err = {0};

    r->call.kind = &reading_kind;
    if (p == NULL) {
        call_fail(&r->call, why);
        return;
    }
    r->process = process_ref(p);
    if (r->call.rq == NULL || viewer_attach(p, &o, &viewer_ops, r, &r->viewer, &err) < 0) {
        read_leave(&r->call);
        call_fail(&r->call, &err);
    } else if (r->call.base->draining) { /* the next worker would end the reader in the middle */
        read_drain(&r->call);
    }
}

void file_read_begin(struct http_request *rq, const char *user, const char *path,
                     file_read_fn *failed, const char *drain_text)
{
    struct file_read *r = call_begin(rq, &starting_kind, sizeof *r);
    const char *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;

    r->failed = failed;
    r->drain_text = drain_text;
    file_op_spec(&spec, args, user, "read", path, NULL);
    if (engine_spawn(r->call.base->engine, &spec, read_on_spawned, r, &err) < 0)
        read_on_spawned(r, NULL, &err);
}
