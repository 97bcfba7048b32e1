/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - SendInput: answered when all of it is in the process's queue
 *
 * The bytes of one call stay together: a second call to the same process begins
 * when the first has been taken whole. Layer: dialects.
 */
#include "dialects/e2b/input.h"

#include <stdlib.h>

#include "base/mem.h"

/* --- the right kind of input --------------------------------------------------------- */

const json_t *e2b_input_bytes(struct process *p, const json_t *input, const char **code,
                              const char **why)
{
    const json_t *in = json_object_get(input, "stdin"), *pty = json_object_get(input, "pty");
    struct process_view v;

    process_view(p, &v);
    *code = "internal";
    if (in == NULL && pty == NULL) {
        *code = "unimplemented";
        *why = "say what the input is: stdin or pty";
    } else if (in != NULL && v.pty) {
        *why = "error writing to stdin: the process has a terminal; send the input as pty";
    } else if (pty != NULL && !v.pty) {
        *why = "error writing to tty: tty not assigned to process; send the input as stdin";
    } else {
        return in != NULL ? in : pty;
    }
    return NULL;
}

const char *e2b_input_refusal(const struct hf_error *err)
{
    return err->code == HF_E_stdin_closed
               ? "error writing to stdin: stdin not enabled or closed; start with stdin: true"
               : err->detail;
}

/* --- SendInput ------------------------------------------------------------------------- */

struct typing {
    struct pending pending;
    struct list link; /* in e2b->typing, in the order they came */
    struct e2b *e2b;
    struct http_request *rq;
    enum rpc_codec codec;
    struct process *process; /* referenced */
    struct input_waiter waiter;
    json_t *bytes;
    size_t taken;
};

static void typing_step(void *arg);

static struct typing *typing_first(struct e2b *e, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->typing) {
        struct typing *t = list_entry(it, struct typing, link);
        if (t->process == p)
            return t;
    }
    return NULL;
}

static void typing_free(struct pending *p)
{
    struct typing *t = list_entry(p, struct typing, pending);

    input_waiter_cancel(&t->waiter);
    list_remove(&t->link);
    process_unref(t->process);
    json_decref(t->bytes);
    pending_fini(p);
    free(t);
}

/* Leaves, and lets the next one of the same process begin. */
static void typing_done(struct typing *t)
{
    struct process *p = process_ref(t->process);
    struct e2b *e = t->e2b;
    struct typing *next;

    typing_free(&t->pending);
    next = typing_first(e, p);
    if (next != NULL && next->taken == 0)
        typing_step(next);
    process_unref(p);
}

static void typing_step(void *arg)
{
    struct typing *t = arg;
    const char *bytes = json_string_value(t->bytes);
    size_t len = json_string_length(t->bytes);

    while (t->taken < len) {
        struct hf_error err;
        ssize_t n = process_input(t->process, bytes + t->taken, len - t->taken, &err);

        if (n < 0) {
            e2b_rpc_fail(t->rq, e2b_rpc_code(&err), e2b_input_refusal(&err));
            typing_done(t);
            return;
        }
        t->taken += (size_t)n;
        if (n == 0) {
            input_waiter_cancel(&t->waiter);
            process_wait_for_room(t->process, &t->waiter);
            return;
        }
    }
    e2b_rpc_reply_empty(t->rq, t->codec);
    typing_done(t);
}

static void typing_on_gone(void *user)
{
    typing_done(user);
}

static void typing_drain(struct pending *p)
{
    struct typing *t = list_entry(p, struct typing, pending);

    e2b_rpc_fail(t->rq, "unavailable", "the daemon is going; not all of the input was taken");
    typing_free(p);
}

static const struct pending_kind typing_kind = {.drain = typing_drain, .free = typing_free};

static void typing_begin(struct http_request *rq, enum rpc_codec codec, struct process *p,
                         const json_t *bytes)
{
    struct e2b *e = e2b_of(rq);
    bool first = typing_first(e, p) == NULL;
    struct typing *t = hf_xalloc(sizeof *t);

    t->e2b = e;
    t->rq = rq;
    t->codec = codec;
    t->process = process_ref(p);
    t->bytes = json_incref((json_t *)(uintptr_t)bytes);
    list_init(&t->waiter.link);
    t->waiter.fn = typing_step;
    t->waiter.arg = t;
    list_append(&e->typing, &t->link);
    pending_init(&t->pending, &e->pending, &typing_kind);
    http_set_user(rq, t, typing_on_gone);
    if (first)
        typing_step(t);
}

void e2b_send_input(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_input_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    const char *code, *why;
    const json_t *bytes;

    if (p == NULL)
        return;
    bytes = e2b_input_bytes(p, json_object_get(message, "input"), &code, &why);
    if (bytes == NULL)
        e2b_rpc_fail(rq, code, why);
    else
        typing_begin(rq, codec, p, bytes);
}
