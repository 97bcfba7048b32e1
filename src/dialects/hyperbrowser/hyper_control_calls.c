/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_control_calls.c - kill, signal, resize and input
 *
 * A kill without a signal's name kills the whole tree, even an interactive shell, and the reply
 * comes when it has ended. A named signal is just that signal. Layer: dialects.
 */
#include <signal.h>

#include "dialects/common/request_checks.h"
#include "dialects/hyperbrowser/hyper.h"

#define GRACE_MS 1000 /* clients wait 5 s for the end */

struct hyper_control_calls_act {
    struct call call;
    struct process *process; /* referenced */
    bool terminal;           /* the reply is a terminal's */
};

static void act_release(struct call *c)
{
    process_unref(((struct hyper_control_calls_act *)c)->process);
}

/* The keeper replies soon, or the grace period ends soon. */
static const struct call_kind act_kind = {.release = act_release, .stays = true};

static struct hyper_control_calls_act *act_new(struct http_request *rq, struct process *p,
                                               bool terminal)
{
    struct hyper_control_calls_act *a = call_begin(rq, &act_kind, sizeof *a);

    a->process = process_ref(p);
    a->terminal = terminal;
    return a;
}

static void act_reply(struct hyper_control_calls_act *a, const struct hf_error *err)
{
    struct http_request *rq = a->call.rq;

    if (err != NULL) {
        call_fail(&a->call, err);
        return;
    }
    if (rq != NULL && a->terminal)
        hyper_reply_terminal(rq, a->process, false);
    else if (rq != NULL)
        hyper_reply_process(rq, a->process);
    a->call.rq = NULL; /* replied */
    call_end(&a->call);
}

/* --- termination --------------------------------------------------------------------------- */

static void on_ended(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    act_reply(arg, NULL);
}

static void end(struct http_request *rq, struct process *p, bool terminal)
{
    struct hf_error err = {0};

    if (check_signal_role(SIGKILL, http_role(rq), &err) < 0)
        hyper_error(rq, &err);
    else
        process_terminate(p, GRACE_MS, "api", on_ended, act_new(rq, p, terminal));
}

void hyper_kill(struct http_request *rq)
{
    struct process *p = hyper_process(rq);

    if (p != NULL)
        end(rq, p, false);
}

/* --- signals --------------------------------------------------------------------------------- */

static void on_signalled(void *arg, int rc, const struct hf_error *err)
{
    act_reply(arg, rc < 0 ? err : NULL);
}

/*
 * Keyboard signals go to the terminal's foreground group. Fatal signals go to the whole tree, so
 * that no child survives. All others go to the process group.
 */
static enum signal_target target_of(int signum, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    switch (signum) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP: return v.pty ? TARGET_FOREGROUND : TARGET_GROUP;
    case SIGTERM:
    case SIGHUP:
    case SIGKILL: return TARGET_TREE;
    default: return TARGET_GROUP;
    }
}

static void send_signal(struct http_request *rq, struct process *p, int signum, bool terminal)
{
    struct hf_error err = {0};
    struct hyper_control_calls_act *a;

    if (check_signal_role(signum, http_role(rq), &err) < 0) {
        hyper_error(rq, &err);
        return;
    }
    a = act_new(rq, p, terminal);
    if (process_signal(p, signum, target_of(signum, p), on_signalled, a, &err) < 0)
        act_reply(a, &err);
}

static void signal_handle(struct http_request *rq, bool terminal)
{
    struct process *p = hyper_process(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    int signum;

    if (body == NULL)
        return;
    if (hyper_decode_signal(body, &signum, &err) < 0) {
        hyper_error(rq, &err);
    } else if (signum > 0) {
        send_signal(rq, p, signum, terminal);
    } else if (terminal) {
        end(rq, p, true);
    } else {
        hf_fail_field(&err, HF_E_missing_field, "signal", "\"signal\" is required");
        hyper_error(rq, &err);
    }
}

void hyper_signal(struct http_request *rq)
{
    signal_handle(rq, false);
}

void hyper_terminal_kill(struct http_request *rq)
{
    signal_handle(rq, true);
}

/* --- size and input --------------------------------------------------------------------------- */

void hyper_terminal_resize(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    int64_t rows, cols;

    if (body == NULL)
        return;
    if (hyper_decode_size(body, &rows, &cols, &err) < 0 ||
        process_resize(p, rows, cols, "api", &err) < 0)
        hyper_error(rq, &err);
    else
        hyper_reply_terminal(rq, p, false);
}

/* An empty object: clients cannot decode a 204. */
static void on_typed(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    struct json_out o;

    (void)taken;
    if (err != NULL) {
        hyper_error(rq, err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    dialect_reply_send(rq, 200, &o);
}

void hyper_stdin(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct buf bytes = {0};
    struct hf_error err = {0};
    bool eof;

    if (body == NULL)
        return;
    if (hyper_decode_stdin(body, &bytes, &eof, &err) < 0)
        hyper_error(rq, &err);
    else
        input_call_take(&dialect_base_of(rq)->typing, rq, p, &bytes, eof, on_typed);
    buf_fini(&bytes);
}
