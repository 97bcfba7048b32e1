/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_request.c - what the calls for files have in common. Layer: dialects.
 */
#include "dialects/native/files/file_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"

/* --- requests -------------------------------------------------------------------------------- */

int file_request_check_path(const char *path, const char *field, struct hf_error *err)
{
    if (path == NULL || (path[0] != '\0' && strlen(path) <= FILE_REQUEST_PATH_BYTES))
        return 0;
    return hf_fail_field(err, HF_E_bad_path, field, "%s must be a path of 1 to %d bytes", field,
                         FILE_REQUEST_PATH_BYTES);
}

int file_request_check_mode(const char *mode, struct hf_error *err)
{
    size_t len = mode != NULL ? strlen(mode) : 0;

    if (mode == NULL || (len >= 1 && len <= 4 && strspn(mode, "01234567") == len))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "mode", "mode must be octal digits, such as 0644");
}

int file_request_query(struct http_request *rq, const char *operation, struct file_op *op,
                       struct hf_error *err)
{
    const char *path = http_query(rq, "path"), *user = http_query(rq, "user");
    int rc;

    if (path == NULL)
        return hf_fail_field(err, HF_E_missing_field, "path", "name the file with ?path=");
    rc = file_request_check_path(path, "path", err);
    if (rc == 0)
        file_op_init(op, user, operation, path);
    return rc;
}

int file_request_query_bool(struct http_request *rq, const char *name, struct file_op *op,
                            struct hf_error *err)
{
    bool on = false;
    int rc = native_decode_bool(rq, name, &on, err);

    if (rc == 0 && http_query(rq, name) != NULL)
        file_op_flag(op, name, on);
    return rc;
}

int file_request_query_mode(struct http_request *rq, struct file_op *op, struct hf_error *err)
{
    const char *mode = http_query(rq, "mode");
    int rc = file_request_check_mode(mode, err);

    if (rc == 0)
        file_op_option(op, "mode", mode);
    return rc;
}

int file_request_query_coding(struct http_request *rq, struct file_op *op, struct hf_error *err)
{
    const char *coding = http_header(rq, "Content-Encoding");

    if (coding == NULL || strcasecmp(coding, "identity") == 0)
        return 0;
    if (strcasecmp(coding, "gzip") != 0)
        return hf_fail_field(err, HF_E_unsupported_media_type, "Content-Encoding",
                             "Content-Encoding must be gzip or identity");
    file_op_flag(op, "gzip", true);
    return 0;
}

/* --- replies --------------------------------------------------------------------------------- */

void file_request_write_members(struct json_out *o, const struct file_entry *e)
{
    char text[80];

    json_kstr(o, "name", e->name);
    json_kstr(o, "path", e->path);
    if (e->path_base64 != NULL)
        json_kstr(o, "path_base64", e->path_base64);
    json_kstr(o, "type", e->kind);
    json_kint(o, "size", e->size);
    snprintf(text, sizeof text, "%04o", (unsigned)e->mode);
    json_kstr(o, "mode", text);
    json_kint(o, "uid", e->uid);
    json_kint(o, "gid", e->gid);
    json_kstr(o, "owner", e->owner);
    json_kstr(o, "group", e->group);
    file_entry_time(o, "modified_at", e->modified_ms);
    if (e->created_ms > 0)
        file_entry_time(o, "created_at", e->created_ms);
    snprintf(text, sizeof text, "\"%.70s\"", e->tag != NULL ? e->tag : "");
    json_kstr(o, "etag", text);
    if (e->target != NULL) {
        json_kstr(o, "target", e->target);
        json_kstr(o, "target_type", file_entry_is_directory(e) ? "directory" : e->type);
    }
    if (e->skipped >= 0)
        json_kint(o, "skipped", e->skipped);
    if (e->replaced >= 0)
        json_kint(o, "replaced", e->replaced);
}

void file_request_write_entry(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_open(o, '{');
    file_request_write_members(o, e);
    json_close(o, '}');
}

void file_request_reply(struct http_request *rq, const struct file_results *r, int status)
{
    struct json_out o;

    if (r->last == NULL) {
        dialect_fail(rq, HF_E_file_failed, "the file operation failed");
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    file_request_write_members(&o, r->last);
    dialect_reply_send(rq, r->last->created ? 201 : status, &o);
}

void file_request_failed(struct http_request *rq, const struct file_fault *f)
{
    http_reply_error(rq, &f->err);
}

void file_request_call_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    file_request_failed(rq, f);
}
