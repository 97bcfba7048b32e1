/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_input.c - POST …/input: replies when all of it is in the process's queue. Layer: dialects.
 */
#include "dialects/sandbox-agent/agent.h"

static void input_done(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    struct json_out o;

    if (err != NULL) {
        agent_error(rq, err);
        return;
    }
    o = agent_reply_open(agent_of(rq));
    json_ku64(&o, "bytesWritten", taken);
    agent_send(rq, 200, &o);
}

void agent_input(struct http_request *rq)
{
    struct process *p = agent_process(rq);
    json_auto_t *body = p == NULL ? NULL : agent_body(rq);
    struct hf_error err = {0};
    struct buf bytes = {0};

    if (body == NULL)
        return;
    if (agent_decode_input(body, agent_of(rq)->config.max_input, &bytes, &err) < 0)
        agent_error(rq, &err);
    else if (!process_is_running(p))
        agent_conflict(rq, "process is not running");
    else
        input_call_take(&agent_of(rq)->typing, rq, p, &bytes, false, input_done);
    buf_fini(&bytes);
}
