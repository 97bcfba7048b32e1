/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_files.c - files: stat, list, mkdir, move, copy, delete, chmod, chown, upload, download
 *
 * What is missing is 404, and what the system refuses is 400, as in the original. Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper_files.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"

/* --- requests -------------------------------------------------------------------------------- */

#define FIELD(n, k, m, ...)                                                                        \
    JSON_FIELD_AS(n, k, struct hyper_file_body, m, .nullable = true, __VA_ARGS__)

static const struct json_field fields[] = {
    FIELD("path", STR, path, .min = 1),
    FIELD("from", STR, from, .min = 1),
    FIELD("to", STR, to, .min = 1),
    FIELD("mode", STR, mode),
    FIELD("encoding", STR, encoding),
    FIELD("runAs", STR, user, .min = 1),
    FIELD("data", ANY, data),
    FIELD("files", ARRAY, files),
    FIELD("parents", BOOL, parents),
    FIELD("recursive", BOOL, recursive),
    FIELD("overwrite", BOOL, overwrite),
    FIELD("append", BOOL, append),
    FIELD("uid", INT, uid, .max = UINT32_MAX - 1),
    FIELD("gid", INT, gid, .max = UINT32_MAX - 1),
    FIELD("offset", INT, offset, .max = INT64_MAX),
    FIELD("length", INT, length, .max = INT64_MAX),
};

static int missing(const char *field, struct hf_error *err)
{
    return hf_fail_field(err, HF_E_missing_field, field, "%s is required", field);
}

int hyper_file_fields(const json_t *v, int needs, struct hyper_file_body *b, struct hf_error *err)
{
    int rc;
    size_t len;

    *b =
        (struct hyper_file_body){.parents = true, .uid = -1, .gid = -1, .offset = -1, .length = -1};
    rc = json_decode_known(v, fields, sizeof fields / sizeof *fields, b, err);
    if (rc < 0)
        return rc;
    if ((needs & HYPER_NEEDS_PATH) && b->path == NULL)
        return missing("path", err);
    if ((needs & HYPER_NEEDS_FROM_TO) && (b->from == NULL || b->to == NULL))
        return missing(b->from == NULL ? "from" : "to", err);
    if ((needs & HYPER_NEEDS_MODE) && b->mode == NULL)
        return missing("mode", err);
    len = b->mode != NULL ? strlen(b->mode) : 1;
    if (len < 1 || len > 4 || (b->mode != NULL && strspn(b->mode, "01234567") != len))
        return hf_fail_field(err, HF_E_bad_value, "mode",
                             "mode must be octal digits, such as 0644");
    return 0;
}

json_t *hyper_file_body(struct http_request *rq, int needs, struct hyper_file_body *b)
{
    json_t *body = dialect_object(rq);
    struct hf_error err = {0};

    if (body == NULL || !dialect_failed(rq, hyper_file_fields(body, needs, b, &err), &err))
        return body;
    json_decref(body);
    return NULL;
}

/* The operation for the path in the query. False: replied. */
static bool query_op(struct http_request *rq, const char *name, struct file_op *op)
{
    const char *path = http_query(rq, "path");
    struct hf_error err = {0};

    if (path == NULL || path[0] == '\0') {
        missing("path", &err);
        hyper_error(rq, &err);
        return false;
    }
    file_op_init(op, http_query(rq, "runAs"), name, path);
    return true;
}

/* --- replies --------------------------------------------------------------------------------- */

void hyper_file_failed(struct http_request *rq, const struct file_fault *f)
{
    hyper_error(rq, &f->err);
}

static void call_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    hyper_file_failed(rq, f);
}

static void write_info(struct json_out *o, const struct file_entry *e, int tag)
{
    char text[FILE_ENTRY_LETTERS];
    const char *target = e->target != NULL ? e->target : e->leads_to;

    (void)tag;
    file_entry_letters(text,
                       target != NULL               ? 'L'
                       : file_entry_is_directory(e) ? 'd'
                                                    : '-',
                       e->mode);
    json_open(o, '{');
    json_kstr(o, "path", e->path);
    json_kstr(o, "name", e->name);
    json_kstr(o, "type", file_entry_is_directory(e) ? "dir" : "file");
    json_kint(o, "size", e->size);
    json_kint(o, "mode", e->mode);
    json_kstr(o, "permissions", text);
    json_kstr(o, "owner", e->owner);
    json_kstr(o, "group", e->group);
    json_kint(o, "modifiedTime", e->modified_ms);
    if (target != NULL)
        json_kstr(o, "symlinkTarget", target);
    json_close(o, '}');
}

enum { KEY_FILE, KEY_ENTRY };

static void info_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o;

    if (r->last == NULL) {
        dialect_fail(rq, HF_E_file_failed, "the file operation has failed");
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_key(&o, tag == KEY_FILE ? "file" : "entry");
    write_info(&o, r->last, 0);
    dialect_reply_send(rq, 200, &o);
}

static void mutation_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    (void)tag;
    if (r->last != NULL) {
        json_kstr(&o, "path", r->last->path);
        json_kbool(&o, "created", r->last->created);
    }
    dialect_reply_send(rq, 200, &o);
}

static const struct file_call_ops change_ops = {
    .reply = mutation_reply, .failed = call_failed, .changes = true};
static const struct file_call_ops entry_ops = {
    .reply = info_reply, .failed = call_failed, .changes = true};

/* --- reading --------------------------------------------------------------------------------- */

void hyper_file_stat(struct http_request *rq)
{
    static const struct file_call_ops ops = {.reply = info_reply, .failed = call_failed};
    struct file_op op;

    if (query_op(rq, "stat", &op))
        file_call_begin(rq, &op, &ops, KEY_FILE);
}

static void list_reply(struct http_request *rq, const struct file_results *r, int depth)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "path", http_query(rq, "path"));
    json_kint(&o, "depth", depth);
    json_kopen(&o, "entries", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void hyper_file_list(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_info, .reply = list_reply, .failed = call_failed};
    int64_t depth = 1;
    struct file_op op;
    char digits[24];

    if (!dialect_query_number(rq, "depth", 1, LIMIT_FILE_DEPTH, &depth) ||
        !query_op(rq, "list", &op))
        return;
    snprintf(digits, sizeof digits, "%lld", (long long)depth);
    file_op_arg(&op, digits);
    file_op_flag(&op, "real", true);
    file_call_begin(rq, &op, &ops, (int)depth);
}

void hyper_file_download(struct http_request *rq)
{
    static const struct file_download_ops ops = {.failed = hyper_file_failed};
    struct file_op op;

    if (query_op(rq, "read", &op))
        file_download_begin(rq, &op, &ops);
}

/* --- changing -------------------------------------------------------------------------------- */

static void upload_reply(struct http_request *rq, const struct file_entry *e)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "path", e->path);
    json_kint(&o, "bytesWritten", e->bytes);
    dialect_reply_send(rq, 200, &o);
}

void hyper_file_upload(struct http_request *rq)
{
    static const struct file_upload_ops ops = {.reply = upload_reply, .failed = hyper_file_failed};
    struct file_op op;

    if (query_op(rq, "write", &op))
        file_upload_begin(rq, &op, &ops);
}

void hyper_file_mkdir(struct http_request *rq)
{
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH, &b);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, b.user, "mkdir", b.path);
    file_op_flag(&op, "parents", b.parents);
    file_op_option(&op, "mode", b.mode);
    file_call_begin(rq, &op, &change_ops, 0);
}

static void move_or_copy(struct http_request *rq, const char *name, bool copies)
{
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_FROM_TO, &b);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, b.user, name, b.from);
    file_op_arg(&op, b.to);
    file_op_flag(&op, "overwrite", b.overwrite);
    if (copies) {
        file_op_flag(&op, "recursive", b.recursive);
        file_op_flag(&op, "replace_link", true);
    }
    file_call_begin(rq, &op, &entry_ops, KEY_ENTRY);
}

void hyper_file_move(struct http_request *rq)
{
    move_or_copy(rq, "move", false);
}

void hyper_file_copy(struct http_request *rq)
{
    move_or_copy(rq, "copy", true);
}

void hyper_file_delete(struct http_request *rq)
{
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH, &b);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, b.user, "remove", b.path);
    file_op_flag(&op, "recursive", b.recursive);
    file_call_begin(rq, &op, &change_ops, 0);
}

static void permissions(struct http_request *rq, const struct hyper_file_body *b)
{
    struct file_op op;

    file_op_init(&op, b->user, "permissions", b->path);
    file_op_option(&op, "mode", b->mode);
    if (b->uid >= 0)
        file_op_number(&op, "owner", b->uid);
    if (b->gid >= 0)
        file_op_number(&op, "group", b->gid);
    file_op_flag(&op, "recursive", b->recursive);
    file_call_begin(rq, &op, &change_ops, 0);
}

void hyper_file_chmod(struct http_request *rq)
{
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH | HYPER_NEEDS_MODE, &b);

    b.uid = b.gid = -1;
    if (body != NULL)
        permissions(rq, &b);
}

void hyper_file_chown(struct http_request *rq)
{
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH, &b);
    struct hf_error err = {0};

    if (body == NULL)
        return;
    b.mode = NULL;
    if (b.uid >= 0 || b.gid >= 0) {
        permissions(rq, &b);
    } else {
        hf_fail_field(&err, HF_E_missing_field, "uid", "name a uid or a gid to set");
        hyper_error(rq, &err);
    }
}

/* --- what there is not ------------------------------------------------------------------------ */

void hyper_file_no_watch(struct http_request *rq)
{
    dialect_fail(
        rq, HF_E_not_implemented,
        "this dialect does not watch directories; GET /v1/files/watch of this daemon does");
}

void hyper_file_no_url(struct http_request *rq)
{
    dialect_fail(rq, HF_E_not_implemented,
                 "this daemon signs no addresses of files for Hyperbrowser's clients; use upload "
                 "and download");
}
