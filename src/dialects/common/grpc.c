/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.c - calls and their replies: as gRPC, or as JSON through the gateway. Layer: dialects.
 */
#include "dialects/common/grpc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dialects/common/dialect_base.h"

bool grpc_is_json(const struct http_request *rq)
{
    const char *type = http_header(rq, "Content-Type");

    return type == NULL || strncasecmp(type, GRPC_TYPE, strlen(GRPC_TYPE)) != 0;
}

/* --- requests ------------------------------------------------------------------------------- */

json_t *grpc_request(struct http_request *rq, const struct pb_message *m)
{
    struct hf_error err = {0};
    enum grpc_code code;
    const char *why, *body, *message;
    size_t len, message_len;
    json_t *tree;

    if (grpc_is_json(rq)) {
        dialect_fail(rq, HF_E_unsupported_media_type,
                     "This endpoint requires gRPC: Content-Type " GRPC_TYPE ".");
        return NULL;
    }
    body = http_body(rq, &len);
    message = grpc_unframe(body, len, &message_len, &code, &why);
    if (message == NULL) {
        grpc_fail(rq, code, why);
        return NULL;
    }
    tree = pb_from_wire(m, message, message_len, &err);
    if (tree == NULL)
        grpc_fail(rq, GRPC_INVALID_ARGUMENT, err.detail);
    return tree;
}

/* False: it is not base64. */
static bool gateway_bytes(json_t *tree, const char *name, const char *text)
{
    struct buf bytes = {0};
    bool ok = base64_decode(&bytes, text, strlen(text));

    if (ok)
        json_object_set_new(tree, name, json_stringn_nocheck(buf_cstr(&bytes), bytes.len));
    buf_fini(&bytes);
    return ok;
}

json_t *grpc_gateway_request(struct http_request *rq, const struct pb_message *m)
{
    json_t *tree = json_object();
    char why[100];

    for (size_t i = 0; i < m->count; i++) {
        const struct pb_field *f = &m->fields[i];
        const char *text = f->kind == PB_TEXT    ? http_param(rq, f->name)
                           : f->kind == PB_BYTES ? http_query(rq, f->name)
                                                 : NULL;

        if (text == NULL)
            continue;
        if (f->kind == PB_TEXT) {
            json_object_set_new(tree, f->name, json_string_nocheck(text));
        } else if (!gateway_bytes(tree, f->name, text)) {
            json_decref(tree);
            snprintf(why, sizeof why, "%s must be base64", f->name);
            grpc_fail(rq, GRPC_INVALID_ARGUMENT, why);
            return NULL;
        }
    }
    return tree;
}

uint64_t grpc_deadline(const struct http_request *rq)
{
    const char *text = http_header(rq, "grpc-timeout");
    uint64_t ms;

    return text != NULL && grpc_timeout(text, &ms) ? loop_now_ms(http_loop(rq)) + ms : 0;
}

/* --- errors --------------------------------------------------------------------------------- */

static int status_of(enum grpc_code code)
{
    static const int statuses[] = {
        [GRPC_OK] = 200,
        [GRPC_CANCELED] = 499,
        [GRPC_UNKNOWN] = 500,
        [GRPC_INVALID_ARGUMENT] = 400,
        [GRPC_DEADLINE_EXCEEDED] = 504,
        [GRPC_NOT_FOUND] = 404,
        [GRPC_ALREADY_EXISTS] = 409,
        [GRPC_PERMISSION_DENIED] = 403,
        [GRPC_RESOURCE_EXHAUSTED] = 429,
        [GRPC_FAILED_PRECONDITION] = 400,
        [GRPC_ABORTED] = 409,
        [GRPC_OUT_OF_RANGE] = 400,
        [GRPC_UNIMPLEMENTED] = 501,
        [GRPC_INTERNAL] = 500,
        [GRPC_UNAVAILABLE] = 503,
        [GRPC_DATA_LOSS] = 500,
        [GRPC_UNAUTHENTICATED] = 401,
    };

    return statuses[code];
}

static enum grpc_code code_of(const struct hf_error *err, bool json)
{
    static const struct {
        int status;
        enum grpc_code code;
    } rows[] = {
        {401, GRPC_UNAUTHENTICATED},    {403, GRPC_PERMISSION_DENIED},
        {404, GRPC_NOT_FOUND},          {405, GRPC_UNIMPLEMENTED},
        {408, GRPC_DEADLINE_EXCEEDED},  {409, GRPC_FAILED_PRECONDITION},
        {413, GRPC_RESOURCE_EXHAUSTED}, {415, GRPC_UNIMPLEMENTED},
        {426, GRPC_UNIMPLEMENTED},      {429, GRPC_RESOURCE_EXHAUSTED},
        {431, GRPC_RESOURCE_EXHAUSTED}, {501, GRPC_UNIMPLEMENTED},
        {503, GRPC_UNAVAILABLE},        {507, GRPC_RESOURCE_EXHAUSTED},
    };
    int status = hf_code_status(err->code);

    if (err->code == HF_E_spawn_failed)
        return GRPC_INTERNAL;
    if (err->code == HF_E_not_found && !json)
        return GRPC_UNIMPLEMENTED; /* an unknown method */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status)
            return rows[i].code;
    return status >= 500 ? GRPC_INTERNAL : GRPC_INVALID_ARGUMENT;
}

static void write_status(struct json_out *o, enum grpc_code code, const char *message)
{
    json_open(o, '{');
    json_kint(o, "code", code);
    json_kstr(o, "message", message);
    json_key(o, "details");
    json_raw(o, "[]", 2);
    json_close(o, '}');
}

static void fail_with(struct http_request *rq, int status, enum grpc_code code, const char *message)
{
    struct buf text = {0};
    struct json_out o;
    char digits[8];

    if (grpc_is_json(rq)) {
        json_out_init(&o, &text);
        write_status(&o, code, message);
        http_reply_json(rq, status, &text);
    } else {
        snprintf(digits, sizeof digits, "%d", code);
        grpc_put_message(&text, message);
        http_add_header(rq, "grpc-status", digits);
        http_add_header(rq, "grpc-message", buf_cstr(&text));
        http_reply(rq, 200, GRPC_TYPE, NULL, 0);
    }
    buf_fini(&text);
}

void grpc_fail(struct http_request *rq, enum grpc_code code, const char *message)
{
    fail_with(rq, status_of(code), code, message);
}

void grpc_error(struct http_request *rq, const struct hf_error *err)
{
    const char *text = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);

    fail_with(rq, hf_code_status(err->code), code_of(err, grpc_is_json(rq)), text);
}

/* --- streams -------------------------------------------------------------------------------- */

const char *grpc_stream_type(bool json)
{
    return json ? "application/json" : GRPC_TYPE;
}

static void send_message(struct http_stream *st, const struct pb_message *m, const json_t *tree)
{
    char head[GRPC_HEAD_BYTES];
    struct buf wire = {0};

    pb_to_wire(m, tree, &wire);
    grpc_head(head, wire.len);
    http_stream_write(st, (struct iovec[]){{head, sizeof head}, {buf_data(&wire), wire.len}}, 2);
    buf_fini(&wire);
}

static struct json_out open_line(struct buf *text, const char *key)
{
    struct json_out o;

    json_out_init(&o, text);
    json_open(&o, '{');
    json_key(&o, key);
    return o;
}

static void send_line(struct http_stream *st, struct json_out *o)
{
    json_close(o, '}');
    buf_putc(o->buf, '\n');
    http_stream_write(st, &(struct iovec){buf_data(o->buf), o->buf->len}, 1);
    buf_fini(o->buf);
}

void grpc_stream_send(struct http_stream *st, bool json, const struct pb_message *m,
                      const json_t *tree)
{
    struct buf text = {0};
    struct json_out o;

    if (!json) {
        send_message(st, m, tree);
        return;
    }
    o = open_line(&text, "result");
    pb_to_json(m, tree, &o);
    send_line(st, &o);
}

void grpc_stream_send_bytes(struct http_stream *st, uint32_t number, const void *bytes, size_t len)
{
    char head[GRPC_HEAD_BYTES + 20];
    size_t n = GRPC_HEAD_BYTES;

    n += pb_varint(head + n, (uint64_t)number << 3 | 2); /* 2: a length and bytes follow */
    n += pb_varint(head + n, len);
    grpc_head(head, n - GRPC_HEAD_BYTES + len);
    http_stream_write(st, (struct iovec[]){{head, n}, {(void *)(uintptr_t)bytes, len}}, 2);
}

static void send_trailers(struct http_stream *st, enum grpc_code code, const char *message)
{
    struct buf text = {0};
    char digits[8];

    snprintf(digits, sizeof digits, "%d", code);
    http_stream_trailer(st, "grpc-status", digits);
    if (message != NULL) {
        grpc_put_message(&text, message);
        http_stream_trailer(st, "grpc-message", buf_cstr(&text));
    }
    buf_fini(&text);
}

void grpc_stream_result(struct http_stream *st, bool json, enum grpc_code code, const char *message)
{
    struct buf text = {0};
    struct json_out o;

    if (!json) {
        send_trailers(st, code, message);
    } else if (code != GRPC_OK) {
        o = open_line(&text, "error");
        write_status(&o, code, message);
        send_line(st, &o);
    }
}

/* --- one message ---------------------------------------------------------------------------- */

static void ignore(void *arg)
{
    (void)arg;
}

void grpc_reply(struct http_request *rq, const struct pb_message *m, const json_t *tree)
{
    static const struct http_stream_ops ops = {ignore, ignore}; /* it ends before it returns */
    struct buf text = {0};
    struct http_stream *st;
    struct json_out o;

    if (grpc_is_json(rq)) {
        json_out_init(&o, &text);
        pb_to_json(m, tree, &o);
        http_reply_json(rq, 200, &text);
        buf_fini(&text);
        return;
    }
    st = http_stream_start(rq, 200, GRPC_TYPE, &ops, NULL);
    send_message(st, m, tree);
    send_trailers(st, GRPC_OK, NULL);
    http_stream_end(st);
}
