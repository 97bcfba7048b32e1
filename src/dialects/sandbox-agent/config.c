/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - /v1/processes/config: limits that a client may set, kept for the next worker. Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/sandbox-agent/agent.h"
#include "engine/notes.h"

static const struct {
    const char *name;
    size_t offset;
} config_fields[] = {
    {"maxConcurrentProcesses", offsetof(struct agent_config, max_concurrent)},
    {"defaultRunTimeoutMs", offsetof(struct agent_config, default_run_ms)},
    {"maxRunTimeoutMs", offsetof(struct agent_config, max_run_ms)},
    {"maxOutputBytes", offsetof(struct agent_config, max_output)},
    {"maxLogBytesPerProcess", offsetof(struct agent_config, max_log)},
    {"maxInputBytesPerRequest", offsetof(struct agent_config, max_input)},
};
#define CONFIG_NOTE "sandbox-agent.config"
#define CONFIG_FIELDS (sizeof config_fields / sizeof *config_fields)

static int64_t *config_at(struct agent_config *c, size_t i)
{
    return (int64_t *)(void *)((char *)c + config_fields[i].offset);
}

static void config_write(struct agent *a, struct json_out *o)
{
    for (size_t i = 0; i < CONFIG_FIELDS; i++)
        json_kint(o, config_fields[i].name, *config_at(&a->config, i));
}

void agent_config_get(struct http_request *rq)
{
    struct agent *a = agent_of(rq);
    struct json_out o = agent_answer(a);

    config_write(a, &o);
    agent_send(rq, 200, &o);
}

/* For the next worker; without room for it, it is this one's alone. */
static void config_keep(struct agent *a)
{
    struct json_out o = agent_answer(a);

    config_write(a, &o);
    json_shut(&o, '}');
    (void)engine_note_set(a->engine, CONFIG_NOTE, buf_data(o.buf), o.buf->len);
}

void agent_config_recall(struct agent *a)
{
    size_t len = 0;
    const char *text = engine_note(a->engine, CONFIG_NOTE, &len);
    json_auto_t *kept = text != NULL ? json_parse(text, len, NULL) : NULL;

    for (size_t i = 0; kept != NULL && i < CONFIG_FIELDS; i++) {
        json_int_t v = json_integer_value(json_object_get(kept, config_fields[i].name));

        if (v > 0)
            *config_at(&a->config, i) = v;
    }
}

void agent_config_set(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct agent_config c = {0};

    if (body == NULL)
        return;
    for (size_t i = 0; i < CONFIG_FIELDS; i++) {
        if (!agent_int(rq, body, config_fields[i].name, true, config_at(&c, i)))
            return;
        if (*config_at(&c, i) == 0) {
            agent_invalid(rq, 400, "every limit must be greater than zero");
            return;
        }
    }
    if (c.default_run_ms > c.max_run_ms)
        c.default_run_ms = c.max_run_ms;
    if (c.max_run_ms > LIMIT_DURATION_MS)
        c.max_run_ms = LIMIT_DURATION_MS;
    agent_of(rq)->config = c;
    config_keep(agent_of(rq));
    agent_config_get(rq);
}
