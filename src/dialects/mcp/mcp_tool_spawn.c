/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_spawn.c - arguments of run_command and start_process. Layer: dialects.
 */
#include "dialects/mcp/mcp_tool_spawn.h"

#include "base/limits.h"
#include "dialects/mcp/mcp_limits.h"

static int take_yield(struct tool_spawn *t, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(INT, struct tool_spawn, yield_ms, .min = 0, .max = LIMIT_DURATION_MS)};

    t->yield_ms = -1;
    if (json_decode_known(t->body, fields, 1, t, err) < 0)
        return -1;
    json_object_del(t->body, "yield_ms");
    return 0;
}

static int check_output_bytes(const json_t *body, struct hf_error *err)
{
    const json_t *v = json_object_get(body, "max_output_bytes");

    if (!json_is_integer(v) || json_integer_value(v) <= LIMIT_MCP_OUTPUT_MAX_BYTES)
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "max_output_bytes",
                         "\"max_output_bytes\" must be at most %d", LIMIT_MCP_OUTPUT_MAX_BYTES);
}

static void set_default(json_t *body, const char *key, json_t *value)
{
    if (json_object_get(body, key) == NULL)
        json_object_set_new(body, key, value);
    else
        json_decref(value);
}

int tool_spawn_decode(struct tool_spawn *t, const json_t *arguments, bool run, struct hf_error *err)
{
    const json_t *pty;

    *t = (struct tool_spawn){.body = json_copy((json_t *)arguments)};
    if (t->body == NULL)
        return hf_fail(err, HF_E_no_memory, "out of memory for the arguments");
    set_default(t->body, "shell", json_boolean(json_object_get(arguments, "args") == NULL));
    set_default(t->body, "source", json_string("agent"));
    if (run) {
        set_default(t->body, "max_output_bytes", json_integer(LIMIT_MCP_OUTPUT_BYTES));
        if (take_yield(t, err) < 0 || check_output_bytes(t->body, err) < 0)
            return -1;
    }
    pty = json_object_get(arguments, "pty");
    /* A process that is started in order to write to it needs an open standard input. */
    if (!run && (pty == NULL || json_is_false(pty)))
        set_default(t->body, "stdin", json_string("pipe"));
    return spawn_request_decode(&t->request, t->body, run, err);
}

void tool_spawn_fini(struct tool_spawn *t)
{
    spawn_request_fini(&t->request);
    json_decref(t->body);
}
