/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio_session.c - the session behind standard input and output: opened, lost, opened again
 *
 * A reply that never came is the one thing that a client cannot handle, so each way in which a
 * request can end is decided here. Layer: cli.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/client/client_request.h"
#include "cli/client/stdio_own.h"

#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define DETAIL_BYTES 400

static const json_t *params_of(const struct stdio_call *c)
{
    return json_object_get(c->message, "params");
}

static const char *code_of(const json_t *message)
{
    const json_t *data = json_object_get(json_object_get(message, "error"), "data");

    return request_json_text(data, "code");
}

/* --- notifications of our own ---------------------------------------------------------------- */

static void notify(struct stdio *r, const char *method, const char *uri, const json_t *tag)
{
    json_auto_t *m = json_object(), *params = json_object(), *meta = NULL;

    json_object_set_new(m, "jsonrpc", json_string("2.0"));
    json_object_set_new(m, "method", json_string(method));
    if (uri != NULL)
        json_object_set_new(params, "uri", json_string(uri));
    if (tag != NULL) {
        meta = json_object();
        json_object_set(meta, "io.modelcontextprotocol/subscriptionId", (json_t *)tag);
        json_object_set(params, "_meta", meta);
    }
    json_object_set(m, "params", params);
    stdio_print_json(r, m);
}

static void notify_list(struct stdio *r, const json_t *tag)
{
    notify(r, "notifications/resources/list_changed", NULL, tag);
}

static void notify_resource(struct stdio *r, const char *uri, const json_t *tag)
{
    notify(r, "notifications/resources/updated", uri, tag);
}

/* --- opening --------------------------------------------------------------------------------- */

static void replace(char **field, const char *value)
{
    free(*field);
    *field = value != NULL && value[0] != '\0' ? hf_xstrdup(value) : NULL;
}

static bool has_calls(const struct stdio *r)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, (struct list *)&r->sent) {
        const struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->purpose == STDIO_CLIENT && c->revision == NULL && !c->cancelled &&
            stdio_call_id(c) != NULL && !stdio_call_is(c, "initialize"))
            return true;
    }
    return false;
}

/* The session of `r` is no longer used. It is left to expire if its end would cancel calls. */
static void end_session(struct stdio *r)
{
    struct stdio_call *c;

    if (r->id == NULL || has_calls(r))
        return;
    c = stdio_call_new(r, STDIO_OWN, NULL, "", 0);
    c->http_method = "DELETE";
    c->session = r->id;
    r->id = NULL;
}

static void subscribe_again(struct stdio *r)
{
    const char *uri;
    json_t *v;

    json_object_foreach (r->uris, uri, v) {
        hf_autobuf struct buf text = {0};
        struct json_out o;

        json_out_init(&o, &text);
        json_open(&o, '{');
        json_kstr(&o, "jsonrpc", "2.0");
        json_kstr(&o, "id", "holdfast-subscribe");
        json_kstr(&o, "method", "resources/subscribe");
        json_kopen(&o, "params", '{');
        json_kstr(&o, "uri", uri);
        json_close(&o, '}');
        json_close(&o, '}');
        stdio_call_new(r, STDIO_OWN, NULL, buf_data(&text), text.len);
        notify_resource(r, uri, NULL);
    }
}

/* The client knows nothing of the new session: it only may have missed notifications. */
static void reopened(struct stdio *r)
{
    if (!r->ready)
        return;
    stdio_call_new(r, STDIO_OWN, NULL, INITIALIZED, strlen(INITIALIZED));
    subscribe_again(r);
    notify_list(r, NULL);
    r->feed_at = 1;
}

static void opened(struct stdio_call *c, const json_t *message)
{
    struct stdio *r = c->relay;
    const json_t *result = json_object_get(message, "result");
    size_t at = 0;

    end_session(r);
    replace(&r->id, http1_header(&c->stream.response, "Mcp-Session-Id", &at));
    replace(&r->version, request_json_text(result, "protocolVersion"));
    r->state = STDIO_OPEN;
    r->opening = NULL;
    if (c->purpose == STDIO_REOPEN)
        reopened(r);
}

void stdio_session_reopen(struct stdio *r)
{
    json_auto_t *message = json_parse(buf_data(&r->initialize), r->initialize.len, NULL);
    struct stdio_call *c =
        stdio_call_new(r, STDIO_REOPEN, message, buf_data(&r->initialize), r->initialize.len);

    list_remove(&c->link);
    list_prepend(&r->waiting, &c->link);
    r->state = STDIO_OPENING;
    r->opening = c;
}

/* An initialize that ends without a session: none is open, or it is opened again when it is needed.
 */
void stdio_session_forget(struct stdio_call *c)
{
    struct stdio *r = c->relay;

    if (r->feed == c)
        r->feed = NULL;
    if (r->opening != c)
        return;
    r->opening = NULL;
    if (c->purpose == STDIO_REOPEN)
        stdio_session_rest(r);
    else
        r->state = STDIO_NONE;
}

void stdio_session_refuse_waiting(struct stdio *r, const char *code, const char *detail)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->waiting) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (stdio_call_needs_session(c))
            stdio_call_refuse(c, code, detail);
    }
}

void stdio_session_rest(struct stdio *r)
{
    r->state = STDIO_LOST;
    if (r->ready)
        r->feed_at = clock_mono_ms() + STDIO_PAUSE_MAX_MS;
}

/* --- the client's messages ------------------------------------------------------------------- */

void stdio_session_note(struct stdio_call *c)
{
    struct stdio *r = c->relay;

    if (c->revision != NULL)
        return;
    if (stdio_call_is(c, "initialize") && stdio_call_id(c) != NULL) {
        r->state = STDIO_OPENING;
        r->opening = c;
        r->ready = false;
        r->feed_at = 0;
        if (r->feed != NULL)
            stdio_call_free(r->feed);
        end_session(r);
        replace(&r->id, NULL);
        replace(&r->version, NULL);
        json_object_clear(r->uris);
        buf_clear(&r->initialize);
        buf_put(&r->initialize, buf_data(&c->body), c->body.len);
    } else if (stdio_call_is(c, "notifications/initialized")) {
        r->ready = true;
        r->feed_at = 1;
    }
}

static struct stdio_call *find(struct list *calls, const json_t *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, calls) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (stdio_call_id(c) != NULL && json_equal(stdio_call_id(c), id))
            return c;
    }
    return NULL;
}

bool stdio_session_cancel(struct stdio *r, const json_t *id, const char *text, size_t len)
{
    struct stdio_call *c = find(&r->waiting, id);

    if (c != NULL) { /* it was not sent, or is not sent again */
        stdio_call_free(c);
        return true;
    }
    c = find(&r->sent, id);
    if (c == NULL)
        return false;
    if (c->revision != NULL) {
        stdio_call_free(c); /* a self-contained request is cancelled by closing its connection */
        return true;
    }
    if (c->cancelled)
        return false;
    c->cancelled = true;
    buf_put(&c->cancellation, text, len);
    c->cancel_pause_ms = STDIO_PAUSE_MS;
    c->cancel_at = clock_mono_ms() + STDIO_PAUSE_MS;
    return false;
}

void stdio_session_cancel_again(struct stdio *r)
{
    uint64_t now = clock_mono_ms();
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->sent) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->cancel_at == 0 || now < c->cancel_at)
            continue;
        stdio_call_new(r, STDIO_OWN, NULL, buf_data(&c->cancellation), c->cancellation.len);
        c->cancel_pause_ms = stdio_longer_pause(c->cancel_pause_ms);
        c->cancel_at = now + c->cancel_pause_ms;
    }
}

/* --- messages from the daemon ---------------------------------------------------------------- */

static void note_subscription(struct stdio_call *c, const json_t *message)
{
    const char *uri = request_json_text(params_of(c), "uri");

    if (json_object_get(message, "result") == NULL || c->revision != NULL)
        return;
    if (stdio_call_is(c, "resources/subscribe"))
        json_object_set_new(c->relay->uris, uri, json_true());
    else if (stdio_call_is(c, "resources/unsubscribe"))
        json_object_del(c->relay->uris, uri);
}

/* The worker is being replaced. A tool that was refused for this reason has done nothing. */
static bool is_shutting_down(struct stdio_call *c, const json_t *message)
{
    const json_t *result = json_object_get(message, "result");
    const json_t *content = json_array_get(json_object_get(result, "content"), 0);

    if (strcmp(code_of(message), "shutting_down") == 0)
        return true;
    if (json_is_true(json_object_get(result, "isError")) &&
        strncmp(request_json_text(content, "text"), "shutting_down:", 14) == 0) {
        c->untouched = true;
        return true;
    }
    return stdio_call_is(c, "subscriptions/listen") && result != NULL;
}

static void take_reply(struct stdio_call *c, const json_t *message, const char *text, size_t len)
{
    bool initializes = c->purpose == STDIO_REOPEN || stdio_call_is(c, "initialize");

    if (!c->cancelled && is_shutting_down(c, message)) {
        c->lost = true;
        return;
    }
    c->replied = true;
    if (initializes && c->revision == NULL && json_object_get(message, "result") != NULL)
        opened(c, message);
    else if (c->purpose == STDIO_REOPEN)
        stdio_session_refuse_waiting(
            c->relay, code_of(message),
            request_json_text(json_object_get(message, "error"), "message"));
    note_subscription(c, message);
    if (c->purpose == STDIO_CLIENT)
        stdio_print(c->relay, text, len);
}

/* A stream that was opened again: the client has its acknowledgement, but may have missed
 * something. */
static void listening_again(struct stdio_call *c)
{
    const json_t *wish = json_object_get(params_of(c), "notifications");
    const json_t *uris = json_object_get(wish, "resourceSubscriptions"), *id = stdio_call_id(c);
    size_t i;
    json_t *uri;

    if (json_is_true(json_object_get(wish, "resourcesListChanged")))
        notify_list(c->relay, id);
    json_array_foreach ((json_t *)uris, i, uri)
        if (json_is_string(uri))
            notify_resource(c->relay, json_string_value(uri), id);
}

void stdio_session_receive(struct stdio_call *c, json_t *message, const char *text, size_t len)
{
    const char *method = request_json_text(message, "method");

    if (method[0] == '\0' && json_is_object(message)) {
        take_reply(c, message, text, len);
    } else if (strcmp(method, "notifications/subscriptions/acknowledged") == 0 && c->acknowledged) {
        listening_again(c);
    } else {
        c->acknowledged = true;
        stdio_print(c->relay, text, len);
    }
}

/* --- the end of a response ------------------------------------------------------------------- */

/* A try that lasted was no failure to accept the message. */
static bool is_new_trouble(const struct stdio_call *c, uint64_t now)
{
    return c->trouble_since == 0 || now - c->began >= STDIO_PAUSE_MAX_MS;
}

void stdio_session_note_trouble(struct stdio *r)
{
    uint64_t now = clock_mono_ms();
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->waiting) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->trouble_since == 0)
            c->trouble_since = now;
    }
}

static bool client_waits(const struct stdio *r)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, (struct list *)&r->waiting) {
        if (list_entry(it, struct stdio_call, link)->purpose == STDIO_CLIENT)
            return true;
    }
    return false;
}

/* The client's messages have their own time to wait, and the session must be opened for them. */
static bool may_wait(const struct stdio_call *c)
{
    uint64_t now = clock_mono_ms();

    if (c->purpose == STDIO_REOPEN && client_waits(c->relay))
        return true;
    return is_new_trouble(c, now) || now - c->trouble_since < STDIO_DOWN_MS;
}

void stdio_session_expire(struct stdio *r)
{
    uint64_t now = clock_mono_ms();
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->waiting) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->trouble_since == 0 || now - c->trouble_since < STDIO_DOWN_MS)
            continue;
        if (c->purpose == STDIO_CLIENT)
            stdio_call_refuse(c, "connection_lost",
                              c->tries > 0 ? STDIO_MAY_BE_DONE : r->why.detail);
        else if (c->purpose != STDIO_REOPEN || !client_waits(r))
            stdio_call_free(c);
    }
}

static void send_again(struct stdio_call *c)
{
    struct stdio *r = c->relay;
    uint64_t now = clock_mono_ms();
    unsigned pause = STDIO_PAUSE_MS;

    if (is_new_trouble(c, now)) {
        c->trouble_since = now;
        c->fails = 1;
    }
    for (unsigned i = 1; i < c->fails && pause < STDIO_PAUSE_MAX_MS; i++)
        pause = stdio_longer_pause(pause);
    c->retry_at = now + pause;
    hf_fail(&r->why, HF_E_bad_value,
            "%s closed the connection without a reply; is it a holdfast daemon, and is it running?",
            r->call->place.url);
    sse_parse_fini(&c->events);
    c->events = (struct sse_parse){0};
    c->has_events = c->is_sent = false;
    fetch_close(&c->stream);
    buf_fini(&c->reply);
    list_remove(&c->link);
    list_prepend(&r->waiting, &c->link);
    if (c->purpose == STDIO_REOPEN)
        stdio_session_note_trouble(r);
}

/* The status and body of a refusal as an error reply, with the id of the request. */
static void refused(struct stdio_call *c, int status)
{
    struct stdio *r = c->relay;
    json_auto_t *body = json_parse(c->reply.len > 0 ? buf_data(&c->reply) : "", c->reply.len, NULL);
    json_t *error = json_object_get(body, "error");
    const json_t *id = stdio_call_id(c);
    char detail[DETAIL_BYTES];

    if (json_is_object(error) && id != NULL && c->purpose == STDIO_CLIENT) {
        json_object_set(body, "id", (json_t *)id);
        stdio_print_json(r, body);
        stdio_call_free(c);
        return;
    }
    if (json_is_object(error) && c->purpose == STDIO_CLIENT && stdio_call_method(c)[0] == '\0') {
        stdio_print_json(r, body);
        stdio_call_free(c);
        return;
    }
    if (error != NULL)
        snprintf(detail, sizeof detail, "%s", request_json_text(error, "message"));
    else if (request_json_text(body, "detail")[0] != '\0')
        snprintf(detail, sizeof detail, "%s", request_json_text(body, "detail"));
    else
        snprintf(detail, sizeof detail, "%s returned status %d; is it a holdfast daemon?",
                 r->call->place.url, status);
    if (id == NULL && c->purpose != STDIO_OWN)
        command_complain(r->call, 0, "%s", detail);
    stdio_call_refuse(c, error != NULL ? code_of(body) : request_json_text(body, "code"), detail);
}

static bool is_unknown_session(const struct stdio_call *c, bool complete)
{
    return complete && c->is_sent && c->stream.response.status == 404 && c->sent_in != NULL &&
           stdio_call_needs_session(c);
}

static void feed_ended(struct stdio_call *c, bool complete)
{
    struct stdio *r = c->relay;
    int status = c->stream.response.status;

    r->feed = NULL;
    if (!complete || status == 200 || request_may_retry(status))
        r->feed_at = clock_mono_ms() + STDIO_PAUSE_MS;
    stdio_call_free(c);
}

static void lost(struct stdio_call *c)
{
    bool own = c->purpose == STDIO_OWN;

    if (c->cancelled || own || (stdio_call_id(c) == NULL && c->purpose != STDIO_REOPEN)) {
        stdio_call_free(c);
    } else if ((c->repeatable || c->untouched) && may_wait(c)) {
        send_again(c);
    } else {
        stdio_call_refuse(c, "connection_lost", STDIO_MAY_BE_DONE);
    }
}

/* The daemon refused the token, which may have been replaced meanwhile. */
static bool renew_token(struct stdio_call *c)
{
    struct stdio *r = c->relay;

    if (c->token == r->tokens && !daemon_address_renew_token(&r->call->place, r->call->token_file))
        return false;
    if (c->token == r->tokens)
        r->tokens++;
    if (r->ready && r->feed == NULL && r->feed_at == 0)
        r->feed_at = 1;
    send_again(c);
    c->retry_at = 0;
    return true;
}

void stdio_session_ended(struct stdio_call *c, bool complete)
{
    struct stdio *r = c->relay;
    int status = complete ? c->stream.response.status : 0;

    if (status == 401 && renew_token(c))
        return;
    if (is_unknown_session(c, complete)) {
        if (r->state == STDIO_OPEN && r->id != NULL && strcmp(r->id, c->sent_in) == 0) {
            r->state = STDIO_LOST;
            replace(&r->id, NULL);
        }
        if (c->purpose == STDIO_FEED) {
            r->feed_at = clock_mono_ms() + r->feed_pause_ms;
            r->feed_pause_ms = stdio_longer_pause(r->feed_pause_ms);
            stdio_call_free(c);
        } else if (c->fails < STDIO_TRIES && c->purpose == STDIO_CLIENT) {
            send_again(c);
            c->retry_at = 0;
        } else {
            refused(c, status);
        }
    } else if (c->purpose == STDIO_FEED && status < 400) {
        feed_ended(c, complete);
    } else if (c->replied) {
        stdio_call_free(c);
    } else if (c->purpose == STDIO_FEED && request_may_retry(status)) {
        feed_ended(c, complete);
    } else if (!complete || c->lost ||
               (c->repeatable && request_may_retry(status) && c->fails < STDIO_TRIES &&
                c->purpose != STDIO_OWN)) {
        lost(c);
    } else if (status >= 400) {
        refused(c, status);
    } else {
        stdio_call_refuse(c, NULL, "the daemon ended the call without a reply");
    }
}

/* --- the stream, and the end ----------------------------------------------------------------- */

void stdio_session_open_feed(struct stdio *r)
{
    r->feed_at = 0;
    r->feed = stdio_call_new(r, STDIO_FEED, NULL, "", 0);
    r->feed->http_method = "GET";
}

void stdio_session_close(struct stdio *r)
{
    if (r->feed != NULL)
        stdio_call_free(r->feed);
    r->feed_at = 0;
    if (r->state == STDIO_OPEN)
        end_session(r);
}

void stdio_session_fini(struct stdio *r)
{
    free(r->id);
    free(r->version);
    buf_fini(&r->initialize);
    json_decref(r->uris);
}
