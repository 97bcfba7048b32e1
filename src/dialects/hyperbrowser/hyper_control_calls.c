/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_control_calls.c - kill, signal, resize and input
 *
 * A kill without a signal's name kills the whole tree, even an interactive shell, and the reply
 * comes when it has ended. A named signal is just that signal. Layer: dialects.
 */
#include <signal.h>

#include "dialects/common/end_call.h"
#include "dialects/common/input_call.h"
#include "dialects/common/request_checks.h"
#include "dialects/hyperbrowser/hyper.h"

#define GRACE_MS 1000 /* clients wait 5 s for the end */

struct hyper_control_calls_act {
    struct end_call end;
    bool terminal; /* the reply is a terminal's */
};

static void act_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    const struct hyper_control_calls_act *a = list_entry(e, struct hyper_control_calls_act, end);

    if (rq == NULL)
        return;
    if (err != NULL)
        http_reply_error(rq, err);
    else if (a->terminal)
        hyper_reply_terminal(rq, e->process, false);
    else
        hyper_reply_process(rq, e->process);
}

static void act_begin(struct http_request *rq, struct process *p, int signum, bool terminal)
{
    struct hyper_control_calls_act *a;
    struct hf_error err = {0};

    if (check_signal_role(signum > 0 ? signum : SIGKILL, http_role(rq), &err) < 0) {
        hyper_error(rq, &err);
        return;
    }
    a = end_call_begin(rq, act_done, sizeof *a);
    a->terminal = terminal;
    if (signum > 0)
        end_call_send(&a->end, p, signum, check_signal_target_for(signum, p));
    else
        end_call_terminate(&a->end, p, GRACE_MS);
    end_call_wait(&a->end);
}

void hyper_kill(struct http_request *rq)
{
    struct process *p = hyper_process(rq);

    if (p != NULL)
        act_begin(rq, p, 0, false);
}

/* --- signals --------------------------------------------------------------------------------- */

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
    } else if (signum > 0 || terminal) {
        act_begin(rq, p, signum, terminal);
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
        input_call_take(rq, p, &bytes, eof, on_typed);
    buf_fini(&bytes);
}
