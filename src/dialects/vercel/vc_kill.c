/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_kill.c - POST …/cmd/{id}/kill
 *
 * KILL terminates the whole tree, and the reply waits for that. TERM and HUP are sent to the whole
 * tree, so that no child survives; other signals go to the group. A command that has already ended
 * gets none. Layer: dialects.
 */
#include <signal.h>

#include "dialects/common/end_call.h"
#include "dialects/common/request_checks.h"
#include "dialects/vercel/vercel.h"

/* It may have ended just now: that is a success. */
static void kill_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    if (rq == NULL)
        return;
    if (err != NULL && err->code != HF_E_not_running)
        http_reply_error(rq, err);
    else
        vc_reply_command(rq, e->process);
}

static void send_signal(struct http_request *rq, struct process *p, int signum)
{
    struct end_call *e = end_call_begin(rq, kill_done, sizeof *e);
    bool ends = signum == SIGTERM || signum == SIGHUP;

    if (signum == SIGKILL)
        end_call_terminate(e, p, 0);
    else
        end_call_send(e, p, signum, ends ? TARGET_TREE : TARGET_GROUP);
    end_call_wait(e);
}

void vc_kill(struct http_request *rq)
{
    struct process *p = vc_command(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    int signum;

    if (body == NULL)
        return;
    if (vc_decode_signal(body, &signum, &err) < 0 ||
        check_signal_role(signum, http_role(rq), &err) < 0)
        vc_error(rq, &err);
    else if (!process_is_running(p))
        vc_reply_command(rq, p);
    else
        send_signal(rq, p, signum);
}
