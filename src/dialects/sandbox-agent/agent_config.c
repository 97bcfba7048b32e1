/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_config.c - /v1/processes/config: limits that a client may set, kept for the next worker
 *
 * Layer: dialects.
 */
#include "dialects/sandbox-agent/agent.h"
#include "engine/notes.h"

#define CONFIG_NOTE "sandbox-agent.config"

static void config_write(struct agent *a, struct json_out *o)
{
    for (size_t i = 0; i < AGENT_CONFIG_FIELDS; i++)
        json_kint(o, agent_config_fields[i].name, *agent_config_at(&a->config, i));
}

void agent_config_get(struct http_request *rq)
{
    struct agent *a = agent_of(rq);
    struct json_out o = agent_reply_open(a);

    config_write(a, &o);
    agent_send(rq, 200, &o);
}

/* Stored for the next worker; without room for it, only this worker has it. */
static void config_keep(struct agent *a)
{
    struct json_out o = agent_reply_open(a);

    config_write(a, &o);
    json_close(&o, '}');
    (void)engine_note_set(a->engine, CONFIG_NOTE, buf_data(o.buf), o.buf->len);
}

void agent_config_recall(struct agent *a)
{
    size_t len = 0;
    const char *text = engine_note(a->engine, CONFIG_NOTE, &len);
    json_auto_t *kept = text != NULL ? json_parse(text, len, NULL) : NULL;
    struct agent_config c = {0};

    if (kept != NULL && agent_decode_config(&c, kept, NULL) == 0)
        a->config = c;
}

void agent_config_set(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct hf_error err = {0};
    struct agent_config c = {0};

    if (body == NULL)
        return;
    if (agent_decode_config(&c, body, &err) < 0) {
        agent_error(rq, &err);
        return;
    }
    agent_of(rq)->config = c;
    config_keep(agent_of(rq));
    agent_config_get(rq);
}
