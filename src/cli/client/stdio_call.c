/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio_call.c - sends one MCP message as an HTTP request and reads its response. Layer: cli.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/client/client_request.h"
#include "cli/client/stdio_own.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define NAME_MAX_BYTES 1024 /* of Mcp-Name */

const char *stdio_call_method(const struct stdio_call *c)
{
    return request_json_text(c->message, "method");
}

bool stdio_call_is(const struct stdio_call *c, const char *method)
{
    return strcmp(stdio_call_method(c), method) == 0;
}

const json_t *stdio_call_id(const struct stdio_call *c)
{
    const json_t *id = json_object_get(c->message, "id");

    return c->purpose == STDIO_CLIENT && json_is_string(json_object_get(c->message, "method"))
               ? id
               : NULL;
}

bool stdio_call_needs_session(const struct stdio_call *c)
{
    return c->revision == NULL && c->session == NULL && c->purpose != STDIO_REOPEN &&
           !stdio_call_is(c, "initialize");
}

/* --- what may be repeated --------------------------------------------------------------- */

static const json_t *params_of(const struct stdio_call *c)
{
    return json_object_get(c->message, "params");
}

/* Tools that change nothing, or whose effect is the same when they are called again. Waiting for
 * text without an offset means "from now on", and that has passed. */
static bool is_repeatable_tool(const char *name, const json_t *arguments)
{
    static const char *const tools[] = {"list_processes", "read_output",   "read_screen",
                                        "resize",         "list_sessions", NULL};

    for (size_t i = 0; tools[i] != NULL; i++)
        if (strcmp(tools[i], name) == 0)
            return true;
    if (strcmp(name, "wait_for") != 0)
        return false;
    return json_object_get(arguments, "from") != NULL ||
           (json_object_get(arguments, "text") == NULL &&
            json_object_get(arguments, "regex") == NULL);
}

/* The daemon finds the process of the first request by the key. */
static bool starts_process(const char *name)
{
    return strcmp(name, "run_command") == 0 || strcmp(name, "start_process") == 0;
}

static void decide_repeating(struct stdio_call *c)
{
    const char *name = request_json_text(params_of(c), "name");
    uint8_t raw[16];

    c->repeatable = !stdio_call_is(c, "tools/call") ||
                    is_repeatable_tool(name, json_object_get(params_of(c), "arguments"));
    if (c->repeatable || !starts_process(name))
        return;
    c->repeatable = true;
    crypto_random(raw, sizeof raw);
    hex_encode(c->key, raw, sizeof raw);
}

/* --- beginning and end --------------------------------------------------------------------- */

static const char *revision_of(const struct stdio_call *c)
{
    const json_t *meta = json_object_get(params_of(c), "_meta");

    return json_string_value(json_object_get(meta, META_VERSION));
}

struct stdio_call *stdio_call_new(struct stdio *r, enum stdio_purpose purpose, json_t *message,
                                  const char *text, size_t len)
{
    struct stdio_call *c = hf_xalloc(sizeof *c);
    const char *revision;

    c->relay = r;
    c->purpose = purpose;
    c->http_method = "POST";
    c->message = json_incref(message);
    revision = revision_of(c);
    c->revision = revision != NULL ? hf_xstrdup(revision) : NULL;
    buf_put(&c->body, text, len);
    decide_repeating(c);
    c->stream.wire.fd = -1;
    list_append(&r->waiting, &c->link);
    r->calls++;
    c->is_note = purpose == STDIO_CLIENT && stdio_call_id(c) == NULL;
    r->notes += c->is_note;
    r->held += len;
    return c;
}

static void stop_reading(struct stdio_call *c)
{
    if (c->is_sent)
        fetch_close(&c->stream);
    c->is_sent = false;
    c->has_events = false;
    sse_parse_fini(&c->events);
    buf_fini(&c->reply);
}

void stdio_call_free(struct stdio_call *c)
{
    stdio_session_forget(c);
    c->relay->calls--;
    c->relay->notes -= c->is_note;
    c->relay->held -= c->body.len;
    stop_reading(c);
    list_remove(&c->link);
    json_decref(c->message);
    buf_fini(&c->body);
    buf_fini(&c->cancellation);
    free(c->revision);
    free(c->sent_in);
    free(c->session);
    free(c);
}

void stdio_call_refuse(struct stdio_call *c, const char *code, const char *detail)
{
    const json_t *id = stdio_call_id(c);

    if (id != NULL && !c->cancelled)
        stdio_print_error(c->relay, id, RPC_REFUSED_BY_RELAY, code, detail);
    if (c->purpose == STDIO_REOPEN)
        stdio_session_refuse_waiting(c->relay, code, detail);
    stdio_call_free(c);
}

/* --- the request -------------------------------------------------------------------------- */

static bool is_visible(const char *text)
{
    while (*text > ' ' && *text <= '~')
        text++;
    return *text == '\0';
}

static void put_header(struct buf *out, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0' || !is_visible(value))
        return; /* the daemon replies that it is missing */
    if (out->len > 0)
        buf_puts(out, "\r\n");
    buf_printf(out, "%s: %s", name, value);
}

/* A self-contained message repeats in its headers what it contains. */
static void put_name(struct buf *out, const struct stdio_call *c)
{
    const char *field = stdio_call_is(c, "resources/read") ? "uri" : "name";
    const char *name = json_string_value(json_object_get(params_of(c), field));
    hf_autobuf struct buf coded = {0};

    if (name == NULL || strlen(name) > NAME_MAX_BYTES)
        return;
    if (is_visible(name) && strncmp(name, "=?", 2) != 0) {
        put_header(out, "Mcp-Name", name);
        return;
    }
    buf_puts(&coded, "=?base64?");
    base64_encode(&coded, name, strlen(name));
    buf_puts(&coded, "?=");
    put_header(out, "Mcp-Name", buf_cstr(&coded));
}

static void put_headers(struct buf *out, struct stdio_call *c)
{
    const struct stdio *r = c->relay;

    if (c->revision != NULL) {
        put_header(out, "MCP-Protocol-Version", c->revision);
        put_header(out, "Mcp-Method", stdio_call_method(c));
        put_name(out, c);
    } else if (c->session != NULL) {
        put_header(out, "Mcp-Session-Id", c->session);
    } else if (stdio_call_needs_session(c)) {
        put_header(out, "Mcp-Session-Id", r->id);
        put_header(out, "MCP-Protocol-Version", r->version);
    }
    put_header(out, "Idempotency-Key", c->key);
}

int stdio_call_start(struct stdio_call *c, struct hf_error *err)
{
    struct stdio *r = c->relay;
    hf_autobuf struct buf headers = {0};
    struct fetch_request what = {
        .method = c->http_method, .path = "/mcp", .accept = "application/json, text/event-stream"};
    int rc;

    put_headers(&headers, c);
    what.header = headers.len > 0 ? buf_cstr(&headers) : NULL;
    if (strcmp(c->http_method, "POST") == 0) {
        what.body = c->body.len > 0 ? buf_data(&c->body) : "";
        what.body_len = c->body.len;
    }
    rc = fetch_queue(&c->stream, &r->call->place, &what, err);
    if (rc < 0)
        return rc;
    c->is_sent = true;
    c->token = r->tokens;
    c->tries++;
    c->fails++;
    c->began = clock_mono_ms();
    r->pause_ms = STDIO_PAUSE_MS;
    c->lost = c->untouched = c->replied = false;
    free(c->sent_in);
    c->sent_in = r->id != NULL ? hf_xstrdup(r->id) : NULL;
    list_remove(&c->link);
    list_append(&r->sent, &c->link);
    return 0;
}

/* --- the response ------------------------------------------------------------------------- */

static void receive(struct stdio_call *c, const char *text, size_t len)
{
    json_auto_t *message = json_parse(text, len, NULL);

    if (message != NULL)
        stdio_session_receive(c, message, text, len);
}

static void on_event(void *arg, const char *name, const char *data, const char *id)
{
    (void)id;
    if (strcmp(name, "message") == 0)
        receive(arg, data, strlen(data));
}

static bool has_type(const struct stdio_call *c, const char *type)
{
    size_t at = 0;
    const char *said = http1_header(&c->stream.response, "Content-Type", &at);

    return said != NULL && strncasecmp(said, type, strlen(type)) == 0;
}

static void take_head(struct stdio_call *c)
{
    if (c == c->relay->feed && c->stream.response.status == 200)
        c->relay->feed_pause_ms = STDIO_PAUSE_MS;
    c->has_events = c->stream.response.status == 200 && has_type(c, "text/event-stream");
    if (c->has_events) {
        c->fails = 0;
        c->trouble_since = 0;
    }
    c->events =
        (struct sse_parse){.on_event = on_event, .arg = c, .max_bytes = LIMIT_CLIENT_REPLY_BYTES};
}

/* False: the response is too large. */
static bool take_body(struct stdio_call *c)
{
    const struct http1 *h = &c->stream.response;

    if (c->has_events) {
        sse_parse_feed(&c->events, h->body, h->body_len);
        return !c->events.failed;
    }
    buf_put(&c->reply, h->body, h->body_len);
    return c->reply.len <= LIMIT_CLIENT_REPLY_BYTES;
}

static void end_response(struct stdio_call *c, bool complete)
{
    hf_autobuf struct buf reply = c->reply;

    c->reply = (struct buf){0};
    if (complete && reply.len > 0 && c->stream.response.status == 200 &&
        has_type(c, "application/json"))
        receive(c, buf_data(&reply), reply.len);
    else if (complete && c->stream.response.status >= 400)
        buf_put(&c->reply, buf_data(&reply), reply.len); /* why it was refused */
    stdio_session_ended(c, complete);
}

void stdio_call_step(struct stdio_call *c)
{
    int rc = client_conn_flush(&c->stream.wire);

    /* A daemon that rejects early may have closed its side; its response can still be read. */
    if (rc < 0 && rc != -EAGAIN)
        buf_clear(&c->stream.wire.out);
    while (c->relay->out.len < LIMIT_CLIENT_MCP_OUT_BYTES) {
        rc = fetch_event(&c->stream, 0);
        if (rc == -ETIMEDOUT)
            return;
        if (rc == HTTP1_HEAD) {
            take_head(c);
        } else if (rc != HTTP1_BODY) {
            end_response(c, rc == HTTP1_DONE);
            return;
        } else if (!take_body(c)) {
            stdio_call_refuse(c, "reply_too_large",
                              "the daemon's reply is too large to be relayed");
            return;
        }
    }
}
