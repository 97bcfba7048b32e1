/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_message_write.c - the formats of messages and their parts. Layer: dialects.
 */
#include <string.h>

#include "dialects/opencode/oc_message.h"

static const char *meta_or(const struct oc_command *c, const char *key, const char *otherwise)
{
    const char *text = oc_meta_text(c->meta, key);

    return text != NULL ? text : otherwise;
}

static void write_tokens(struct json_out *o)
{
    json_kint(o, "cost", 0);
    json_key(o, "tokens");
    json_open(o, '{');
    json_kint(o, "input", 0);
    json_kint(o, "output", 0);
    json_kint(o, "reasoning", 0);
    json_key(o, "cache");
    json_open(o, '{');
    json_kint(o, "read", 0);
    json_kint(o, "write", 0);
    json_close(o, '}');
    json_close(o, '}');
}

static void write_text(struct json_out *o, const char *key, const struct buf *text)
{
    json_key(o, key);
    json_strn(o, text->len > 0 ? buf_data(text) : "", text->len);
}

static void write_time(struct json_out *o, const struct oc_command *c, const char *begin,
                       const char *end)
{
    json_key(o, "time");
    json_open(o, '{');
    json_kint(o, begin, c->began);
    if (c->ended)
        json_kint(o, end, c->ended_at);
    json_close(o, '}');
}

void oc_write_user(struct json_out *o, const struct oc_command *c)
{
    char user[OC_ID_BYTES], assistant[OC_ID_BYTES];

    oc_command_ids(c, user, assistant);
    json_open(o, '{');
    json_kstr(o, "id", user);
    json_kstr(o, "sessionID", c->session_id);
    json_kstr(o, "role", "user");
    json_key(o, "time");
    json_open(o, '{');
    json_kint(o, "created", c->began);
    json_close(o, '}');
    json_kstr(o, "agent", meta_or(c, "agent", "build"));
    json_key(o, "model");
    json_open(o, '{');
    json_kstr(o, "providerID", meta_or(c, "providerID", "holdfast"));
    json_kstr(o, "modelID", meta_or(c, "modelID", "none"));
    json_close(o, '}');
    json_close(o, '}');
}

static void part_open(struct json_out *o, const struct oc_command *c, const char *message,
                      unsigned place, const char *type)
{
    char id[OC_ID_BYTES];

    oc_make_id("prt", c->began, place, c->seed, id);
    json_open(o, '{');
    json_kstr(o, "id", id);
    json_kstr(o, "sessionID", c->session_id);
    json_kstr(o, "messageID", message);
    json_kstr(o, "type", type);
}

void oc_write_user_part(struct json_out *o, const struct oc_command *c)
{
    char user[OC_ID_BYTES], assistant[OC_ID_BYTES];

    oc_command_ids(c, user, assistant);
    part_open(o, c, user, 0, "text");
    json_kbool(o, "synthetic", true);
    if (oc_command_is_named(c))
        write_text(o, "text", &c->text);
    else
        json_kstr(o, "text", "The following tool was executed by the user");
    json_close(o, '}');
}

void oc_write_assistant(struct json_out *o, const struct oc_command *c)
{
    char user[OC_ID_BYTES], assistant[OC_ID_BYTES];
    const char *agent = meta_or(c, "agent", "build");

    oc_command_ids(c, user, assistant);
    json_open(o, '{');
    json_kstr(o, "id", assistant);
    json_kstr(o, "sessionID", c->session_id);
    json_kstr(o, "role", "assistant");
    json_kstr(o, "parentID", user);
    json_kstr(o, "mode", agent);
    json_kstr(o, "agent", agent);
    json_key(o, "path");
    json_open(o, '{');
    json_kstr(o, "cwd", c->cwd);
    json_kstr(o, "root", "/");
    json_close(o, '}');
    json_kstr(o, "modelID", meta_or(c, "modelID", "none"));
    json_kstr(o, "providerID", meta_or(c, "providerID", "holdfast"));
    write_tokens(o);
    write_time(o, c, "created", "completed");
    if (c->ended && oc_command_is_named(c))
        json_kstr(o, "finish", "stop");
    json_close(o, '}');
}

/* The original reports no exit code: it is the only addition. */
static void write_metadata(struct json_out *o, const struct oc_command *c)
{
    json_key(o, "metadata");
    json_open(o, '{');
    if (!oc_command_is_named(c))
        write_text(o, "output", &c->output);
    if (c->ended && c->exit_code >= 0)
        json_kint(o, "exit", c->exit_code);
    json_close(o, '}');
}

static void write_tool(struct json_out *o, const struct oc_command *c, const char *message)
{
    char call[OC_ID_BYTES];

    oc_make_id("call", c->began, 2, c->seed, call);
    part_open(o, c, message, 1, "tool");
    json_kstr(o, "tool", "bash");
    json_kstr(o, "callID", call);
    json_key(o, "state");
    json_open(o, '{');
    json_kstr(o, "status", c->ended ? "completed" : "running");
    json_key(o, "input");
    json_open(o, '{');
    write_text(o, "command", &c->text);
    json_close(o, '}');
    if (c->ended) {
        write_text(o, "output", &c->output);
        json_kstr(o, "title", "");
    }
    if (c->ended || c->output.len > 0)
        write_metadata(o, c);
    write_time(o, c, "start", "end");
    json_close(o, '}');
    json_close(o, '}');
}

size_t oc_part_count(const struct oc_command *c)
{
    if (!oc_command_is_named(c))
        return 1;
    return c->ended ? 3 : 2;
}

void oc_write_part(struct json_out *o, const struct oc_command *c, size_t i)
{
    char user[OC_ID_BYTES], assistant[OC_ID_BYTES];

    oc_command_ids(c, user, assistant);
    if (!oc_command_is_named(c)) {
        write_tool(o, c, assistant);
        return;
    }
    part_open(o, c, assistant, (unsigned)i + 1,
              i == 0   ? "step-start"
              : i == 1 ? "text"
                       : "step-finish");
    if (i == 1) {
        write_text(o, "text", &c->output);
        write_time(o, c, "start", "end");
        write_metadata(o, c);
    } else if (i == 2) {
        json_kstr(o, "reason", "stop");
        write_tokens(o);
    }
    json_close(o, '}');
}

void oc_write_reply(struct json_out *o, const struct oc_command *c)
{
    json_open(o, '{');
    json_key(o, "info");
    oc_write_assistant(o, c);
    json_key(o, "parts");
    json_open(o, '[');
    for (size_t i = 0; i < oc_part_count(c); i++)
        oc_write_part(o, c, i);
    json_close(o, ']');
    json_close(o, '}');
}

void oc_write_question(struct json_out *o, const struct oc_command *c)
{
    json_open(o, '{');
    json_key(o, "info");
    oc_write_user(o, c);
    json_key(o, "parts");
    json_open(o, '[');
    oc_write_user_part(o, c);
    json_close(o, ']');
    json_close(o, '}');
}
