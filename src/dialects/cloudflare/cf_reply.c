/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_reply.c - replies to a call: JSON or a stream of events, by HTTP or through the multiplex.
 * Layer: dialects.
 */
#include "base/clock.h"
#include "dialects/cloudflare/cf_call_own.h"
#include "transport/sse.h"

/* --- replies ---------------------------------------------------------------------------------- */

void cf_wait(struct cf_call *c, const struct cf_wait_ops *ops, void *arg)
{
    c->ops = ops;
    c->arg = arg;
}

struct json_out cf_ok(struct cf_call *c)
{
    struct json_out o = dialect_reply_open(&c->cf->base);

    json_kbool(&o, "success", true);
    return o;
}

/* {"type":…,"id":…, and room for more, in the frame buffer. */
static struct json_out mux_open(struct cf_call *c, const char *type)
{
    struct json_out o;

    buf_clear(&c->cf->frame);
    json_out_init(&o, &c->cf->frame);
    json_open(&o, '{');
    json_kstr(&o, "type", type);
    json_kstr(&o, "id", c->id);
    return o;
}

static void mux_close(struct cf_call *c, struct json_out *o)
{
    json_close(o, '}');
    cf_mux_send(c->mux, o->buf);
}

static void mux_respond(struct cf_call *c, int status, const struct buf *body)
{
    struct json_out o = mux_open(c, "response");

    json_kint(&o, "status", status);
    if (body != NULL) {
        json_key(&o, "body");
        json_raw(&o, buf_data(body), body->len);
    }
    json_kbool(&o, "done", true);
    mux_close(c, &o);
}

void cf_send(struct cf_call *c, int status, struct json_out *o)
{
    json_ktime(o, "timestamp", clock_wall_ms());
    json_close(o, '}');
    c->ops = NULL;
    if (c->mux != NULL)
        mux_respond(c, status, o->buf);
    else
        http_reply_json(c->rq, status, o->buf);
    cf_call_free(c);
}

void cf_fail_about(struct cf_call *c, int status, const char *code, const char *message,
                   const char *key, const char *value)
{
    struct json_out o = dialect_reply_open(&c->cf->base);

    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_key(&o, "context");
    json_open(&o, '{');
    if (key != NULL)
        json_kstr(&o, key, value);
    json_close(&o, '}');
    json_kint(&o, "httpStatus", status);
    cf_send(c, status, &o);
}

void cf_fail(struct cf_call *c, int status, const char *code, const char *message)
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

void cf_error(struct cf_call *c, const struct hf_error *err)
{
    int status = hf_code_status(err->code);
    const char *word = status < 500 && status != 429 ? "VALIDATION_FAILED" : "INTERNAL_ERROR";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == err->code) {
            status = words[i].status != 0 ? words[i].status : status;
            word = words[i].word;
        }
    cf_fail(c, status == 503 ? 500 : status, word, err->detail);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void stream_on_drain(void *arg)
{
    cf_call_drained(arg);
}

static void stream_on_disconnect(void *arg)
{
    struct cf_call *c = arg;

    c->stream = NULL;
    cf_call_cancel(c, CF_CLIENT_CLOSED);
}

static const struct http_stream_ops stream_ops = {.on_drain = stream_on_drain,
                                                  .on_disconnect = stream_on_disconnect};

static void mux_chunk(struct cf_call *c, const char *data, size_t len)
{
    struct json_out o = mux_open(c, "stream");

    json_key(&o, "data");
    json_strn(&o, data, len);
    mux_close(c, &o);
}

/* The client abandons a stream that is silent for too long; it skips empty events. */
static void mux_on_keepalive(struct timer *t, void *arg)
{
    struct cf_call *c = arg;

    timer_start(t, SSE_KEEPALIVE_MS);
    if (cf_stream_ready(c))
        mux_chunk(c, "", 0);
}

void cf_stream_begin(struct cf_call *c)
{
    if (c->mux != NULL) {
        c->streams = true;
        c->keepalive = timer_new(c->cf->base.loop, mux_on_keepalive, c);
        timer_start(c->keepalive, SSE_KEEPALIVE_MS);
    } else {
        http_add_header(c->rq, "Cache-Control", "no-cache");
        c->stream = sse_start(c->rq, &stream_ops, c);
        c->rq = NULL;
    }
}

bool cf_stream_ready(const struct cf_call *c)
{
    if (c->mux != NULL)
        return c->streams && cf_mux_ready(c->mux);
    return c->stream != NULL && http_stream_ready(c->stream);
}

struct json_out cf_event(struct cf_call *c, const char *type)
{
    struct json_out o = dialect_reply_open(&c->cf->base);

    json_kstr(&o, "type", type);
    return o;
}

void cf_event_send(struct cf_call *c, struct json_out *o)
{
    json_ktime(o, "timestamp", clock_wall_ms());
    json_close(o, '}');
    if (c->mux == NULL) {
        sse_send(c->stream, NULL, NULL, buf_data(o->buf), o->buf->len);
        return;
    }
    timer_start(c->keepalive, SSE_KEEPALIVE_MS);
    mux_chunk(c, buf_data(o->buf), o->buf->len);
}

void cf_stream_end(struct cf_call *c)
{
    c->ops = NULL;
    if (c->mux != NULL)
        mux_respond(c, 200, NULL);
    else
        http_stream_end(c->stream);
    cf_call_free(c);
}
