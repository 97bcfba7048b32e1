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
    struct call call;
    int signum;
    enum signal_target target;
};

static const struct call_kind sending_kind = {.stays = true};

static void sending_on_done(void *arg, int rc, const struct hf_error *err)
{
    struct signal_process_sending *s = arg;
    struct json_out o;

    if (rc < 0) {
        call_fail(&s->call, err);
        return;
    }
    o = dialect_reply_open(s->call.base);
    json_kstr(&o, "signal", signal_name(s->signum));
    json_kstr(&o, "target", check_signal_target_name(s->target));
    call_send(&s->call, 200, &o);
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

int signal_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    enum signal_target target;
    struct signal_process_sending *s;
    int signum, rc;

    if (signal_decode(rq, &signum, &target, err) < 0)
        return -1;
    s = call_begin(rq, &sending_kind, sizeof *s);
    s->signum = signum;
    s->target = target;
    rc = process_signal(p, signum, target, sending_on_done, s, err);
    if (rc < 0)
        call_end(&s->call);
    return rc;
}
