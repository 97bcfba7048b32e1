/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_process.c - PATCH /v1/processes/{id}: null clears a field; and POST …/resize. Layer:
 * dialects.
 */
#include "dialects/native/native_decode.h"

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_handlers.h"

struct patch_process_body {
    json_t *label, *tag, *title, *metadata;
    const char *size_policy;
    int64_t retain_ms;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct patch_process_body, member, __VA_ARGS__)
static const struct json_field body_fields[] = {
    F(ANY, label),    F(ANY, tag),         F(ANY, title),
    F(ANY, metadata), F(STR, size_policy), F(INT, retain_ms, .min = 0, .max = LIMIT_DURATION_MS),
};
#undef F

/* A string, or null for "clear it". */
static int decode_text(const json_t *v, const char *field, size_t max, const char **out,
                       struct hf_error *err)
{
    if (v == NULL)
        return 0;
    *out = json_is_null(v) ? "" : json_text(v, field, err);
    if (*out == NULL)
        return -1;
    if (strlen(*out) > max)
        return hf_fail_field(err, HF_E_bad_value, field, "\"%s\" is longer than %zu bytes", field,
                             max);
    return 0;
}

static int decode_metadata(const json_t *v, char **out, struct hf_error *err)
{
    if (v == NULL)
        return 0;
    if (!json_is_object(v) && !json_is_null(v))
        return hf_fail_field(err, HF_E_bad_type, "metadata",
                             "\"metadata\" must be an object, or null to clear it");
    *out = json_is_null(v) ? hf_xstrdup("{}") : json_dumps(v, JSON_COMPACT);
    return *out != NULL ? 0 : hf_fail(err, HF_E_no_memory, "out of memory for the metadata");
}

int patch_decode(const json_t *body, struct process_patch *out, char **metadata,
                 struct hf_error *err)
{
    struct patch_process_body b = {.retain_ms = -1};

    *out = (struct process_patch){0};
    *metadata = NULL;
    if (json_decode(body, body_fields, sizeof body_fields / sizeof *body_fields, &b, err) < 0 ||
        decode_text(b.label, "label", LIMIT_LABEL_BYTES, &out->label, err) < 0 ||
        decode_text(b.tag, "tag", LIMIT_TAG_BYTES, &out->tag, err) < 0 ||
        decode_text(b.title, "title", LIMIT_LABEL_BYTES, &out->title, err) < 0)
        return -1;
    if (b.size_policy != NULL) {
        if (check_size_policy(b.size_policy, &out->size_policy, err) < 0)
            return -1;
        out->set_size_policy = true;
    }
    if (b.retain_ms >= 0) {
        out->set_retain = true;
        out->retain_ms = b.retain_ms;
    }
    if (decode_metadata(b.metadata, metadata, err) < 0)
        return -1;
    out->metadata_json = *metadata;
    return 0;
}

int patch_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    json_auto_t *body = native_decode_json(rq, err);
    struct process_patch patch;
    char *metadata = NULL;
    int rc;

    if (body == NULL)
        return -1;
    rc = patch_decode(body, &patch, &metadata, err);
    if (rc == 0)
        rc = process_patch(p, &patch, err);
    free(metadata);
    if (rc == 0)
        json_reply_process(rq, 200, p);
    return rc;
}

/* --- the size -------------------------------------------------------------------------- */

struct resize_process_body {
    int64_t rows, cols;
};

/* The range is checked separately, because it has its own error code. */
static const struct json_field size_fields[] = {
    JSON_FIELD(INT, struct resize_process_body, rows, .min = INT64_MIN, .max = INT64_MAX,
               .required = true),
    JSON_FIELD(INT, struct resize_process_body, cols, .min = INT64_MIN, .max = INT64_MAX,
               .required = true),
};

int resize_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    json_auto_t *tree = native_decode_json(rq, err);
    struct resize_process_body b;
    struct process_view v;
    struct json_out o;

    if (tree == NULL || json_decode(tree, size_fields, 2, &b, err) < 0 ||
        check_size(b.rows, b.cols, err) < 0 || process_resize(p, b.rows, b.cols, "api", err) < 0)
        return -1;
    process_view(p, &v);
    o = dialect_reply_open(dialect_base_of(rq));
    json_kint(&o, "rows", v.rows);
    json_kint(&o, "cols", v.cols);
    dialect_reply_send(rq, 200, &o);
    return 0;
}
