/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_input.c - POST …/command/{c}/input: lines for a running command. Layer: dialects.
 */
#include <string.h>

#include "dialects/daytona/daytona.h"

static void reply_completed(struct http_request *rq)
{
    dt_fail(rq, 410, "COMMAND_ALREADY_COMPLETED", "command %.100s has already completed",
            http_param(rq, "command"));
}

static void input_done(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    (void)taken;
    if (err == NULL)
        http_reply_empty(rq, 204);
    else if (err->code == HF_E_not_running || err->code == HF_E_no_such_session)
        reply_completed(rq);
    else
        dt_error(rq, err);
}

static void type(struct http_request *rq, const struct dt_command *c, const char *data, size_t len)
{
    struct buf bytes = {0};

    buf_put(&bytes, data, len);
    if (len == 0 || data[len - 1] != '\n')
        buf_putc(&bytes, '\n');
    input_call_take_session(&dt_of(rq)->typing, rq, c->session, c->log.begin.number, &bytes,
                            input_done);
}

void dt_input(struct http_request *rq)
{
    json_auto_t *body = dt_body(rq);
    const json_t *data = json_object_get(body, "data");
    struct dt_command c;

    if (body == NULL || !dt_command(rq, &c))
        return;
    if (!json_is_string(data))
        dt_fail(rq, 400, "INVALID_REQUEST_BODY", "data must be a string");
    else if (!c.begun)
        dt_fail(rq, 409, "CONFLICT", "command %.100s has not started yet", c.id);
    else if (c.log.ended)
        reply_completed(rq);
    else
        type(rq, &c, json_string_value(data), json_string_length(data));
}
