/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_transcript.c - GET /v1/sessions/{id}/transcript, as JSON or Markdown. Layer: dialects.
 */
#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/session_markdown.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define MARKDOWN_TYPE "text/markdown"

enum { FORMAT_JSON, FORMAT_MARKDOWN };

static void write_piece(struct json_out *o, const char *key, struct session_text t)
{
    json_kopen(o, key, '{');
    process_json_data(o, t.len > 0 ? t.bytes : "", t.len);
    json_close(o, '}');
}

static void write_output(struct json_out *o, const struct session_command *c)
{
    json_kopen(o, "output", '{');
    write_piece(o, "head", c->head);
    write_piece(o, "tail", c->tail);
    json_ku64(o, "omitted_bytes", c->end.omitted);
    json_ku64(o, "offset", c->begin.from);
    json_kint_if(o, "next", c->ended || c->end.to > 0, (int64_t)c->end.to);
    json_close(o, '}');
}

static void write_item(struct json_out *o, const struct session_item *it)
{
    static const struct exit_record none = {.kind = EXIT_NONE};
    const struct session_command *c = &it->command;

    json_open(o, '{');
    json_kstr(o, "type", it->process != NULL ? "process" : "command");
    json_kint_if(o, "number", it->process == NULL, (int64_t)c->begin.number);
    json_kstr(o, "process_id", c->begin.process_id);
    json_kstrn(o, "command", c->text.bytes, c->text.len);
    json_ku64(o, "command_omitted_bytes", c->begin.text_len - c->text.len);
    json_kstr(o, "source", source_name(c->begin.source));
    json_kstr(o, "status", c->ended ? "exited" : "running");
    json_ktime(o, "started_at", c->begin.started_wall_ms);
    json_ktime(o, "ended_at", c->ended ? c->end.ended_wall_ms : 0);
    process_json_exit(o, c->ended ? &c->end.exit : &none);
    json_kbool(o, "timed_out", c->ended && c->end.exit.kind == EXIT_TIMED_OUT);
    json_kbool(o, "shell_replaced", c->ended && c->end.shell_replaced);
    json_key(o, "cwd");
    if (c->cwd.len > 0)
        json_strn(o, c->cwd.bytes, c->cwd.len);
    else
        json_nil(o);
    write_output(o, c);
    json_close(o, '}');
}

static void reply_json(struct http_request *rq, const char *id, const struct session_items *all)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "session_id", id);
    json_ku64(&o, "dropped", all->dropped);
    json_kopen(&o, "items", '[');
    for (size_t i = 0; i < all->count; i++)
        write_item(&o, &all->list[i]);
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

static void reply_markdown(struct http_request *rq, const char *id, const struct session_items *all)
{
    struct buf *out = &native_of(rq)->base.scratch;

    buf_clear(out);
    session_markdown(out, id, all);
    http_add_header(rq, "Cache-Control", "no-store");
    http_reply(rq, 200, MARKDOWN_TYPE "; charset=utf-8", buf_data(out), out->len);
}

/* The query overrides Accept; the default is JSON. */
static int decode_format(const struct http_request *rq, int *format, struct hf_error *err)
{
    static const char *const names[] = {"json", "markdown", NULL};

    *format = FORMAT_JSON;
    if (http_query(rq, "format") != NULL)
        return native_decode_choice(rq, "format", names, format, err);
    if (http_accepts(rq, "application/json"))
        return 0;
    *format = FORMAT_MARKDOWN;
    if (http_accepts(rq, MARKDOWN_TYPE))
        return 0;
    return hf_fail(err, HF_E_not_acceptable,
                   "a transcript is available as application/json or " MARKDOWN_TYPE);
}

int session_transcript_handle(struct http_request *rq, struct hf_error *err)
{
    struct engine *e = native_of(rq)->base.engine;
    int64_t limit = SESSION_LOG_COMMANDS;
    struct session_items all;
    struct session *s = session_find(e, http_param(rq, "id"), err);
    int format;

    if (s == NULL || native_decode_i64(rq, "limit", 1, SESSION_LOG_COMMANDS, &limit, err) < 0 ||
        decode_format(rq, &format, err) < 0)
        return -1;
    session_items_collect(&all, e, s, (size_t)limit);
    if (format == FORMAT_MARKDOWN)
        reply_markdown(rq, session_id(s), &all);
    else
        reply_json(rq, session_id(s), &all);
    session_items_fini(&all);
    return 0;
}
