/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_command_info.c - status, list and logs of commands. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_terminal.h"

#define CURSOR_HEADER "EXECD-COMMANDS-TAIL-CURSOR"

/* --- status --------------------------------------------------------------------- */

/* The line as submitted; for processes of other dialects it is built from their arguments. */
static void write_content(struct json_out *j, const struct process_view *v)
{
    struct buf text = {0};
    bool line = v->arg_count == 2 && strcmp(v->args[0], "-c") == 0;

    json_key(j, "content");
    if (line) {
        json_str(j, v->args[1]);
        return;
    }
    buf_puts(&text, v->command);
    for (size_t i = 0; i < v->arg_count; i++)
        buf_printf(&text, " %s", v->args[i]);
    json_strn(j, buf_data(&text), text.len);
    buf_fini(&text);
}

/* Absent members are omitted, not null. */
static void write_outcome(struct json_out *j, const struct process_view *v)
{
    char words[OSB_END_BYTES];

    json_kbool(j, "running", v->running);
    if (!v->running) {
        json_kint(j, "exit_code", v->exit->code >= 0 ? v->exit->code : -1);
        if (osb_end_words(v->exit, words))
            json_kstr(j, "error", words);
    }
    json_ktime(j, "started_at", v->created_ms);
    if (!v->running)
        json_ktime(j, "finished_at", v->exited_ms);
}

void osb_command_status(struct http_request *rq)
{
    struct process *p = osb_find(rq, http_param(rq, "id"), NULL);
    struct process_view v;
    struct json_out j;

    if (p == NULL) {
        osb_refuse(rq, 404, "INVALID_REQUEST_BODY", "command not found");
        return;
    }
    process_view(p, &v);
    j = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&j, "id", v.id);
    write_content(&j, &v);
    write_outcome(&j, &v);
    dialect_reply_send(rq, 200, &j);
}

/* --- logs ------------------------------------------------------------------------ */

/* An incomplete character is left for the next request. */
static size_t log_length(const struct process_view *v, const char *bytes, uint64_t at)
{
    size_t len = (size_t)(v->next - at);

    return v->running ? len - utf8_open_tail(bytes, len) : len;
}

static void logs_reply(struct http_request *rq, struct process *p, uint64_t cursor)
{
    struct process_view v;
    const char *bytes = "";
    size_t len = 0;
    char next[24];

    process_view(p, &v);
    /* the oldest output is lost: the cursor after the reply is still true */
    if (cursor < v.first) {
        snprintf(next, sizeof next, "%llu", (unsigned long long)(v.first - cursor));
        http_add_header(rq, "EXECD-COMMANDS-GAP", next);
        cursor = v.first;
    }
    if (cursor < v.next) {
        bytes = journal_bytes(process_journal(p), cursor);
        len = log_length(&v, bytes, cursor);
    }
    cursor += len;
    snprintf(next, sizeof next, "%llu", (unsigned long long)cursor);
    http_add_header(rq, CURSOR_HEADER, next);
    http_reply(rq, 200, OSB_TEXT, bytes, len);
}

void osb_command_logs(struct http_request *rq)
{
    const char *text = http_query(rq, "cursor");
    struct process *p = osb_find(rq, http_param(rq, "id"), NULL);
    struct process_view v;
    uint64_t cursor = 0;

    if (p == NULL) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", "command not found");
        return;
    }
    process_view(p, &v);
    if (osb_is(&v, "foreground")) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY",
                   "the command was not started in the background");
        return;
    }
    if (text != NULL)
        (void)text_to_u64(text, INT64_MAX, &cursor);
    logs_reply(rq, p, cursor);
}

/* --- list --------------------------------------------------------------------------- */

struct command_list_request {
    int64_t limit;
    const char *cursor; /* the last command of the previous page */
    int running;        /* -1: either */
};

static bool list_value(struct command_list_request *a, const char *name, const char *value)
{
    if (strcmp(name, "running") == 0 && a->running < 0) {
        a->running = text_to_bool(value);
        return a->running >= 0;
    }
    if (strcmp(name, "limit") == 0 && a->limit == 0)
        return text_to_i64(value, 1, LIMIT_OSB_LIST, &a->limit);
    if (strcmp(name, "cursor") == 0 && a->cursor == NULL) {
        a->cursor = value;
        return value[0] != '\0';
    }
    return strcmp(name, "token") == 0;
}

static bool command_list_decode(struct http_request *rq, struct command_list_request *a)
{
    const char *name, *value;
    size_t i = 0;

    *a = (struct command_list_request){.running = -1};
    while (http_query_each(rq, &i, &name, &value))
        if (!list_value(a, name, value)) {
            osb_refuse(rq, 400, "INVALID_QUERY",
                       "the query can have running=true|false, limit=1..100 and cursor, each once");
            return false;
        }
    if (a->limit == 0)
        a->limit = 50;
    return true;
}

static void write_item(struct json_out *j, const struct process_view *v)
{
    json_open(j, '{');
    json_kstr(j, "session", v->id);
    json_kbool(j, "background", osb_is(v, "background"));
    write_outcome(j, v);
    json_close(j, '}');
}

static void command_list(struct http_request *rq)
{
    struct osb *o = osb_of(rq);
    struct process *p = NULL;
    struct process_view v, last = {0};
    struct command_list_request a;
    struct json_out j;
    int64_t n = 0;

    if (!command_list_decode(rq, &a))
        return;
    if (a.cursor != NULL && (p = engine_find(o->base.engine, a.cursor, NULL)) == NULL) {
        osb_refuse(rq, 400, "INVALID_QUERY", "the cursor does not name a known command");
        return;
    }
    j = dialect_reply_open(&o->base);
    json_key(&j, "commands");
    json_open(&j, '[');
    while (n <= a.limit && (p = engine_next(o->base.engine, p)) != NULL) {
        process_view(p, &v);
        if (a.running >= 0 && v.running != a.running)
            continue;
        if (n++ == a.limit)
            break;
        write_item(&j, &v);
        last = v;
    }
    json_close(&j, ']');
    json_key(&j, "pagination");
    json_open(&j, '{');
    json_kint(&j, "limit", a.limit);
    if (n > a.limit)
        json_kstr(&j, "nextCursor", last.id);
    json_close(&j, '}');
    dialect_reply_send(rq, 200, &j);
}

void osb_command_get(struct http_request *rq)
{
    if (http_is_websocket(rq))
        osb_terminal_command(rq);
    else
        command_list(rq);
}
