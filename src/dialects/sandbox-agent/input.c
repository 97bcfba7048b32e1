/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - POST …/input: answered when all of it is in the process's queue. Layer: dialects.
 */
#include <stdio.h>

#include "dialects/common/typing.h"
#include "dialects/sandbox-agent/agent.h"

static void input_done(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    struct json_out o;

    if (err != NULL) {
        agent_error(rq, err);
        return;
    }
    o = agent_answer(agent_of(rq));
    json_ku64(&o, "bytesWritten", taken);
    agent_send(rq, 200, &o);
}

/* False: answered. */
static bool input_ask(struct http_request *rq, struct buf *bytes)
{
    json_auto_t *body = agent_body(rq);
    int64_t max = agent_of(rq)->config.max_input;
    const char *data = NULL, *encoding = NULL, *wrong;
    char detail[100];

    if (body == NULL || !agent_text(rq, body, "data", true, &data) ||
        !agent_text(rq, body, "encoding", false, &encoding))
        return false;
    wrong = agent_decode(data, json_string_length(json_object_get(body, "data")), encoding,
                         "base64", bytes);
    if (wrong == NULL && bytes->len <= (size_t)max)
        return true;
    snprintf(detail, sizeof detail, "input payload exceeds maxInputBytesPerRequest (%lld)",
             (long long)max);
    agent_invalid(rq, wrong != NULL ? 400 : 413, wrong != NULL ? wrong : detail);
    return false;
}

void agent_input(struct http_request *rq)
{
    struct process *p = agent_process(rq);
    struct buf bytes = {0};

    if (p != NULL && input_ask(rq, &bytes)) {
        if (process_is_running(p))
            typing_take(rq, p, &bytes, false, &agent_of(rq)->pending, input_done);
        else
            agent_conflict(rq, "process is not running");
    }
    buf_fini(&bytes);
}
