/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdin_feed.c - delivers input to a process as fast as it accepts it. Layer: dialects.
 */
#include "dialects/common/stdin_feed.h"

#include "engine/stream/lease.h"
#include "engine/stream/viewer.h"

void stdin_feed_init(struct stdin_feed *f, void (*room)(void *arg), void *arg)
{
    *f = (struct stdin_feed){.waiter = {.fn = room, .arg = arg}};
    list_init(&f->waiter.link);
}

void stdin_feed_stop(struct stdin_feed *f)
{
    input_waiter_cancel(&f->waiter);
    f->viewer = NULL;
}

void stdin_feed_fini(struct stdin_feed *f)
{
    stdin_feed_stop(f);
    process_unref(f->process);
    f->process = NULL;
    buf_fini(&f->held);
}

void stdin_feed_bind(struct stdin_feed *f, struct process *p)
{
    process_ref(p);
    process_unref(f->process);
    f->process = p;
}

static ssize_t feed_deliver(struct stdin_feed *f, const void *bytes, size_t len,
                            struct hf_error *err)
{
    if (f->put != NULL)
        return f->put(f, bytes, len, err);
    return f->viewer != NULL ? viewer_input(f->viewer, bytes, len, err)
                             : process_input(f->process, bytes, len, err);
}

/* A source may deliver more while the feed waits already. */
static void feed_wait(struct stdin_feed *f)
{
    input_waiter_cancel(&f->waiter);
    process_wait_for_room(f->process, &f->waiter);
}

ssize_t stdin_feed_put(struct stdin_feed *f, const void *bytes, size_t len, struct hf_error *err)
{
    ssize_t n;

    if (f->process == NULL || len == 0)
        return 0;
    n = feed_deliver(f, bytes, len, err);
    if (n >= 0 && (size_t)n < len)
        feed_wait(f);
    return n;
}

size_t stdin_feed_take(struct stdin_feed *f, const void *bytes, size_t len, bool last)
{
    struct hf_error err;
    ssize_t n = stdin_feed_put(f, bytes, len, &err);

    if (n < 0)
        return len;
    if (last && (size_t)n == len) {
        f->eof = true;
        (void)stdin_feed_flush(f, &err);
    }
    return (size_t)n;
}

void stdin_feed_hold(struct stdin_feed *f, const void *bytes, size_t len)
{
    buf_put(&f->held, bytes, len);
}

static int feed_end(struct stdin_feed *f, struct hf_error *err)
{
    int rc = 0;

    if (f->eof)
        rc = f->viewer != NULL ? viewer_input_eof(f->viewer, err)
                               : process_input_eof(f->process, err);
    f->eof = false;
    return rc < 0 ? rc : 1;
}

int stdin_feed_flush(struct stdin_feed *f, struct hf_error *err)
{
    ssize_t n;

    if (f->process == NULL)
        return 0;
    while (f->held.len > 0) {
        n = feed_deliver(f, buf_data(&f->held), f->held.len, err);
        if (n < 0)
            return (int)n;
        buf_drop(&f->held, (size_t)n);
        if (n == 0) {
            feed_wait(f);
            return 0;
        }
    }
    buf_fini(&f->held); /* frees what a large message used */
    return feed_end(f, err);
}
