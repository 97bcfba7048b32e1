/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_stream.c - streams the output of a process as server-sent events. Layer: dialects.
 */
#include "dialects/common/run_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "dialects/common/caller.h"
#include "transport/sse.h"

static void stream_free(struct pending *p)
{
    struct run_stream *r = list_entry(p, struct run_stream, pending);

    viewer_detach(r->viewer);
    process_unref(r->process);
    pending_fini(p);
    free(r);
}

static void stream_end(struct run_stream *r)
{
    http_stream_end(r->out);
    stream_free(&r->pending);
}

/* If no event can be sent, as in the middle of the final events, abort the connection: to clients,
 * a stream that ends cleanly means that the process has ended. */
static void stream_drain(struct pending *p)
{
    struct run_stream *r = list_entry(p, struct run_stream, pending);

    if (r->viewer != NULL && r->ops->going != NULL) {
        r->ops->going(r);
        stream_end(r);
    } else {
        http_stream_abort(r->out);
        stream_free(p);
    }
}

static const struct pending_kind stream_kind = {.drain = stream_drain, .free = stream_free};

void run_stream_send(struct run_stream *r, const char *event, uint64_t id, const struct buf *data)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    sse_send(r->out, event, id > 0 ? text : NULL, buf_data(data), data->len);
}

/* --- viewer callbacks -------------------------------------------------------------------- */

static bool stream_ready(void *arg)
{
    struct run_stream *r = arg;

    return r->out != NULL && http_stream_ready(r->out);
}

static void stream_bytes(void *arg, const struct slice *s)
{
    struct run_stream *r = arg;

    r->ops->run(r, s);
}

/* The next number shows the gap. */
static void stream_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

/* What follows may be one event in many pieces, so no comment may come between them. */
static void stream_pump_end(struct run_stream *r)
{
    http_stream_keep_alive(r->out, NULL, 0);
    if (r->ops->end(r))
        stream_end(r);
}

static void stream_exited(void *arg, const struct exit_record *x)
{
    struct run_stream *r = arg;

    (void)x;
    viewer_detach(r->viewer);
    r->viewer = NULL;
    stream_pump_end(r);
}

static const struct viewer_ops viewer_ops = {
    .ready = stream_ready,
    .bytes = stream_bytes,
    .gap = stream_gap,
    .exited = stream_exited,
};

/* --- connection callbacks ---------------------------------------------------------------- */

static void stream_on_room(void *arg)
{
    struct run_stream *r = arg;

    if (r->viewer != NULL)
        viewer_pump(r->viewer);
    else
        stream_pump_end(r);
}

static void stream_on_disconnect(void *arg)
{
    stream_free(&((struct run_stream *)arg)->pending);
}

static const struct http_stream_ops out_ops = {.on_drain = stream_on_room,
                                               .on_disconnect = stream_on_disconnect};

int run_stream_begin(struct run_stream *r, const struct run_stream_ops *ops,
                     struct http_request *rq, struct process *p, uint64_t run, struct list *pending,
                     struct hf_error *err)
{
    const struct viewer_options o = {.since = SINCE_OFFSET,
                                     .offset = run,
                                     .runs = true,
                                     .read_only = true,
                                     .guest = caller_is_guest(rq),
                                     .name = http_peer(rq),
                                     .only_stream = -1};
    int rc;

    r->ops = ops;
    r->process = process_ref(p);
    pending_init(&r->pending, pending, &stream_kind);
    rc = viewer_attach(p, &o, &viewer_ops, r, &r->viewer, err);
    if (rc < 0) {
        stream_free(&r->pending);
        return rc;
    }
    http_add_header(rq, "Cache-Control", "no-cache");
    r->out = sse_start(rq, &out_ops, r);
    return 0;
}
