/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_endpoint.c - /mcp: POST delivers messages, GET opens a session's stream, DELETE ends a
 * session
 *
 * The revision decides how a POST is handled. A message that names its revision in _meta is
 * self-contained and must repeat it in its headers. Every other message belongs to a session, or is
 * the `initialize` that creates one. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_notifications.h"
#include "dialects/mcp/mcp_server.h"
#include "dialects/mcp/mcp_session.h"
#include "transport/origin.h"
#include "transport/sse.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

/* --- refusals ---------------------------------------------------------------------- */

/* A refusal by the gate or the session; `data` carries the stable code. */
void mcp_refuse(struct http_request *rq, const struct hf_error *err)
{
    struct buf *out = &dialect_base_of(rq)->scratch;
    int status = hf_code_status(err->code);
    char data[64];

    snprintf(data, sizeof data, "{\"code\":\"%s\"}", hf_code_name(err->code));
    rpc_write_error(out, NULL, RPC_REFUSED, err->detail, data);
    if (status == 401)
        http_add_header(rq, "WWW-Authenticate", "Bearer");
    if (status == 405 && err->allow != NULL)
        http_add_header(rq, "Allow", err->allow);
    if (status == 429 || status == 503)
        http_add_header(rq, "Retry-After", "1");
    http_reply_json(rq, status, out);
}

static void refuse_fault(struct http_request *rq, const struct rpc_fault *f, const char *data)
{
    struct buf *out = &dialect_base_of(rq)->scratch;

    rpc_write_error(out, f->id, f->code, f->message, data);
    http_reply_json(rq, 400, out);
}

/* Lists the supported revisions for a client that named another one. */
static void refuse_version(struct http_request *rq, const char *version, json_t *id, bool stateless)
{
    struct mcp *m = mcp_of(rq);
    struct rpc_fault f;
    struct json_out o;

    buf_clear(&m->text);
    json_out_init(&o, &m->text);
    json_open(&o, '{');
    json_key(&o, "supported");
    revision_write_names(&o, stateless);
    json_kstr(&o, "requested", version);
    json_close(&o, '}');
    rpc_fail(&f, RPC_UNSUPPORTED_VERSION, id, "Unsupported protocol version");
    refuse_fault(rq, &f, buf_cstr(&m->text));
}

/* --- self-contained requests -------------------------------------------------------- */

static void post_stateless(struct http_request *rq, const struct rpc_body *b,
                           const struct rpc_message *msg)
{
    const char *version = json_string_value(rpc_meta(msg, META_VERSION));
    const struct revision *rev = revision_find(version);
    struct rpc_fault f;
    struct mcp_exchange *x;

    if (mcp_headers_check_version(rq, msg, version, &f) < 0) {
        refuse_fault(rq, &f, NULL);
    } else if (rev == NULL || !rev->stateless) {
        refuse_version(rq, version, msg->id, true);
    } else if (b->batch) {
        rpc_fail(&f, RPC_INVALID_REQUEST, NULL, "revision %s does not support batches", rev->name);
        refuse_fault(rq, &f, NULL);
    } else if (msg->kind == RPC_NOTIFICATION) {
        http_reply_empty(rq, 202);
    } else if (mcp_headers_check_names(rq, msg, &f) < 0) {
        refuse_fault(rq, &f, NULL);
    } else if (!json_is_object(rpc_meta(msg, META_CAPABILITIES))) {
        rpc_fail(&f, RPC_INVALID_PARAMS, msg->id, "_meta must have an object " META_CAPABILITIES);
        refuse_fault(rq, &f, NULL);
    } else if (strcmp(msg->method, "subscriptions/listen") == 0) {
        mcp_listen_start(rq, msg);
    } else {
        x = mcp_exchange_new(rq, NULL, rev);
        server_dispatch(x, msg);
        exchange_opened(x);
    }
}

/* --- sessions -------------------------------------------------------------------------- */

static bool is_initialize(const struct rpc_message *msg)
{
    return msg->kind == RPC_REQUEST && msg->method != NULL &&
           strcmp(msg->method, "initialize") == 0;
}

static void post_initialize(struct http_request *rq, const struct rpc_message *msg)
{
    struct mcp *m = mcp_of(rq);
    const char *wish = json_string_value(json_object_get(msg->params, "protocolVersion"));
    const struct revision *rev = revision_negotiate(wish);
    struct hf_error err = {0};
    struct rpc_fault f;
    struct mcp_exchange *x;
    struct mcp_session *s;

    if (wish == NULL) {
        rpc_fail(&f, RPC_INVALID_PARAMS, msg->id, "\"protocolVersion\" must be a string");
        refuse_fault(rq, &f, NULL);
        return;
    }
    if (dialect_check_open(&m->base, &err) < 0) {
        mcp_refuse(rq, &err);
        return;
    }
    s = mcp_session_new(m, rev, http_role(rq), http_principal(rq));
    if (s == NULL) {
        hf_fail(&err, HF_E_too_many_waits,
                "too many sessions are open, and none of them is idle; end one of them first");
        mcp_refuse(rq, &err);
        return;
    }
    http_add_header(rq, "Mcp-Session-Id", s->id);
    x = mcp_exchange_new(rq, s, rev);
    server_initialize(x, msg);
    exchange_opened(x);
}

/* In revisions that have the header, it must not name an unknown revision. */
static bool check_version(struct http_request *rq)
{
    const char *version = http_header(rq, "MCP-Protocol-Version");
    const struct revision *rev = version != NULL ? revision_find(version) : revision_assumed();

    if (rev != NULL && !rev->stateless)
        return true;
    refuse_version(rq, version, NULL, false);
    return false;
}

/* The session of the request; NULL: replied. */
static struct mcp_session *decode_session(struct http_request *rq)
{
    const char *id = http_header(rq, "Mcp-Session-Id");
    struct mcp_session *s;
    struct hf_error err;

    if (!check_version(rq))
        return NULL;
    s = mcp_session_find(mcp_of(rq), id, http_principal(rq));
    if (s != NULL)
        return s;
    if (id == NULL)
        hf_fail(&err, HF_E_bad_request,
                "Mcp-Session-Id is missing; send initialize first and use the session it returns");
    else
        hf_fail(&err, HF_E_not_found, "no such session, or it has expired; send initialize again");
    mcp_refuse(rq, &err);
    return NULL;
}

static void take_notification(struct mcp_session *s, const struct rpc_message *msg)
{
    if (strcmp(msg->method, "notifications/cancelled") == 0)
        mcp_session_cancel_call(s, json_object_get(msg->params, "requestId"));
}

/* One message of a session. */
static void take_message(struct mcp_exchange *x, const struct rpc_message *msg)
{
    struct rpc_fault f;

    if (msg->kind == RPC_NOTIFICATION) {
        take_notification(x->session, msg);
    } else if (is_initialize(msg)) {
        rpc_fail(&f, RPC_INVALID_REQUEST, msg->id, "this session is already initialized");
        exchange_add_fault(x, &f);
    } else if (msg->kind == RPC_REQUEST) {
        server_dispatch(x, msg);
    } /* Ignore responses: we send no requests. */
}

static void post_session(struct http_request *rq, const struct rpc_body *b)
{
    struct mcp_session *s = decode_session(rq);
    struct mcp_exchange *x;
    struct rpc_message msg;
    struct rpc_fault f;

    if (s == NULL)
        return;
    if (b->batch && !s->revision->batch) {
        rpc_fail(&f, RPC_INVALID_REQUEST, NULL, "revision %s does not support batches",
                 s->revision->name);
        refuse_fault(rq, &f, NULL);
        return;
    }
    x = mcp_exchange_new(rq, s, s->revision);
    x->batch = b->batch;
    for (size_t i = 0; i < b->count; i++) {
        if (rpc_body_message(b, i, &msg, &f) < 0)
            exchange_add_fault(x, &f);
        else
            take_message(x, &msg);
    }
    exchange_opened(x);
}

/* --- POST ------------------------------------------------------------------------------- */

static bool is_json_type(const char *type)
{
    size_t len = strlen("application/json");

    return type != NULL && strncasecmp(type, "application/json", len) == 0 &&
           strchr("; \t", type[len]) != NULL; /* or the NUL, which strchr() finds too */
}

static int check_types(const struct http_request *rq, struct hf_error *err)
{
    if (!is_json_type(http_header(rq, "Content-Type")))
        return hf_fail(err, HF_E_unsupported_media_type,
                       "messages must be application/json; set Content-Type");
    if (!http_accepts(rq, "application/json") || !http_accepts(rq, SSE_TYPE))
        return hf_fail(err, HF_E_not_acceptable,
                       "Accept must list both application/json and text/event-stream");
    return 0;
}

static void post_body(struct http_request *rq, const struct rpc_body *b)
{
    const struct revision *named = revision_find(http_header(rq, "MCP-Protocol-Version"));
    struct rpc_message msg;
    struct rpc_fault f;

    if (rpc_body_message(b, 0, &msg, &f) < 0 && !b->batch)
        refuse_fault(rq, &f, NULL);
    else if (msg.method != NULL && json_is_string(rpc_meta(&msg, META_VERSION)))
        post_stateless(rq, b, &msg);
    else if (named != NULL && named->stateless) {
        rpc_fail(&f, RPC_INVALID_PARAMS, msg.id, "_meta must have a string " META_VERSION);
        refuse_fault(rq, &f, NULL);
    } else if (!b->batch && is_initialize(&msg) && http_header(rq, "Mcp-Session-Id") == NULL)
        post_initialize(rq, &msg);
    else
        post_session(rq, b);
}

static void post_handle(struct http_request *rq)
{
    struct rpc_body b = {0};
    struct rpc_fault f;
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);

    if (check_types(rq, &err) < 0)
        mcp_refuse(rq, &err);
    else if (rpc_body_parse(&b, text, len, &f) < 0)
        refuse_fault(rq, &f, NULL);
    else
        post_body(rq, &b);
    rpc_body_fini(&b);
}

/* --- GET and DELETE ----------------------------------------------------------------------- */

/* The gate admits plain reads from any page; this protocol requires them to be refused. */
static int check_get(const struct http_request *rq, struct hf_error *err)
{
    const struct origin *o = dialect_base_of(rq)->host.origin;
    const char *origin = http_header(rq, "Origin");

    if (o != NULL && origin != NULL &&
        !origin_origin_ok(o, origin, http_header(rq, "Host"), http_is_tls(rq)))
        return hf_fail(err, HF_E_origin_refused,
                       "this Origin may not call the daemon; add it to the allowed origins");
    if (!http_accepts(rq, SSE_TYPE))
        return hf_fail(err, HF_E_not_acceptable, "Accept must list text/event-stream");
    return 0;
}

static void get_handle(struct http_request *rq)
{
    struct hf_error err = {0};
    struct mcp_session *s;

    if (check_get(rq, &err) < 0) {
        mcp_refuse(rq, &err);
        return;
    }
    s = decode_session(rq);
    if (s == NULL)
        return;
    if (http_method(rq) == HTTP_HEAD_M)
        http_reply(rq, 200, SSE_TYPE, "", 0);
    else
        mcp_feed_start(&s->feed, rq);
}

static void delete_handle(struct http_request *rq)
{
    struct mcp_session *s = decode_session(rq);

    if (s == NULL)
        return;
    session_free(s);
    http_reply_empty(rq, 204);
}

/* With and without a trailing slash: the latter is the root of a dedicated listener. */
static const struct route routes[] = {
    {HTTP_POST_M, "", post_handle, ROLE_WATCH, 0, LIMIT_MCP_BODY_BYTES, NULL},
    {HTTP_GET_M, "", get_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, "", delete_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {HTTP_POST_M, "/", post_handle, ROLE_WATCH, 0, LIMIT_MCP_BODY_BYTES, NULL},
    {HTTP_GET_M, "/", get_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, "/", delete_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
};

const struct route_group mcp_route_groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};
