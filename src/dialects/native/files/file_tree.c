/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tree.c - stat, list, mkdir, move, copy, permissions, delete. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/native/files/file_request.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define LIST_DEFAULT 1000 /* entries, without `limit` */

/* --- reading --------------------------------------------------------------------------------- */

static const struct file_call_ops look_ops = {.reply = file_request_reply,
                                              .failed = file_request_call_failed};

int file_stat_handle(struct http_request *rq, struct hf_error *err)
{
    struct file_op op;
    int rc = file_request_query(rq, "stat", &op, err);

    if (rc == 0)
        file_call_begin(rq, &op, &look_ops, 200);
    return rc;
}

static void list_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    (void)tag;
    json_kopen(&o, "entries", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    json_kbool(&o, "truncated", r->truncated);
    dialect_reply_send(rq, 200, &o);
}

int file_list_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_call_ops ops = {
        .entry = file_request_write_entry, .reply = list_reply, .failed = file_request_call_failed};
    int64_t depth = 1, limit = LIST_DEFAULT;
    struct file_op op;
    char digits[24];
    int rc = native_decode_i64(rq, "depth", 1, LIMIT_FILE_DEPTH, &depth, err);

    if (rc == 0)
        rc = native_decode_i64(rq, "limit", 1, LIMIT_FILE_LIST, &limit, err);
    if (rc == 0)
        rc = file_request_query(rq, "list", &op, err);
    if (rc < 0)
        return rc;
    snprintf(digits, sizeof digits, "%lld", (long long)depth);
    file_op_arg(&op, digits);
    file_op_number(&op, "limit", limit);
    file_call_begin(rq, &op, &ops, 0);
    return 0;
}

/* --- changing -------------------------------------------------------------------------------- */

static const struct file_call_ops change_ops = {
    .reply = file_request_reply, .failed = file_request_call_failed, .changes = true};

struct change {
    const char *path, *from, *to, *user, *mode, *owner, *group;
    bool parents, exclusive, overwrite, recursive;
};

/* The body by the table; the texts borrow from the tree. */
static json_t *change_decode(struct http_request *rq, const struct json_field *fields, size_t count,
                             struct change *c, struct hf_error *err)
{
    json_t *body = native_decode_json(rq, err);
    int rc = body == NULL ? -1 : json_decode(body, fields, count, c, err);

    if (rc == 0)
        rc = file_request_check_path(c->path, "path", err);
    if (rc == 0)
        rc = file_request_check_path(c->from, "from", err);
    if (rc == 0)
        rc = file_request_check_path(c->to, "to", err);
    if (rc == 0)
        rc = file_request_check_mode(c->mode, err);
    if (rc == 0)
        return body;
    json_decref(body);
    return NULL;
}

#define DECODE(rq, fields, c, err)                                                                 \
    change_decode(rq, fields, sizeof(fields) / sizeof *(fields), c, err)

int file_mkdir_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct change, path, .required = true),
        JSON_FIELD(STR, struct change, user),
        JSON_FIELD(STR, struct change, mode),
        JSON_FIELD(BOOL, struct change, parents),
        JSON_FIELD(BOOL, struct change, exclusive),
    };
    struct change c = {.parents = true};
    json_auto_t *body = DECODE(rq, fields, &c, err);
    struct file_op op;

    if (body == NULL)
        return -1;
    file_op_init(&op, c.user, "mkdir", c.path);
    file_op_option(&op, "mode", c.mode);
    file_op_flag(&op, "parents", c.parents);
    file_op_flag(&op, "exclusive", c.exclusive);
    file_call_begin(rq, &op, &change_ops, 200);
    return 0;
}

static int move_or_copy(struct http_request *rq, const char *name, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct change, from, .required = true),
        JSON_FIELD(STR, struct change, to, .required = true),
        JSON_FIELD(STR, struct change, user),
        JSON_FIELD(BOOL, struct change, overwrite),
        JSON_FIELD(BOOL, struct change, recursive), /* only of copy */
    };
    bool copies = strcmp(name, "copy") == 0;
    struct change c = {.overwrite = true};
    json_auto_t *body =
        change_decode(rq, fields, sizeof fields / sizeof *fields - (copies ? 0 : 1), &c, err);
    struct file_op op;

    if (body == NULL)
        return -1;
    file_op_init(&op, c.user, name, c.from);
    file_op_arg(&op, c.to);
    file_op_flag(&op, "overwrite", c.overwrite);
    if (copies)
        file_op_flag(&op, "recursive", c.recursive);
    file_call_begin(rq, &op, &change_ops, 200);
    return 0;
}

int file_move_handle(struct http_request *rq, struct hf_error *err)
{
    return move_or_copy(rq, "move", err);
}

int file_copy_handle(struct http_request *rq, struct hf_error *err)
{
    return move_or_copy(rq, "copy", err);
}

int file_permissions_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct change, path, .required = true),
        JSON_FIELD(STR, struct change, user),
        JSON_FIELD(STR, struct change, mode),
        JSON_FIELD(STR, struct change, owner, .min = 1, .max = 64),
        JSON_FIELD(STR, struct change, group, .min = 1, .max = 64),
        JSON_FIELD(BOOL, struct change, recursive),
    };
    struct change c = {0};
    json_auto_t *body = DECODE(rq, fields, &c, err);
    struct file_op op;

    if (body == NULL)
        return -1;
    if (c.mode == NULL && c.owner == NULL && c.group == NULL)
        return hf_fail_field(err, HF_E_missing_field, "mode",
                             "set at least one of mode, owner and group");
    file_op_init(&op, c.user, "permissions", c.path);
    file_op_option(&op, "mode", c.mode);
    file_op_option(&op, "owner", c.owner);
    file_op_option(&op, "group", c.group);
    file_op_flag(&op, "recursive", c.recursive);
    file_call_begin(rq, &op, &change_ops, 200);
    return 0;
}

static void delete_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    (void)r, (void)tag;
    http_reply_empty(rq, 204);
}

int file_delete_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_call_ops ops = {
        .reply = delete_reply, .failed = file_request_call_failed, .changes = true};
    bool recursive = false;
    struct file_op op;
    int rc = native_decode_bool(rq, "recursive", &recursive, err);

    if (rc == 0)
        rc = file_request_query(rq, "remove", &op, err);
    if (rc < 0)
        return rc;
    file_op_flag(&op, "recursive", recursive);
    file_op_flag(&op, "strict", true);
    file_call_begin(rq, &op, &ops, 0);
    return 0;
}
