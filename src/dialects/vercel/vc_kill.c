/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_kill.c - POST …/cmd/{id}/kill
 *
 * KILL terminates the whole tree, and the reply waits for that. TERM and HUP are sent to the whole
 * tree, so that no child survives; other signals go to the group. A command that has already ended
 * gets none. Layer: dialects.
 */
#include <signal.h>

#include "dialects/common/request_checks.h"
#include "dialects/vercel/vercel.h"

struct vc_kill_act {
    struct call call;
    struct process *process; /* referenced */
};

static void act_release(struct call *c)
{
    process_unref(((struct vc_kill_act *)c)->process);
}

/* The keeper replies soon. */
static const struct call_kind act_kind = {.release = act_release, .stays = true};

static struct vc_kill_act *act_new(struct http_request *rq, struct process *p)
{
    struct vc_kill_act *a = call_begin(rq, &act_kind, sizeof *a);

    a->process = process_ref(p);
    return a;
}

/* It may have ended just now: that is a success. */
static void act_reply(struct vc_kill_act *a, const struct hf_error *err)
{
    if (err != NULL && err->code != HF_E_not_running) {
        call_fail(&a->call, err);
        return;
    }
    if (a->call.rq != NULL)
        vc_reply_command(a->call.rq, a->process);
    a->call.rq = NULL; /* replied */
    call_end(&a->call);
}

static void on_ended(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    act_reply(arg, NULL);
}

static void on_signalled(void *arg, int rc, const struct hf_error *err)
{
    act_reply(arg, rc < 0 ? err : NULL);
}

static void send_signal(struct http_request *rq, struct process *p, int signum)
{
    bool ends = signum == SIGTERM || signum == SIGHUP;
    struct vc_kill_act *a = act_new(rq, p);
    struct hf_error err = {0};

    if (signum == SIGKILL)
        process_terminate(p, 0, "api", on_ended, a);
    else if (process_signal(p, signum, ends ? TARGET_TREE : TARGET_GROUP, on_signalled, a, &err) <
             0)
        act_reply(a, &err);
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
