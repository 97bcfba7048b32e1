/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_rpc.c - decodes Connect requests, sends replies and errors, selects processes.
 * Layer: dialects.
 */
#include "dialects/e2b/e2b_rpc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"

/* --- codes --------------------------------------------------------------------- */

/* In the order of gRPC's numbers, from 1 on. */
static const struct {
    const char *code;
    int status;
} statuses[] = {
    {"canceled", 499},
    {"unknown", 500},
    {"invalid_argument", 400},
    {"deadline_exceeded", 504},
    {"not_found", 404},
    {"already_exists", 409},
    {"permission_denied", 403},
    {"resource_exhausted", 429},
    {"failed_precondition", 400},
    {"aborted", 409},
    {"out_of_range", 400},
    {"unimplemented", 501},
    {"internal", 500},
    {"unavailable", 503},
    {"data_loss", 500},
    {"unauthenticated", 401},
};

int e2b_rpc_number(const char *code)
{
    for (size_t i = 0; code != NULL && i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].code, code) == 0)
            return (int)i + 1;
    return 0;
}

static int status_of(const char *code)
{
    int number = e2b_rpc_number(code);

    return number > 0 ? statuses[number - 1].status : 500;
}

/* The original's choice where it has one, else derived from the status. */
const char *e2b_rpc_code(const struct hf_error *err)
{
    switch (err->code) {
    case HF_E_no_such_process:
    case HF_E_not_running: return "not_found";
    case HF_E_tag_in_use: return "already_exists";
    case HF_E_stdin_closed:
    case HF_E_not_a_terminal: return "internal";
    case HF_E_lease_held: return "failed_precondition";
    case HF_E_unauthorized:
    case HF_E_user_unknown: return "unauthenticated";
    case HF_E_body_too_large:
        return "invalid_argument"; /* clients take the original's code for a
                                                            rate limit, and try again */
    case HF_E_not_implemented: return "unimplemented";
    case HF_E_request_timeout: return "deadline_exceeded";
    default: break;
    }
    switch (hf_code_status(err->code)) {
    case 403: return "permission_denied";
    case 404: return "not_found";
    case 429: return "resource_exhausted";
    case 503: return "unavailable";
    default: return hf_code_status(err->code) < 500 ? "invalid_argument" : "internal";
    }
}

/* --- forms ------------------------------------------------------------------------ */

static bool type_is(const char *given, const char *type)
{
    size_t len = strlen(type);

    return strncasecmp(given, type, len) == 0 &&
           (given[len] == '\0' || given[len] == ';' || given[len] == ' ');
}

static const char *stream_type(enum rpc_codec codec)
{
    return codec == RPC_JSON ? "application/connect+json" : "application/connect+proto";
}

const char *e2b_rpc_stream_type(const struct http_request *rq, enum rpc_codec codec)
{
    return e2b_grpc_is(rq, &(enum rpc_codec){0}) ? e2b_grpc_type(codec) : stream_type(codec);
}

static const char *unary_type(enum rpc_codec codec)
{
    return codec == RPC_JSON ? "application/json" : "application/proto";
}

bool e2b_rpc_form_of(const char *content_type, bool stream, struct rpc_form *out)
{
    for (int codec = RPC_JSON; content_type != NULL && codec <= RPC_PROTO; codec++)
        if (type_is(content_type, stream ? stream_type(codec) : unary_type(codec))) {
            *out = (struct rpc_form){codec, stream};
            return true;
        }
    return false;
}

void e2b_rpc_head(char *out, int flags, size_t len)
{
    out[0] = (char)flags;
    out[1] = (char)(len >> 24);
    out[2] = (char)(len >> 16);
    out[3] = (char)(len >> 8);
    out[4] = (char)len;
}

/* --- replies ------------------------------------------------------------------------ */

static void write_error(struct json_out *o, const char *code, const char *message)
{
    json_open(o, '{');
    json_kstr(o, "code", code);
    json_kstr(o, "message", message);
    json_close(o, '}');
}

void e2b_rpc_end(struct buf *out, const char *code, const char *message)
{
    struct buf text = {0};
    struct json_out o;
    char head[RPC_HEAD_BYTES];

    json_out_init(&o, &text);
    json_open(&o, '{');
    if (code != NULL) {
        json_key(&o, "error");
        write_error(&o, code, message);
    }
    json_close(&o, '}');
    e2b_rpc_head(head, RPC_FLAG_END, text.len);
    buf_put(out, head, sizeof head);
    buf_put(out, buf_data(&text), text.len);
    buf_fini(&text);
}

void e2b_rpc_fail(struct http_request *rq, const char *code, const char *message)
{
    struct buf *b = &dialect_base_of(rq)->scratch;
    struct rpc_form form;
    struct json_out o;

    if (e2b_grpc_is(rq, &form.codec)) {
        e2b_grpc_fail(rq, code, message);
        return;
    }
    buf_clear(b);
    if (e2b_rpc_form_of(http_header(rq, "Content-Type"), true, &form)) {
        e2b_rpc_end(b, code, message);
        http_reply(rq, 200, stream_type(form.codec), buf_data(b), b->len);
        return;
    }
    json_out_init(&o, b);
    write_error(&o, code, message);
    http_reply_json(rq, status_of(code), b);
}

void e2b_rpc_error(struct http_request *rq, const struct hf_error *err)
{
    e2b_rpc_fail(rq, e2b_rpc_code(err), err->detail);
}

static void reply_message(struct http_request *rq, enum rpc_codec codec, const void *bytes,
                          size_t len)
{
    if (e2b_grpc_is(rq, &codec))
        e2b_grpc_reply(rq, codec, bytes, len);
    else
        http_reply(rq, 200, unary_type(codec), bytes, len);
}

void e2b_rpc_reply(struct http_request *rq, const struct pb_message *m, enum rpc_codec codec,
                   const struct buf *json)
{
    json_auto_t *text = NULL, *tree = NULL;
    struct buf wire = {0};
    struct hf_error err;

    if (codec == RPC_JSON) {
        reply_message(rq, codec, buf_data(json), json->len);
        return;
    }
    text = json_parse(buf_data(json), json->len, &err);
    tree = text == NULL ? NULL : e2b_pb_from_json(m, text, &err);
    if (tree == NULL) {
        e2b_rpc_fail(rq, "internal", "the reply cannot be encoded as protobuf");
        return;
    }
    pb_to_wire(m, tree, &wire);
    reply_message(rq, codec, buf_data(&wire), wire.len);
    buf_fini(&wire);
}

static size_t empty_len(enum rpc_codec codec)
{
    return codec == RPC_JSON ? strlen("{}") : 0;
}

void e2b_rpc_reply_empty(struct http_request *rq, enum rpc_codec codec)
{
    reply_message(rq, codec, "{}", empty_len(codec));
}

void e2b_rpc_reply_empty_as(struct http_request *rq)
{
    struct rpc_form form = {0};

    if (e2b_grpc_is(rq, &form.codec) ||
        e2b_rpc_form_of(http_header(rq, "Content-Type"), false, &form))
        e2b_rpc_reply_empty(rq, form.codec);
}

void e2b_rpc_reply_stream_empty(struct http_request *rq, enum rpc_codec codec)
{
    struct buf *b = &dialect_base_of(rq)->scratch;
    char head[RPC_HEAD_BYTES];

    if (e2b_grpc_is(rq, &codec)) {
        e2b_grpc_reply(rq, codec, "{}", empty_len(codec));
        return;
    }
    buf_clear(b);
    e2b_rpc_head(head, 0, empty_len(codec));
    buf_put(b, head, sizeof head);
    buf_put(b, "{}", empty_len(codec));
    e2b_rpc_end(b, NULL, NULL);
    http_reply(rq, 200, stream_type(codec), buf_data(b), b->len);
}

/* --- requests ------------------------------------------------------------------------- */

static void refuse_type(struct http_request *rq, bool stream)
{
    http_add_header(rq, "Accept-Post",
                    stream ? "application/connect+json, application/connect+proto, "
                             "application/grpc, application/grpc+json, application/grpc+proto"
                           : "application/json, application/proto, "
                             "application/grpc, application/grpc+json, application/grpc+proto");
    e2b_plain_error(rq, 415, "this call requires Connect or gRPC with JSON or protobuf");
}

bool e2b_rpc_admit(struct http_request *rq, bool stream, enum rpc_codec *codec)
{
    const char *type = http_header(rq, "Content-Type"), *encoding;
    bool grpc = e2b_grpc_is(rq, codec);
    struct rpc_form form = {0};

    if (!e2b_is_there(rq))
        return false;
    if (!grpc && !e2b_rpc_form_of(type, stream, &form)) {
        refuse_type(rq, stream);
        return false;
    }
    if (!grpc)
        *codec = form.codec;
    encoding = http_header(rq, grpc     ? "grpc-encoding"
                               : stream ? "Connect-Content-Encoding"
                                        : "Content-Encoding");
    if (encoding == NULL || strcasecmp(encoding, "identity") == 0)
        return true;
    e2b_rpc_fail(rq, "unimplemented", "compressed requests are not supported");
    return false;
}

json_t *e2b_rpc_decode(const struct pb_message *m, enum rpc_codec codec, const void *bytes,
                       size_t len, struct hf_error *err)
{
    json_auto_t *text = NULL;

    if (codec == RPC_PROTO)
        return pb_from_wire(m, bytes, len, err);
    text = json_parse(bytes, len, err);
    return text == NULL ? NULL : e2b_pb_from_json(m, text, err);
}

/* A stream of one message: the body is exactly one envelope. */
static bool unwrap(const char **bytes, size_t *len, struct hf_error *err)
{
    const unsigned char *head = (const unsigned char *)*bytes;
    size_t declared;

    if (*len < RPC_HEAD_BYTES) {
        hf_fail(err, HF_E_bad_value, "the request has no complete message");
        return false;
    }
    declared = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (head[0] != 0 || declared != *len - RPC_HEAD_BYTES) {
        hf_fail(err, HF_E_bad_value, "the request must be one message that is not compressed");
        return false;
    }
    *bytes += RPC_HEAD_BYTES;
    *len = declared;
    return true;
}

json_t *e2b_rpc_message(struct http_request *rq, const struct pb_message *m, struct rpc_form form,
                        const char *body, size_t len, struct hf_error *err)
{
    bool wrapped = form.stream || e2b_grpc_is(rq, &form.codec);

    return wrapped && !unwrap(&body, &len, err) ? NULL
                                                : e2b_rpc_decode(m, form.codec, body, len, err);
}

json_t *e2b_rpc_request(struct http_request *rq, const struct pb_message *m, bool stream,
                        enum rpc_codec *codec)
{
    struct hf_error err = {0};
    const char *body;
    json_t *tree;
    size_t len;

    if (!e2b_rpc_admit(rq, stream, codec))
        return NULL;
    body = http_body(rq, &len);
    tree = e2b_rpc_message(rq, m, (struct rpc_form){*codec, stream}, body, len, &err);
    if (tree == NULL)
        e2b_rpc_error(rq, &err);
    return tree;
}

/* --- selecting a process --------------------------------------------------------------- */

/* By tag, else by the daemon's id: any process can be named, whatever started it. */
static struct process *by_tag(struct engine *e, const json_t *tag)
{
    const char *text = json_string_value(tag);
    char ref[LIMIT_TAG_BYTES + 8];
    struct process *p;

    if (strlen(text) != json_string_length(tag) || strlen(text) > LIMIT_TAG_BYTES)
        return NULL;
    snprintf(ref, sizeof ref, "tag:%s", text);
    p = engine_find(e, ref, NULL);
    return p != NULL ? p : engine_find(e, text, NULL);
}

struct process *e2b_rpc_select(struct engine *e, const json_t *message, bool living,
                               const char **code, char *why, size_t size)
{
    const json_t *s = json_object_get(message, "process"), *pid = json_object_get(s, "pid"),
                 *tag = json_object_get(s, "tag");
    struct process *p = NULL;
    char ref[32];

    if (pid == NULL && tag == NULL) {
        *code = "unimplemented";
        snprintf(why, size, "select a process by pid or by tag");
        return NULL;
    }
    *code = "not_found";
    if (pid != NULL) {
        snprintf(ref, sizeof ref, "pid:%lld", (long long)json_integer_value(pid));
        p = engine_find(e, ref, NULL);
        snprintf(why, size, "process with pid %s not found", ref + 4);
    } else {
        p = by_tag(e, tag);
        snprintf(why, size, "process with tag %.100s not found", json_string_value(tag));
    }
    return p != NULL && (!living || process_is_running(p)) ? p : NULL;
}

struct process *e2b_rpc_process(struct http_request *rq, const json_t *message, bool living)
{
    const char *code;
    char why[160];
    struct process *p =
        e2b_rpc_select(dialect_base_of(rq)->engine, message, living, &code, why, sizeof why);

    if (p == NULL)
        e2b_rpc_fail(rq, code, why);
    return p;
}
