/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_input.c - SendInput and CloseStdin: replies when all of the input is in the process's queue
 *
 * The bytes of one call stay together (dialects/common/input_call.h). Layer: dialects.
 */
#include "dialects/e2b/e2b_input.h"

/* --- the kind of input --------------------------------------------------------------- */

const json_t *e2b_input_bytes(struct process *p, const json_t *input, const char **code,
                              const char **why)
{
    const json_t *in = json_object_get(input, "stdin"), *pty = json_object_get(input, "pty");
    struct process_view v;

    process_view(p, &v);
    *code = "internal";
    if (in == NULL && pty == NULL) {
        *code = "unimplemented";
        *why = "set either stdin or pty";
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

/* --- SendInput and CloseStdin ----------------------------------------------------------- */

static void reply(struct http_request *rq)
{
    struct rpc_form form;

    if (e2b_rpc_form_of(http_header(rq, "Content-Type"), false, &form))
        e2b_rpc_reply_empty(rq, form.codec);
}

static void on_typed(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    (void)taken;
    if (err != NULL)
        e2b_rpc_fail(rq, e2b_rpc_code(err), e2b_input_refusal(err));
    else
        reply(rq);
}

void e2b_send_input(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_input_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    struct buf typed = {0};
    const char *code, *why;
    const json_t *bytes;

    if (p == NULL)
        return;
    bytes = e2b_input_bytes(p, json_object_get(message, "input"), &code, &why);
    if (bytes == NULL) {
        e2b_rpc_fail(rq, code, why);
        return;
    }
    buf_put(&typed, json_string_value(bytes), json_string_length(bytes));
    input_call_take(&dialect_base_of(rq)->typing, rq, p, &typed, false, on_typed);
}

static void on_closed(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    (void)taken;
    if (err != NULL && err->code != HF_E_stdin_closed)
        e2b_rpc_error(rq, err);
    else
        reply(rq); /* closing what is already closed is not an error */
}

/* After pending input: the end must not cut it off. */
void e2b_close_stdin(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_select_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    struct process_view v;
    struct buf none = {0};

    if (p == NULL)
        return;
    process_view(p, &v);
    if (v.pty)
        e2b_rpc_fail(rq, "unknown", "a terminal has no end; send its EOF character, 0x04");
    else
        input_call_take(&dialect_base_of(rq)->typing, rq, p, &none, true, on_closed);
}
