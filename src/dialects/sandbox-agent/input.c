/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - POST …/input: answered when all of it is in the process's queue. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/sandbox-agent/agent.h"

struct typing {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has gone, and what was not taken with it */
    struct process *process; /* referenced */
    struct input_waiter waiter;
    struct buf bytes;
    size_t taken;
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

static void typing_answer(struct typing *t)
{
    struct json_out o = agent_answer(agent_of(t->rq));

    json_ku64(&o, "bytesWritten", t->taken);
    agent_send(t->rq, 200, &o);
    typing_free(&t->pending);
}

static void typing_step(void *arg)
{
    struct typing *t = arg;

    while (t->taken < t->bytes.len) {
        struct hf_error err;
        ssize_t n = process_input(t->process, buf_data(&t->bytes) + t->taken,
                                  t->bytes.len - t->taken, &err);

        if (n < 0) {
            agent_error(t->rq, &err);
            typing_free(&t->pending);
            return;
        }
        t->taken += (size_t)n;
        if (n == 0) {
            process_wait_for_room(t->process, &t->waiter);
            return;
        }
    }
    typing_answer(t);
}

static void typing_on_gone(void *user)
{
    typing_free(&((struct typing *)user)->pending);
}

/* What has been taken was taken: the answer says how much. */
static void typing_drain(struct pending *p)
{
    typing_answer(list_entry(p, struct typing, pending));
}

static const struct pending_kind typing_kind = {.drain = typing_drain, .free = typing_free};

/* False: answered. */
static bool input_ask(struct http_request *rq, struct buf *bytes)
{
    json_auto_t *body = agent_body(rq);
    int64_t max = agent_of(rq)->config.max_input;
    const char *data = NULL, *encoding = NULL, *wrong;
    char detail[100];

    if (body == NULL || !agent_text(rq, body, "data", true, &data) ||
        !agent_text(rq, body, "encoding", false, &encoding))
        return false;
    wrong = agent_decode(data, json_string_length(json_object_get(body, "data")), encoding,
                         "base64", bytes);
    if (wrong == NULL && bytes->len <= (size_t)max)
        return true;
    snprintf(detail, sizeof detail, "input payload exceeds maxInputBytesPerRequest (%lld)",
             (long long)max);
    agent_invalid(rq, wrong != NULL ? 400 : 413, wrong != NULL ? wrong : detail);
    return false;
}

void agent_input(struct http_request *rq)
{
    struct process *p = agent_process(rq);
    struct buf bytes = {0};
    struct typing *t;

    if (p == NULL)
        return;
    if (!input_ask(rq, &bytes)) {
        buf_fini(&bytes);
        return;
    }
    t = hf_xalloc(sizeof *t);
    t->rq = rq;
    t->process = process_ref(p);
    t->bytes = bytes;
    list_init(&t->waiter.link);
    t->waiter.fn = typing_step;
    t->waiter.arg = t;
    pending_init(&t->pending, &agent_of(rq)->pending, &typing_kind);
    http_set_user(rq, t, typing_on_gone);
    if (process_is_running(p)) {
        typing_step(t);
        return;
    }
    typing_free(&t->pending);
    agent_conflict(rq, "process is not running");
}
