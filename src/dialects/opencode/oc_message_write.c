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

void oc_write_tokens(struct json_out *o)
{
    static const char none[] =
        "{\"input\":0,\"output\":0,\"reasoning\":0,\"cache\":{\"read\":0,\"write\":0}}";

    json_kint(o, "cost", 0);
    json_key(o, "tokens");
    json_raw(o, none, sizeof none - 1);
}

static void write_text(struct json_out *o, const char *key, const struct buf *text)
{
    json_key(o, key);
    json_strn(o, text->len > 0 ? buf_data(text) : "", text->len);
}

static void write_time(struct json_out *o, const struct oc_command *c, const char *begin,
                       const char *end)
{
    json_kopen(o, "time", '{');
    json_kint(o, begin, c->began);
    if (c->ended)
        json_kint(o, end, c->ended_at);
    json_close(o, '}');
}

static void write_user(struct json_out *o, const struct oc_command *c)
{
    json_kopen(o, "time", '{');
    json_kint(o, "created", c->began);
    json_close(o, '}');
    json_kstr(o, "agent", meta_or(c, "agent", "build"));
    json_kopen(o, "model", '{');
    json_kstr(o, "providerID", meta_or(c, "providerID", "holdfast"));
    json_kstr(o, "modelID", meta_or(c, "modelID", "none"));
    json_close(o, '}');
}

static void write_assistant(struct json_out *o, const struct oc_command *c)
{
    const char *agent = meta_or(c, "agent", "build");

    json_kstr(o, "parentID", c->user);
    json_kstr(o, "mode", agent);
    json_kstr(o, "agent", agent);
    json_kopen(o, "path", '{');
    json_kstr(o, "cwd", c->cwd);
    json_kstr(o, "root", "/");
    json_close(o, '}');
    json_kstr(o, "modelID", meta_or(c, "modelID", "none"));
    json_kstr(o, "providerID", meta_or(c, "providerID", "holdfast"));
    oc_write_tokens(o);
    write_time(o, c, "created", "completed");
    if (c->ended && oc_command_is_named(c))
        json_kstr(o, "finish", "stop");
}

void oc_write_info(struct json_out *o, const struct oc_command *c, bool user)
{
    json_open(o, '{');
    json_kstr(o, "id", user ? c->user : c->assistant);
    json_kstr(o, "sessionID", c->session_id);
    json_kstr(o, "role", user ? "user" : "assistant");
    if (user)
        write_user(o, c);
    else
        write_assistant(o, c);
    json_close(o, '}');
}

/* --- parts ---------------------------------------------------------------------------- */

static void part_open(struct json_out *o, const struct oc_command *c, bool user, unsigned place,
                      const char *type)
{
    char id[OC_ID_BYTES];

    oc_make_id("prt", c->began, place, c->seed, id);
    json_open(o, '{');
    json_kstr(o, "id", id);
    json_kstr(o, "sessionID", c->session_id);
    json_kstr(o, "messageID", user ? c->user : c->assistant);
    json_kstr(o, "type", type);
}

static void write_user_part(struct json_out *o, const struct oc_command *c)
{
    part_open(o, c, true, 0, "text");
    json_kbool(o, "synthetic", true);
    if (oc_command_is_named(c))
        write_text(o, "text", &c->text);
    else
        json_kstr(o, "text", "The following tool was executed by the user");
}

/* The original reports no exit code: it is the only addition. */
static void write_metadata(struct json_out *o, const struct oc_command *c)
{
    json_kopen(o, "metadata", '{');
    if (!oc_command_is_named(c))
        write_text(o, "output", &c->output);
    if (c->ended && c->exit_code >= 0)
        json_kint(o, "exit", c->exit_code);
    json_close(o, '}');
}

static void write_tool(struct json_out *o, const struct oc_command *c)
{
    char call[OC_ID_BYTES];

    oc_make_id("call", c->began, 2, c->seed, call);
    part_open(o, c, false, 1, "tool");
    json_kstr(o, "tool", "bash");
    json_kstr(o, "callID", call);
    json_kopen(o, "state", '{');
    json_kstr(o, "status", c->ended ? "completed" : "running");
    json_kopen(o, "input", '{');
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
}

/* Of a command by name: where it begins, its output, and where it ends. */
static void write_step(struct json_out *o, const struct oc_command *c, size_t i)
{
    static const char *const types[] = {"step-start", "text", "step-finish"};

    part_open(o, c, false, (unsigned)i + 1, types[i]);
    if (i == 1) {
        write_text(o, "text", &c->output);
        write_time(o, c, "start", "end");
        write_metadata(o, c);
    } else if (i == 2) {
        json_kstr(o, "reason", "stop");
        oc_write_tokens(o);
    }
}

size_t oc_part_count(const struct oc_command *c, bool user)
{
    if (user || !oc_command_is_named(c))
        return 1;
    return c->ended ? 3 : 2;
}

void oc_write_part(struct json_out *o, const struct oc_command *c, bool user, size_t i)
{
    if (user)
        write_user_part(o, c);
    else if (oc_command_is_named(c))
        write_step(o, c, i);
    else
        write_tool(o, c);
    json_close(o, '}');
}

void oc_write_message(struct json_out *o, const struct oc_command *c, bool user)
{
    json_open(o, '{');
    json_key(o, "info");
    oc_write_info(o, c, user);
    json_kopen(o, "parts", '[');
    for (size_t i = 0; i < oc_part_count(c, user); i++)
        oc_write_part(o, c, user, i);
    json_close(o, ']');
    json_close(o, '}');
}
