/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_command.c - the commands of a session: find, describe, and type into
 *
 * A command that has started is in the session's log, named by the id assigned here, or numbered if
 * it came by another dialect. Only the worker that accepted it knows a command that is still
 * queued. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/input_call.h"
#include "dialects/daytona/daytona.h"

static void command_id(const struct session_command *c, char out[SESSION_NAME_MAX + 1])
{
    if (c->name.len > 0)
        snprintf(out, SESSION_NAME_MAX + 1, "%.*s", (int)c->name.len, c->name.bytes);
    else
        snprintf(out, SESSION_NAME_MAX + 1, "%llu", (unsigned long long)c->begin.number);
}

static bool find_number(const struct session_log *l, const char *id, struct session_command *out)
{
    uint64_t at = 0, number;

    if (!text_to_u64(id, INT64_MAX, &number))
        return false;
    while (session_log_each(l, &at, out))
        if (out->begin.number == number && out->name.len == 0)
            return true;
    return false;
}

static const struct dt_run *find_queued(struct dt *dt, const char *session, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &dt->runs) {
        const struct dt_run *r = list_entry(it, struct dt_run, link);

        if (strcmp(r->session, session) == 0 && strcmp(r->id, id) == 0)
            return r;
    }
    return NULL;
}

bool dt_command_find(struct dt *dt, const char *session, const char *id, struct dt_command *out)
{
    struct session *s = session_find(dt->base.engine, session, NULL);

    *out = (struct dt_command){.session = s};
    if (s == NULL || id[0] == '\0' || strlen(id) > SESSION_NAME_MAX)
        return false;
    memcpy(out->id, id, strlen(id) + 1);
    out->begun = session_log_find(session_commands(s), id, &out->log) ||
                 find_number(session_commands(s), id, &out->log);
    if (!out->begun)
        out->queued = find_queued(dt, session, id);
    return out->begun || out->queued != NULL;
}

bool dt_command(struct http_request *rq, struct dt_command *out)
{
    const char *id = http_param(rq, "command");
    const struct session *s = dt_session(rq);

    if (s == NULL)
        return false;
    if (dt_command_find(dt_of(rq), session_id(s), id, out))
        return true;
    dt_fail(rq, 404, "PROCESS_NOT_FOUND", "command %.100s not found in session %.100s", id,
            session_id(s));
    return false;
}

/* --- JSON --------------------------------------------------------------------------------- */

static void write_command(struct json_out *o, const struct session_command *c)
{
    char id[SESSION_NAME_MAX + 1];

    command_id(c, id);
    json_kstr(o, "id", id);
    json_key(o, "command");
    json_strn(o, c->text.bytes, c->text.len);
    if (c->ended)
        json_kint(o, "exitCode", c->end.exit.exit_code);
}

static void write_queued(struct json_out *o, const struct dt_run *r)
{
    json_kstr(o, "id", r->id);
    json_kstr(o, "command", r->command);
}

/* Omit the prefix that the daemon itself put in front of the client's command. */
void dt_commands_write(struct json_out *o, struct dt *dt, struct session *s)
{
    struct session_command c;
    struct list *it, *tmp;
    uint64_t at = 0;

    json_open(o, '[');
    while (session_log_each(session_commands(s), &at, &c)) {
        if (c.begin.source == SOURCE_SYSTEM)
            continue;
        json_open(o, '{');
        write_command(o, &c);
        json_close(o, '}');
    }
    list_for_each (it, tmp, &dt->runs) {
        const struct dt_run *r = list_entry(it, struct dt_run, link);

        if (r->begun || strcmp(r->session, session_id(s)) != 0)
            continue;
        json_open(o, '{');
        write_queued(o, r);
        json_close(o, '}');
    }
    json_close(o, ']');
}

void dt_command_get(struct http_request *rq)
{
    struct dt_command c;
    struct json_out o;

    if (!dt_command(rq, &c))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    if (c.begun)
        write_command(&o, &c.log);
    else
        write_queued(&o, c.queued);
    dialect_reply_send(rq, 200, &o);
}

/* --- input ---------------------------------------------------------------------------------- */

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
        http_reply_error(rq, err);
}

static void type(struct http_request *rq, const struct dt_command *c, const char *data, size_t len)
{
    struct buf bytes = {0};

    buf_put(&bytes, data, len);
    if (len == 0 || data[len - 1] != '\n')
        buf_putc(&bytes, '\n');
    input_call_take_session(rq, c->session, c->log.begin.number, &bytes, input_done);
}

void dt_input(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);
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
