/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_rpc.c - JSON-RPC messages. Layer: dialects.
 */
#include "dialects/mcp/mcp_rpc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/mcp_limits.h"

int rpc_fail(struct rpc_fault *f, enum rpc_code code, json_t *id, const char *fmt, ...)
{
    va_list ap;

    f->code = code;
    f->id = id;
    va_start(ap, fmt);
    vsnprintf(f->message, sizeof f->message, fmt, ap);
    va_end(ap);
    return -1;
}

bool rpc_is_id(const json_t *v)
{
    return json_is_string(v) || json_is_integer(v);
}

int rpc_body_parse(struct rpc_body *b, const char *text, size_t len, struct rpc_fault *f)
{
    struct hf_error err = {0};

    *b = (struct rpc_body){.count = 1};
    b->tree = json_parse(text, len, &err);
    if (b->tree == NULL)
        return rpc_fail(f, RPC_PARSE_ERROR, NULL, "%s", err.detail);
    if (!json_is_array(b->tree))
        return 0;
    b->batch = true;
    b->count = json_array_size(b->tree);
    if (b->count == 0)
        return rpc_fail(f, RPC_INVALID_REQUEST, NULL, "a batch must have at least one message");
    if (b->count > LIMIT_MCP_BATCH)
        return rpc_fail(f, RPC_INVALID_REQUEST, NULL, "a batch can have at most %d messages",
                        LIMIT_MCP_BATCH);
    return 0;
}

void rpc_body_fini(struct rpc_body *b)
{
    json_decref(b->tree);
    b->tree = NULL;
}

/* A message without a method must be a response. */
static int decode_response(const json_t *v, struct rpc_message *out, struct rpc_fault *f)
{
    bool result = json_object_get(v, "result") != NULL, error = json_object_get(v, "error") != NULL;

    if (result == error)
        return rpc_fail(f, RPC_INVALID_REQUEST, out->id,
                        "a message must have a \"method\", or one of \"result\" and \"error\"");
    if (out->id == NULL && result)
        return rpc_fail(f, RPC_INVALID_REQUEST, NULL,
                        "a response must have the \"id\" of its request");
    out->kind = RPC_RESPONSE;
    return 0;
}

static int decode_method(const json_t *method, struct rpc_message *out, struct rpc_fault *f)
{
    out->method = json_string_value(method);
    if (out->method == NULL || strlen(out->method) != json_string_length(method) ||
        out->method[0] == '\0')
        return rpc_fail(f, RPC_INVALID_REQUEST, out->id, "\"method\" must be the name of a method");
    out->kind = out->id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    if (out->params != NULL && !json_is_object(out->params))
        return rpc_fail(f, RPC_INVALID_PARAMS, out->id, "\"params\" must be an object");
    return 0;
}

static int decode(json_t *v, struct rpc_message *out, struct rpc_fault *f)
{
    const char *version = json_string_value(json_object_get(v, "jsonrpc"));
    json_t *id = json_object_get(v, "id"), *method = json_object_get(v, "method");

    *out = (struct rpc_message){.params = json_object_get(v, "params")};
    if (!json_is_object(v))
        return rpc_fail(f, RPC_INVALID_REQUEST, NULL, "a message must be a JSON object");
    if (id != NULL && !rpc_is_id(id))
        return rpc_fail(f, RPC_INVALID_REQUEST, NULL, "\"id\" must be a string or an integer");
    out->id = id;
    if (version == NULL || strcmp(version, "2.0") != 0)
        return rpc_fail(f, RPC_INVALID_REQUEST, id, "\"jsonrpc\" must be \"2.0\"");
    return method != NULL ? decode_method(method, out, f) : decode_response(v, out, f);
}

int rpc_body_message(const struct rpc_body *b, size_t i, struct rpc_message *out,
                     struct rpc_fault *f)
{
    return decode(b->batch ? json_array_get(b->tree, i) : b->tree, out, f);
}

json_t *rpc_meta(const struct rpc_message *m, const char *key)
{
    return json_object_get(json_object_get(m->params, "_meta"), key);
}

json_t *rpc_progress_token(const struct rpc_message *m)
{
    json_t *token = rpc_meta(m, "progressToken");

    return rpc_is_id(token) ? token : NULL;
}

/* --- writing ---------------------------------------------------------------------- */

static struct json_out open_message(struct buf *out)
{
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "jsonrpc", "2.0");
    return o;
}

static struct json_out open_reply(struct buf *out, const json_t *id, const char *member)
{
    struct json_out o = open_message(out);

    json_key(&o, "id");
    if (id != NULL)
        json_value(&o, id);
    else
        json_nil(&o);
    json_kopen(&o, member, '{');
    return o;
}

struct json_out rpc_open_result(struct buf *out, const json_t *id)
{
    return open_reply(out, id, "result");
}

struct json_out rpc_open_notification(struct buf *out, const char *method)
{
    struct json_out o = open_message(out);

    json_kstr(&o, "method", method);
    json_kopen(&o, "params", '{');
    return o;
}

void rpc_close(struct json_out *o)
{
    json_close(o, '}');
    json_close(o, '}');
    assert(o->depth == 0);
}

void rpc_write_error(struct buf *out, const json_t *id, int code, const char *message,
                     const char *data)
{
    struct json_out o = open_reply(out, id, "error");

    json_kint(&o, "code", code);
    json_kstr(&o, "message", message);
    if (data != NULL) {
        json_key(&o, "data");
        json_raw(&o, data, strlen(data));
    }
    rpc_close(&o);
}
