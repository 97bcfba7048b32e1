/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_rpc.c - a call and its reply: as gRPC, or as JSON through the gateway
 *
 * gRPC always replies 200: the result of the call is in the trailers, or in the head if there is
 * nothing else. The gateway uses the status. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dialects/gitpod/gitpod.h"

static bool is_grpc(const struct http_request *rq)
{
    const char *type = http_header(rq, "Content-Type");

    return type != NULL && strncasecmp(type, GRPC_TYPE, strlen(GRPC_TYPE)) == 0;
}

bool gitpod_is_json(const struct http_request *rq)
{
    return !is_grpc(rq);
}

/* --- decoding ------------------------------------------------------------------------ */

/* The gateway has the fields in its path and its query. */
static json_t *json_request(struct http_request *rq, const struct pb_message *m)
{
    const char *alias = http_param(rq, "alias"), *text = http_query(rq, "stdin");
    json_t *message = json_object();
    struct buf bytes = {0};

    if (alias != NULL)
        json_object_set_new(message, "alias", json_stringn_nocheck(alias, strlen(alias)));
    if (m == &gitpod_write_request && text != NULL) {
        if (!base64_decode(&bytes, text, strlen(text))) {
            json_decref(message);
            gitpod_fail(rq, GRPC_INVALID_ARGUMENT, "stdin must be base64");
            return NULL;
        }
        json_object_set_new(message, "stdin", json_stringn_nocheck(buf_cstr(&bytes), bytes.len));
    }
    buf_fini(&bytes);
    return message;
}

json_t *gitpod_request(struct http_request *rq, const struct pb_message *m)
{
    struct hf_error err = {0};
    enum grpc_code code;
    const char *why, *body, *message;
    size_t len, message_len;
    json_t *tree;

    if (strstr(http_path(rq), "/supervisor.TerminalService/") == NULL)
        return json_request(rq, m);
    if (!is_grpc(rq)) {
        hf_fail(&err, HF_E_unsupported_media_type,
                "This endpoint requires gRPC: Content-Type " GRPC_TYPE ".");
        gitpod_error(rq, &err);
        return NULL;
    }
    body = http_body(rq, &len);
    message = gitpod_unframe(body, len, &message_len, &code, &why);
    if (message == NULL) {
        gitpod_fail(rq, code, why);
        return NULL;
    }
    tree = pb_from_wire(m, message, message_len, &err);
    if (tree == NULL)
        gitpod_fail(rq, GRPC_INVALID_ARGUMENT, err.detail);
    return tree;
}

uint64_t gitpod_deadline(const struct http_request *rq)
{
    const char *text = http_header(rq, "grpc-timeout");
    uint64_t ms;

    return text != NULL && gitpod_timeout(text, &ms) ? loop_now_ms(http_loop(rq)) + ms : 0;
}

/* --- replies --------------------------------------------------------------------------- */

static void ignore(void *arg)
{
    (void)arg;
}

void gitpod_trailers(struct http_stream *st, enum grpc_code code, const char *message)
{
    struct buf text = {0};
    char digits[8];

    snprintf(digits, sizeof digits, "%d", code);
    http_stream_trailer(st, "grpc-status", digits);
    if (message != NULL) {
        gitpod_put_message(&text, message);
        http_stream_trailer(st, "grpc-message", buf_cstr(&text));
    }
    buf_fini(&text);
}

void gitpod_reply(struct http_request *rq, const struct buf *wire, const struct buf *json)
{
    static const struct http_stream_ops ops = {ignore, ignore}; /* it ends before it returns */
    char head[GRPC_HEAD_BYTES];
    struct iovec iov[] = {{head, sizeof head}, {buf_data(wire), wire->len}};
    struct http_stream *st;

    if (gitpod_is_json(rq)) {
        http_reply_json(rq, 200, json);
        return;
    }
    gitpod_head(head, wire->len);
    st = http_stream_start(rq, 200, GRPC_TYPE, &ops, NULL);
    http_stream_write(st, iov, 2);
    gitpod_trailers(st, GRPC_OK, NULL);
    http_stream_end(st);
}

void gitpod_reply_empty(struct http_request *rq)
{
    struct buf wire = {0}, json = {0};

    buf_puts(&json, "{}");
    gitpod_reply(rq, &wire, &json);
    buf_fini(&json);
}

static int status_of(enum grpc_code code)
{
    switch (code) {
    case GRPC_OK: return 200;
    case GRPC_INVALID_ARGUMENT:
    case GRPC_FAILED_PRECONDITION: return 400;
    case GRPC_DEADLINE_EXCEEDED: return 504;
    case GRPC_NOT_FOUND: return 404;
    case GRPC_PERMISSION_DENIED: return 403;
    case GRPC_RESOURCE_EXHAUSTED: return 429;
    case GRPC_UNIMPLEMENTED: return 501;
    case GRPC_UNAVAILABLE: return 503;
    case GRPC_UNAUTHENTICATED: return 401;
    case GRPC_INTERNAL: return 500;
    }
    return 500;
}

void gitpod_write_status(struct json_out *o, enum grpc_code code, const char *message)
{
    json_open(o, '{');
    json_kint(o, "code", code);
    json_kstr(o, "message", message);
    json_key(o, "details");
    json_open(o, '[');
    json_close(o, ']');
    json_close(o, '}');
}

static void fail_with(struct http_request *rq, int status, enum grpc_code code, const char *message)
{
    struct buf text = {0};
    struct json_out o;
    char digits[8];

    if (gitpod_is_json(rq)) {
        json_out_init(&o, &text);
        gitpod_write_status(&o, code, message);
        http_reply_json(rq, status, &text);
    } else {
        snprintf(digits, sizeof digits, "%d", code);
        gitpod_put_message(&text, message);
        http_add_header(rq, "grpc-status", digits);
        http_add_header(rq, "grpc-message", buf_cstr(&text));
        http_reply(rq, 200, GRPC_TYPE, NULL, 0);
    }
    buf_fini(&text);
}

void gitpod_fail(struct http_request *rq, enum grpc_code code, const char *message)
{
    fail_with(rq, status_of(code), code, message);
}

static enum grpc_code code_of(const struct hf_error *err, bool json)
{
    if (err->code == HF_E_spawn_failed)
        return GRPC_INTERNAL;
    if (err->code == HF_E_not_found)
        return json ? GRPC_NOT_FOUND : GRPC_UNIMPLEMENTED; /* an unknown method */
    switch (hf_code_status(err->code)) {
    case 401: return GRPC_UNAUTHENTICATED;
    case 403: return GRPC_PERMISSION_DENIED;
    case 404: return GRPC_NOT_FOUND;
    case 405:
    case 415:
    case 426:
    case 501: return GRPC_UNIMPLEMENTED;
    case 408: return GRPC_DEADLINE_EXCEEDED;
    case 409: return GRPC_FAILED_PRECONDITION;
    case 413:
    case 429:
    case 431:
    case 507: return GRPC_RESOURCE_EXHAUSTED;
    case 503: return GRPC_UNAVAILABLE;
    default: return hf_code_status(err->code) >= 500 ? GRPC_INTERNAL : GRPC_INVALID_ARGUMENT;
    }
}

void gitpod_error(struct http_request *rq, const struct hf_error *err)
{
    const char *text = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);

    fail_with(rq, hf_code_status(err->code), code_of(err, gitpod_is_json(rq)), text);
}
