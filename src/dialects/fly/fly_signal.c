/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_signal.c - POST …/machines/ID/signal: to all that this dialect has started
 *
 * The original signals the machine's main process. Here that is the daemon, which is shared and
 * must keep running. Layer: dialects.
 */
#include <signal.h>

#include "dialects/common/request_checks.h"
#include "dialects/fly/fly.h"

/* A process that has ended in between is not an error: the request named none. */
static void send_to_all(struct engine *e, int signum)
{
    struct process *p = NULL;
    struct process_view v;

    while ((p = engine_next(e, p)) != NULL) {
        process_view(p, &v);
        if (v.running && fly_is_mine(&v))
            (void)process_signal(p, signum, check_signal_target_for(signum, p), NULL, NULL, NULL);
    }
}

void fly_machine_signal(struct http_request *rq)
{
    json_auto_t *body = fly_machine(rq) ? dialect_body(rq) : NULL;
    enum signal_target target;
    struct hf_error err = {0};
    struct json_out o;
    int signum;

    if (body == NULL)
        return;
    if (check_signal_decode(json_object_get(body, "signal"), NULL, &signum, &target, &err) < 0 ||
        check_signal_role(signum, http_role(rq), &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    send_to_all(dialect_base_of(rq)->engine, signum);
    o = dialect_reply_open(dialect_base_of(rq));
    dialect_reply_send(rq, 200, &o);
}
