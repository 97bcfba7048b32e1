/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/common/typing.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/pending.h"

struct typing {
    struct pending pending;
    struct http_request *rq;
    struct process *process; /* referenced */
    struct input_waiter waiter;
    struct buf bytes;
    size_t taken;
    bool eof;
    typing_fn *done;
};

static void typing_free(struct pending *p)
{
    struct typing *t = list_entry(p, struct typing, pending);

    input_waiter_cancel(&t->waiter);
    process_unref(t->process);
    buf_fini(&t->bytes);
    pending_fini(p);
    free(t);
}

static void typing_end(struct typing *t, const struct hf_error *err)
{
    struct http_request *rq = t->rq;
    typing_fn *done = t->done;
    size_t taken = t->taken;

    http_set_user(rq, NULL, NULL);
    typing_free(&t->pending);
    done(rq, taken, err);
}

static void typing_step(void *arg)
{
    struct typing *t = arg;
    struct hf_error err;

    while (t->taken < t->bytes.len) {
        ssize_t n = process_input(t->process, buf_data(&t->bytes) + t->taken,
                                  t->bytes.len - t->taken, &err);

        if (n < 0) {
            typing_end(t, &err);
            return;
        }
        t->taken += (size_t)n;
        if (n == 0) {
            process_wait_for_room(t->process, &t->waiter);
            return;
        }
    }
    if (t->eof && process_input_eof(t->process, &err) < 0)
        typing_end(t, &err);
    else
        typing_end(t, NULL);
}

/* What was not taken goes with the client. */
static void typing_on_gone(void *user)
{
    typing_free(&((struct typing *)user)->pending);
}

/* What has been taken was taken: the answer may say how much. */
static void typing_drain(struct pending *p)
{
    typing_end(list_entry(p, struct typing, pending), NULL);
}

static const struct pending_kind typing_kind = {.drain = typing_drain, .free = typing_free};

void typing_take(struct http_request *rq, struct process *p, struct buf *bytes, bool eof,
                 struct list *pending, typing_fn *done)
{
    struct typing *t = hf_xalloc(sizeof *t);

    t->rq = rq;
    t->process = process_ref(p);
    t->bytes = *bytes;
    *bytes = (struct buf){0};
    t->eof = eof;
    t->done = done;
    list_init(&t->waiter.link);
    t->waiter.fn = typing_step;
    t->waiter.arg = t;
    pending_init(&t->pending, pending, &typing_kind);
    http_set_user(rq, t, typing_on_gone);
    typing_step(t);
}
