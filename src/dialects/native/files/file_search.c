/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_search.c - GET /v1/files/search and POST /v1/files/replace. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "dialects/native/files/file_request.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define SEARCH_DEFAULT 100 /* results, without `limit` */

/* --- search ---------------------------------------------------------------------------------- */

static void write_result(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_open(o, '{');
    json_kstr(o, "path", e->path);
    if (e->path_base64 != NULL)
        json_kstr(o, "path_base64", e->path_base64);
    json_kstr(o, "type", e->kind);
    if (e->line > 0) {
        json_kint(o, "line", e->line);
        json_kstr(o, "text", e->text);
    }
    json_close(o, '}');
}

static void search_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    (void)tag;
    json_kopen(&o, "results", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    json_kbool(&o, "truncated", r->truncated);
    dialect_reply_send(rq, 200, &o);
}

static int check_pattern(const char *text, const char *field, struct hf_error *err)
{
    if (text == NULL || (text[0] != '\0' && strlen(text) <= LIMIT_SEARCH_PATTERN_BYTES))
        return 0;
    return hf_fail_field(err, HF_E_bad_query, field, "%s must have 1 to %d bytes", field,
                         LIMIT_SEARCH_PATTERN_BYTES);
}

static int check_patterns(struct http_request *rq, struct hf_error *err)
{
    static const char *const names[] = {"name", "text", "regex"};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++)
        rc = check_pattern(http_query(rq, names[i]), names[i], err);
    if (rc == 0 && http_query(rq, "text") != NULL && http_query(rq, "regex") != NULL)
        rc = hf_fail_field(err, HF_E_bad_query, "regex", "send text or regex, not both");
    if (rc == 0 && http_query(rq, "name") == NULL && http_query(rq, "text") == NULL &&
        http_query(rq, "regex") == NULL)
        rc = hf_fail_field(err, HF_E_missing_field, "name",
                           "say what to search for: name, text or regex");
    return rc;
}

/* A wrong expression is the only way in which the operation finds fault with a value. */
static void search_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    struct file_fault regex = *f;

    (void)tag;
    if (f->err.code == HF_E_bad_value)
        regex.err.code = HF_E_bad_regex;
    file_request_failed(rq, &regex);
}

int file_search_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_call_ops ops = {
        .entry = write_result, .reply = search_reply, .failed = search_failed};
    static const char *const options[] = {"name", "text", "regex"};
    int64_t depth = LIMIT_FILE_DEPTH, limit = SEARCH_DEFAULT;
    struct file_op op;
    int rc = check_patterns(rq, err);

    if (rc == 0)
        rc = native_decode_i64(rq, "depth", 1, LIMIT_FILE_DEPTH, &depth, err);
    if (rc == 0)
        rc = native_decode_i64(rq, "limit", 1, LIMIT_SEARCH_RESULTS, &limit, err);
    if (rc == 0)
        rc = file_request_query(rq, "search", &op, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        file_op_option(&op, options[i], http_query(rq, options[i]));
    file_op_number(&op, "depth", depth);
    file_op_number(&op, "limit", limit);
    rc = file_request_query_bool(rq, "case", &op, err);
    if (rc == 0)
        file_call_begin(rq, &op, &ops, 0);
    else
        file_op_fini(&op);
    return rc;
}

/* --- replace --------------------------------------------------------------------------------- */

struct replace_request {
    const char *path, *user, *from, *to;
};

int file_replace_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct replace_request, path, .required = true),
        JSON_FIELD(STR, struct replace_request, user),
        JSON_FIELD(STR, struct replace_request, from, .required = true, .min = 1,
                   .max = LIMIT_REPLACE_TEXT_BYTES),
        JSON_FIELD(STR, struct replace_request, to, .required = true,
                   .max = LIMIT_REPLACE_TEXT_BYTES),
    };
    static const struct file_call_ops ops = {
        .reply = file_request_reply, .failed = file_request_call_failed, .changes = true};
    struct replace_request r = {0};
    json_auto_t *body = native_decode_json(rq, err);
    struct file_op op;
    int rc = body == NULL ? -1 : json_decode(body, fields, sizeof fields / sizeof *fields, &r, err);

    if (rc == 0)
        rc = file_request_check_path(r.path, "path", err);
    if (rc < 0)
        return rc;
    file_op_init(&op, r.user, "replace", r.path);
    file_op_arg(&op, r.from);
    file_op_arg(&op, r.to);
    file_call_begin(rq, &op, &ops, 200);
    return 0;
}
