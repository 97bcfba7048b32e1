/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_process.c - POST /v1/processes/{id}/signal. Layer: dialects.
 */
#include "base/mem.h"
#include "base/signals.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct signal_process_body {
    json_t *signal;
    const char *target;
};

static const struct json_field body_fields[] = {
    JSON_FIELD(ANY, struct signal_process_body, signal, .required = true),
    JSON_FIELD(STR, struct signal_process_body, target),
};

struct signal_process_sending {
    struct op op;
    struct http_request *rq; /* NULL: the client has disconnected */
    int signum;
    enum signal_target target;
};

static void sending_on_free(struct op *op)
{
    struct signal_process_sending *s = list_entry(op, struct signal_process_sending, op);

    native_op_fini(op);
    free(s);
}

static const struct op_kind sending_kind = {.on_drain = NULL, .on_free = sending_on_free};

static void sending_on_disconnect(void *user)
{
    struct signal_process_sending *s = user;

    s->rq = NULL;
}

static void sending_reply(const struct signal_process_sending *s)
{
    struct json_out o = json_reply_open(s->op.native);

    json_kstr(&o, "signal", signal_name(s->signum));
    json_kstr(&o, "target", check_signal_target_name(s->target));
    json_reply_send(s->rq, 200, &o);
}

static void sending_on_done(void *arg, int rc, const struct hf_error *err)
{
    struct signal_process_sending *s = arg;

    if (s->rq != NULL && rc < 0)
        http_reply_error(s->rq, err);
    else if (s->rq != NULL)
        sending_reply(s);
    sending_on_free(&s->op);
}

static int signal_decode(struct http_request *rq, int *signum, enum signal_target *target,
                         struct hf_error *err)
{
    json_auto_t *tree = native_decode_json(rq, err);
    struct signal_process_body b = {0};

    if (tree == NULL || json_decode(tree, body_fields, 2, &b, err) < 0 ||
        check_signal_decode(b.signal, b.target, signum, target, err) < 0)
        return -1;
    return check_signal_role(*signum, http_role(rq), err);
}

void signal_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    enum signal_target target;
    struct signal_process_sending *s;
    struct hf_error err;
    int signum;

    if (p == NULL)
        return;
    if (signal_decode(rq, &signum, &target, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    s = hf_xalloc(sizeof *s);
    native_op_init(&s->op, native_of(rq), &sending_kind);
    s->rq = rq;
    s->signum = signum;
    s->target = target;
    http_set_user(rq, s, sending_on_disconnect);
    if (process_signal(p, signum, target, sending_on_done, s, &err) < 0) {
        http_set_user(rq, NULL, NULL);
        sending_on_free(&s->op);
        http_reply_error(rq, &err);
    }
}
