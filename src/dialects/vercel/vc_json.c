/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_json.c - a command as JSON
 *
 * A program that could not be started is reported as a command that ran and printed why. A
 * substitute runs in its place, with the requested name and arguments in its metadata. Layer:
 * dialects.
 */
#include <string.h>

#include "base/mem.h"
#include "dialects/vercel/vercel.h"

#define SUBSTITUTE_BYTES 12000 /* of metadata; further arguments are left out */

static void write_args(struct json_out *o, const struct process_view *v)
{
    json_open(o, '[');
    for (size_t i = 0; i < v->arg_count; i++)
        json_str(o, v->args[i]);
    json_close(o, ']');
}

/* NULL, or the command that it substitutes. */
static json_t *substituted(const struct process_view *v)
{
    json_t *meta, *wanted;

    if (strcmp(v->metadata_json, "{}") == 0)
        return NULL;
    meta = json_loads(v->metadata_json, 0, NULL);
    wanted = json_incref(json_object_get(meta, "vercel_command"));
    json_decref(meta);
    return wanted;
}

static void write_name(struct json_out *o, const struct process_view *v)
{
    json_auto_t *wanted = substituted(v);
    const char *name = json_string_value(json_object_get(wanted, "name"));
    const char *cwd = json_string_value(json_object_get(wanted, "cwd"));
    json_t *args = json_object_get(wanted, "args");

    json_kstr(o, "name", name != NULL ? name : v->command);
    json_key(o, "args");
    if (json_is_array(args))
        json_value(o, args);
    else
        write_args(o, v);
    json_kstr(o, "cwd", cwd != NULL ? cwd : v->cwd);
}

/* The exit code of a lost process is unknown; clients need a number, and -1 is not a valid code. */
void vc_write_command(struct json_out *o, struct process *p, const char *session, bool is_v1)
{
    struct process_view v;

    process_view(p, &v);
    if (v.session_id != NULL)
        session = v.session_id;
    json_open(o, '{');
    json_kstr(o, "id", v.id);
    write_name(o, &v);
    json_kstr(o, is_v1 ? "sandboxId" : "sessionId", session);
    if (v.running)
        json_knull(o, "exitCode");
    else
        json_kint(o, "exitCode", v.exit->exit_code);
    json_kint(o, "startedAt", v.created_ms);
    if (!v.running && !is_v1)
        json_kint(o, "durationMs", v.exited_ms > v.created_ms ? v.exited_ms - v.created_ms : 0);
    json_close(o, '}');
}

void vc_reply_command(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_key(&o, "command");
    vc_write_command(&o, p, http_param(rq, "session"), vc_is_v1(rq));
    dialect_reply_send(rq, 200, &o);
}

char *vc_substitute_metadata(const struct spawn_spec *wanted)
{
    struct buf text = {0};
    struct json_out o;
    char *out;

    json_out_init(&o, &text);
    json_open(&o, '{');
    json_key(&o, "vercel_command");
    json_open(&o, '{');
    json_kstr(&o, "name", wanted->command);
    if (wanted->cwd != NULL)
        json_kstr(&o, "cwd", wanted->cwd);
    json_key(&o, "args");
    json_open(&o, '[');
    for (size_t i = 0; i < wanted->arg_count && text.len < SUBSTITUTE_BYTES; i++)
        if (text.len + 6 * strlen(wanted->args[i]) < SUBSTITUTE_BYTES)
            json_str(&o, wanted->args[i]);
    json_close(&o, ']');
    json_close(&o, '}');
    json_close(&o, '}');
    out = text.len < SUBSTITUTE_BYTES + 100 ? hf_xstrdup(buf_cstr(&text)) : NULL;
    buf_fini(&text);
    return out;
}
