/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal.c - POST /v1/processes/{id}/signal. Layer: dialects.
 */
#include "base/mem.h"
#include "base/signals.h"
#include "dialects/native/answer.h"
#include "dialects/native/ask.h"
#include "dialects/native/handlers.h"

struct body {
    json_t *signal;
    const char *target;
};

static const struct json_field body_fields[] = {
    JSON_FIELD(ANY, struct body, signal, .required = true),
    JSON_FIELD(STR, struct body, target),
};

struct sending {
    struct op op;
    struct http_request *rq; /* NULL: the client has gone */
    int signum;
    enum signal_target target;
};

static void sending_on_free(struct op *op)
{
    struct sending *s = list_entry(op, struct sending, op);

    op_fini(op);
    free(s);
}

static const struct op_kind sending_kind = {.on_drain = NULL, .on_free = sending_on_free};

static void sending_on_gone(void *user)
{
    struct sending *s = user;

    s->rq = NULL;
}

static void sending_answer(const struct sending *s)
{
    struct json_out o = answer_open(s->op.native);

    json_kstr(&o, "signal", signal_name(s->signum));
    json_kstr(&o, "target", signal_target_name(s->target));
    answer_send(s->rq, 200, &o);
}

static void sending_on_done(void *arg, int rc, const struct hf_error *err)
{
    struct sending *s = arg;

    if (s->rq != NULL && rc < 0)
        http_reply_error(s->rq, err);
    else if (s->rq != NULL)
        sending_answer(s);
    sending_on_free(&s->op);
}

static int signal_ask(struct http_request *rq, int *signum, enum signal_target *target,
                      struct hf_error *err)
{
    json_auto_t *tree = ask_json(rq, err);
    struct body b = {0};

    if (tree == NULL || json_decode(tree, body_fields, 2, &b, err) < 0 ||
        signal_decode(b.signal, b.target, signum, target, err) < 0)
        return -1;
    return signal_check_role(*signum, http_role(rq), err);
}

void signal_handle(struct http_request *rq)
{
    struct process *p = ask_process(rq);
    enum signal_target target;
    struct sending *s;
    struct hf_error err;
    int signum;

    if (p == NULL)
        return;
    if (signal_ask(rq, &signum, &target, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    s = hf_xalloc(sizeof *s);
    op_init(&s->op, native_of(rq), &sending_kind);
    s->rq = rq;
    s->signum = signum;
    s->target = target;
    http_set_user(rq, s, sending_on_gone);
    if (process_signal(p, signum, target, sending_on_done, s, &err) < 0) {
        http_set_user(rq, NULL, NULL);
        sending_on_free(&s->op);
        http_reply_error(rq, &err);
    }
}
