/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_request.c - decodes requests of the route API, and replies to them: JSON, or a stream of
 * events. Layer: dialects.
 */
#include "dialects/cloudflare/cf_request.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* --- decoding ------------------------------------------------------------------------------ */

const char *cf_session_id(const struct cf_request *q)
{
    const char *id = json_string_value(json_object_get(q->body, "sessionId"));

    if (id == NULL)
        id = q->session;
    if (id == NULL)
        id = query_get(&q->query, "session");
    if (id == NULL)
        id = query_get(&q->query, "sessionId");
    return id != NULL && id[0] != '\0' ? id : CF_DEFAULT_SESSION;
}

const char *cf_session_or_none(const struct cf_request *q)
{
    const char *id = cf_session_id(q);

    return strcmp(id, CF_NO_SESSION) != 0 ? id : NULL;
}

bool cf_decode(struct cf_request *q, const struct json_field *fields, size_t count, void *target)
{
    struct hf_error err = {0};

    if (!json_is_object(q->body))
        hf_fail(&err, HF_E_bad_type, "the body must be a JSON object");
    else if (json_decode_known(q->body, fields, count, target, &err) == 0)
        return true;
    cf_fail_about(cf_call(q), 400, "VALIDATION_FAILED", err.detail,
                  err.field[0] != '\0' ? "field" : NULL, err.field);
    return false;
}

/* --- replies ---------------------------------------------------------------------------------- */

void *cf_begin(struct cf_request *q, const struct call_kind *kind, size_t size)
{
    q->call = hf_xalloc(size);
    if (q->rq != NULL)
        call_adopt(q->call, q->rq, kind);
    else
        call_adopt_carried(q->call, &q->cf->base, kind, q->carrier);
    return q->call;
}

struct call *cf_call(struct cf_request *q)
{
    static const struct call_kind kind = {0};

    return q->call != NULL ? q->call : cf_begin(q, &kind, sizeof *q->call);
}

struct json_out cf_ok(struct call *c)
{
    struct json_out o = dialect_reply_open(c->base);

    json_kbool(&o, "success", true);
    return o;
}

void cf_send(struct call *c, int status, struct json_out *o)
{
    json_ktime(o, "timestamp", clock_wall_ms());
    call_send(c, status, o);
}

/* --- errors ----------------------------------------------------------------------------------- */

struct json_out cf_failure(struct dialect_base *b, int status, const char *code,
                           const char *message, const char *key, const char *value)
{
    struct json_out o = dialect_reply_open(b);

    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_key(&o, "context");
    json_open(&o, '{');
    if (key != NULL)
        json_kstr(&o, key, value);
    json_close(&o, '}');
    json_kint(&o, "httpStatus", status);
    return o;
}

void cf_fail_about(struct call *c, int status, const char *code, const char *message,
                   const char *key, const char *value)
{
    struct json_out o = cf_failure(c->base, status, code, message, key, value);

    cf_send(c, status, &o);
}

void cf_fail(struct call *c, int status, const char *code, const char *message)
{
    cf_fail_about(c, status, code, message, NULL, NULL);
}

/* The platform's words. The client retries after a 503, so a permanent condition must not be
 * reported as one. */
static const struct {
    enum hf_code code;
    int status; /* 0: our own */
    const char *word;
} words[] = {
    {HF_E_no_such_process, 0, "PROCESS_NOT_FOUND"},
    {HF_E_session_exists, 0, "SESSION_ALREADY_EXISTS"},
    {HF_E_spawn_failed, 500, "PROCESS_ERROR"},
    {HF_E_user_unknown, 500, "PROCESS_ERROR"},
    {HF_E_no_such_session, 410, "SESSION_DESTROYED"},
    {HF_E_forbidden, 0, "PERMISSION_DENIED"},
    {HF_E_tag_in_use, 0, "RESOURCE_BUSY"},
};

void cf_error(struct call *c, const struct hf_error *err)
{
    int status = hf_code_status(err->code);
    const char *word = status < 500 && status != 429 ? "VALIDATION_FAILED" : "INTERNAL_ERROR";

    for (size_t i = 0; i < CF_COUNT(words); i++)
        if (words[i].code == err->code) {
            status = words[i].status != 0 ? words[i].status : status;
            word = words[i].word;
        }
    cf_fail(c, status == 503 ? 500 : status, word, err->detail);
}

/*
 * What was started keeps running under the next worker, so this is neither success nor failure. A
 * 503 would make the client retry, and a command would run twice.
 */
void cf_drain(struct call *c)
{
    if (c->streams)
        call_stream_end(c);
    else
        cf_fail(c, 500, "INTERNAL_ERROR",
                "the daemon is shutting down; what was started keeps running");
}

/* --- streams ---------------------------------------------------------------------------------- */

void cf_stream_begin(struct call *c)
{
    if (c->rq != NULL)
        http_add_header(c->rq, "Cache-Control", "no-cache");
    call_stream_sse(c);
}

struct json_out cf_event(struct call *c, const char *type)
{
    struct json_out o = dialect_reply_open(c->base);

    json_kstr(&o, "type", type);
    return o;
}

void cf_event_send(struct call *c, struct json_out *o)
{
    json_ktime(o, "timestamp", clock_wall_ms());
    json_close(o, '}');
    call_event(c, NULL, o->buf);
}

/* --- events with output ----------------------------------------------------------------------- */

static void send_text(struct call *c, bool is_err, const char *text, size_t len,
                      const char *process_id)
{
    struct json_out o = cf_event(c, is_err ? "stderr" : "stdout");

    json_key(&o, "data");
    json_strn(&o, text, len);
    if (process_id != NULL)
        json_kstr(&o, "processId", process_id);
    cf_event_send(c, &o);
}

void cf_send_output(struct call *c, struct whole_text *t, const struct slice *s,
                    const char *process_id)
{
    bool is_err = s->stream == STREAM_STDERR;
    struct buf whole = {0};

    whole_text_feed(t, is_err, s->bytes, s->len, &whole);
    if (whole.len > 0)
        send_text(c, is_err, buf_data(&whole), whole.len, process_id);
    buf_fini(&whole);
}

void cf_send_output_end(struct call *c, struct whole_text *t, const char *process_id)
{
    for (int is_err = 0; is_err < 2; is_err++) {
        struct buf rest = {0};

        whole_text_end(t, is_err, &rest);
        if (rest.len > 0)
            send_text(c, is_err, buf_data(&rest), rest.len, process_id);
        buf_fini(&rest);
    }
}

void cf_send_gap(struct call *c, uint64_t from, uint64_t to, const char *process_id)
{
    char text[100];
    int n = snprintf(text, sizeof text, "[%llu bytes of output are no longer kept]\n",
                     (unsigned long long)(to - from));

    send_text(c, true, text, (size_t)n, process_id);
}
