/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_files.c - execd's calls for files and directories that move no bytes of a file
 *
 * Each is a table of file operations (osb_batch.h), as the daemon's user or as the one in the path.
 * Layer: dialects.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb_batch.h"
#include "dialects/opensandbox/osb_expand_path.h"

/* --- what they have in common ---------------------------------------------------------------- */

static const char *lookup(const char *name)
{
    return getenv(name);
}

int osb_files_path(const char *path, struct buf *out, struct hf_error *err)
{
    buf_clear(out);
    if (path == NULL || path[0] == '\0')
        return hf_fail_field(err, HF_E_bad_value, "path", "path must not be empty");
    return osb_expand(path, lookup, out, err);
}

bool osb_files_user(struct http_request *rq, char room[OSB_FILES_USER_BYTES], const char **user)
{
    const char *uid = http_param(rq, "uid"), *gid = http_param(rq, "gid");
    int64_t u, g;

    *user = NULL;
    if (uid == NULL)
        return true;
    if (!text_to_i64(uid, 0, (int64_t)UINT32_MAX - 1, &u) ||
        !text_to_i64(gid, 0, (int64_t)UINT32_MAX - 1, &g)) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", "uid and gid must be numbers");
        return false;
    }
    snprintf(room, OSB_FILES_USER_BYTES, "%lld:%lld", (long long)u, (long long)g);
    *user = room;
    return true;
}

int osb_files_mode(const json_t *mode, char out[OSB_FILES_MODE_BYTES], struct hf_error *err)
{
    out[0] = '\0';
    if (mode == NULL || json_is_null(mode) ||
        (json_is_integer(mode) && json_integer_value(mode) == 0))
        return 0;
    if (json_is_integer(mode) && json_integer_value(mode) > 0)
        snprintf(out, OSB_FILES_MODE_BYTES, "%lld", (long long)json_integer_value(mode));
    if (out[0] != '\0' && strlen(out) <= 4 && strspn(out, "01234567") == strlen(out))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "mode",
                         "mode must be a number with octal digits, such as 755");
}

void osb_files_fault(struct http_request *rq, const struct file_fault *f, bool absent_is_500)
{
    const char *text = f->text[0] != '\0' ? f->text : "the file operation failed";

    if (f->errnum == ENOENT && !absent_is_500)
        osb_refuse(rq, 404, "FILE_NOT_FOUND", text);
    else if (f->errnum == EINVAL || f->errnum == ENOTDIR)
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", text);
    else
        osb_refuse(rq, 500, "RUNTIME_ERROR", text);
}

/* Execd's FileInfo. */
static void write_entry(struct json_out *o, const struct file_entry *e)
{
    const char *kind = e->kind != NULL ? e->kind : "";
    char mode[OSB_FILES_MODE_BYTES];
    bool known =
        strcmp(kind, "file") == 0 || strcmp(kind, "directory") == 0 || strcmp(kind, "symlink") == 0;

    snprintf(mode, sizeof mode, "%llo", (unsigned long long)e->mode & 0777);
    json_open(o, '{');
    json_kstr(o, "path", e->path);
    json_kstr(o, "type", known ? kind : "other");
    json_kint(o, "size", e->size);
    json_ktime(o, "modified_at", e->modified_ms);
    json_ktime(o, "created_at", e->created_ms >= 0 ? e->created_ms : e->modified_ms);
    json_kstr(o, "owner", e->owner);
    json_kstr(o, "group", e->group);
    json_kint(o, "mode", strtoll(mode, NULL, 10));
    json_close(o, '}');
}

static void missing_path(struct http_request *rq)
{
    osb_refuse(rq, 400, "MISSING_QUERY", "missing query parameter 'path'");
}

/* Adds an operation for each `path` of the query. 0, or err. */
typedef void add_fn(struct osb_batch *b, const char *user, const char *path, const char *given);

static int each_path(struct http_request *rq, struct osb_batch *b, const char *user, add_fn *add,
                     struct hf_error *err)
{
    hf_autobuf struct buf path = {0};
    const char *name, *value;
    size_t i = 0;
    int rc = 0;

    while (rc == 0 && http_query_each(rq, &i, &name, &value)) {
        if (strcmp(name, "path") != 0)
            continue;
        rc = osb_files_path(value, &path, err);
        if (rc == 0)
            add(b, user, buf_cstr(&path), value);
    }
    return rc;
}

static void paths_begin(struct http_request *rq, const struct osb_batch_kind *kind, add_fn *add)
{
    char room[OSB_FILES_USER_BYTES];
    const char *user;
    struct osb_batch *b;
    struct hf_error err;

    if (!osb_files_user(rq, room, &user))
        return;
    b = osb_batch_new(kind);
    if (each_path(rq, b, user, add, &err) == 0) {
        osb_batch_begin(b, rq);
        return;
    }
    osb_batch_free(b);
    osb_error(rq, &err);
}

/* --- GET /files/info, DELETE /files and /directories ----------------------------------------- */

static void add_info(struct osb_batch *b, const char *user, const char *path, const char *given)
{
    (void)osb_batch_add(b, user, "stat", path);
    osb_batch_key(b, given);
}

void osb_files_info(struct http_request *rq)
{
    static const struct osb_batch_kind kind = {.reply = BATCH_MAP, .entry = write_entry};

    paths_begin(rq, &kind, add_info);
}

/* A missing file is none that has to be deleted; a directory is not a file. */
static void add_delete(struct osb_batch *b, const char *user, const char *path, const char *given)
{
    struct file_op *op;

    (void)given;
    (void)osb_batch_add(b, user, "stat", path);
    osb_batch_no_directory(b);
    op = osb_batch_add(b, user, "remove", path);
    if (op != NULL)
        file_op_flag(op, "recursive", false);
}

static const struct osb_batch_kind change_kind = {.reply = BATCH_EMPTY};
static const struct osb_batch_kind remove_kind = {.reply = BATCH_EMPTY, .absent_is_500 = true};

void osb_files_delete(struct http_request *rq)
{
    paths_begin(rq, &remove_kind, add_delete);
}

static void add_rmdir(struct osb_batch *b, const char *user, const char *path, const char *given)
{
    (void)given;
    (void)osb_batch_add(b, user, "remove", path);
}

void osb_directories_delete(struct http_request *rq)
{
    paths_begin(rq, &remove_kind, add_rmdir);
}

/* --- GET /directories/list ------------------------------------------------------------------- */

void osb_directories_list(struct http_request *rq)
{
    static const struct osb_batch_kind kind = {.reply = BATCH_LIST, .entry = write_entry};
    const char *given = http_query(rq, "path"), *user;
    hf_autobuf struct buf path = {0};
    char room[OSB_FILES_USER_BYTES], digits[24];
    struct hf_error err;
    struct file_op *op;
    struct osb_batch *b;
    int64_t depth = 1;

    if (given == NULL || given[0] == '\0') {
        missing_path(rq);
        return;
    }
    if (!dialect_query_number(rq, "depth", 0, LIMIT_FILE_DEPTH, &depth) ||
        !osb_files_user(rq, room, &user))
        return;
    if (osb_files_path(given, &path, &err) < 0) {
        osb_error(rq, &err);
        return;
    }
    if (depth == 0) {
        http_reply(rq, 200, OSB_JSON, "[]", 2);
        return;
    }
    b = osb_batch_new(&kind);
    op = osb_batch_add(b, user, "list", buf_cstr(&path));
    snprintf(digits, sizeof digits, "%lld", (long long)depth);
    file_op_arg(op, digits);
    file_op_number(op, "limit", LIMIT_FILE_LIST);
    osb_batch_begin(b, rq);
}

/* --- GET /files/search --- */

void osb_files_search(struct http_request *rq)
{
    static const struct osb_batch_kind kind = {
        .reply = BATCH_LIST, .entry = write_entry, .no_directories = true};
    const char *given = http_query(rq, "path"), *pattern = http_query(rq, "pattern"), *user;
    hf_autobuf struct buf path = {0};
    char room[OSB_FILES_USER_BYTES];
    struct hf_error err;
    struct file_op *op;
    struct osb_batch *b;

    if (given == NULL || given[0] == '\0') {
        missing_path(rq);
        return;
    }
    if (!osb_files_user(rq, room, &user))
        return;
    if (osb_files_path(given, &path, &err) < 0) {
        osb_error(rq, &err);
        return;
    }
    b = osb_batch_new(&kind);
    op = osb_batch_add(b, user, "search", buf_cstr(&path));
    file_op_option(op, "name", pattern != NULL && pattern[0] != '\0' ? pattern : "*");
    osb_batch_begin(b, rq);
}

/* --- bodies: POST /directories, /files/permissions, /files/mv -------------------------------- */

/* NULL: replied. */
static json_t *files_body(struct http_request *rq, bool list)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = json_parse(text, len, &err);

    if (body != NULL && (list ? json_is_array(body) : json_is_object(body)))
        return body;
    osb_refuse(rq, 400, "INVALID_REQUEST_BODY",
               body == NULL ? err.detail
               : list       ? "the body must be an array"
                            : "the body must be an object");
    json_decref(body);
    return NULL;
}

static int text_member(const json_t *item, const char *name, const char **out, struct hf_error *err)
{
    const json_t *v = json_object_get(item, name);

    *out = json_string_value(v);
    if (v != NULL && !json_is_null(v) && (*out == NULL || strlen(*out) != json_string_length(v)))
        return hf_fail_field(err, HF_E_bad_type, name, "%s must be a string", name);
    if (*out != NULL && (*out)[0] == '\0')
        *out = NULL;
    return 0;
}

/* Owner, group and mode of an existing file. 0, or err. */
static int add_permissions(struct osb_batch *b, const char *user, const char *path,
                           const json_t *item, bool with_mode, struct hf_error *err)
{
    const char *owner, *group;
    char mode[OSB_FILES_MODE_BYTES];
    struct file_op *op;

    if (text_member(item, "owner", &owner, err) < 0 ||
        text_member(item, "group", &group, err) < 0 ||
        osb_files_mode(json_object_get(item, "mode"), mode, err) < 0)
        return -1;
    if (owner == NULL && group == NULL && !with_mode)
        return 0;
    op = osb_batch_add(b, user, "permissions", path);
    if (op == NULL)
        return 0;
    file_op_option(op, "mode", with_mode && mode[0] != '\0' ? mode : NULL);
    file_op_option(op, "owner", owner);
    file_op_option(op, "group", group);
    return 0;
}

/* {"path": {"mode", "owner", "group"}} */
typedef int member_fn(struct osb_batch *b, const char *user, const char *path, const char *given,
                      const json_t *item, struct hf_error *err);

static void members_begin(struct http_request *rq, const struct osb_batch_kind *kind,
                          member_fn *add)
{
    json_auto_t *body = files_body(rq, false);
    hf_autobuf struct buf path = {0};
    char room[OSB_FILES_USER_BYTES];
    struct hf_error err;
    const char *user, *name;
    struct osb_batch *b;
    json_t *item;
    int rc = 0;

    if (body == NULL || !osb_files_user(rq, room, &user))
        return;
    b = osb_batch_new(kind);
    json_object_foreach (body, name, item) {
        rc = osb_files_path(name, &path, &err);
        if (rc == 0)
            rc = add(b, user, buf_cstr(&path), name, item, &err);
        if (rc < 0)
            break;
    }
    if (rc == 0) {
        osb_batch_begin(b, rq);
    } else {
        osb_batch_free(b);
        osb_error(rq, &err);
    }
}

static int add_mkdir(struct osb_batch *b, const char *user, const char *path, const char *given,
                     const json_t *item, struct hf_error *err)
{
    char mode[OSB_FILES_MODE_BYTES];
    struct file_op *op;

    (void)given;
    if (osb_files_mode(json_object_get(item, "mode"), mode, err) < 0)
        return -1;
    op = osb_batch_add(b, user, "mkdir", path);
    if (op != NULL)
        file_op_option(op, "mode", mode[0] != '\0' ? mode : NULL);
    return add_permissions(b, user, path, item, false, err);
}

void osb_directories_post(struct http_request *rq)
{
    members_begin(rq, &change_kind, add_mkdir);
}

static int add_chmod(struct osb_batch *b, const char *user, const char *path, const char *given,
                     const json_t *item, struct hf_error *err)
{
    (void)given;
    return add_permissions(b, user, path, item, true, err);
}

void osb_files_permissions(struct http_request *rq)
{
    members_begin(rq, &remove_kind, add_chmod);
}

/* {"path": {"old", "new"}} */
static int add_replace(struct osb_batch *b, const char *user, const char *path, const char *given,
                       const json_t *item, struct hf_error *err)
{
    const char *old, *new;
    struct file_op *op;

    if (text_member(item, "old", &old, err) < 0 || text_member(item, "new", &new, err) < 0)
        return -1;
    if (old == NULL)
        return hf_fail_field(err, HF_E_bad_value, "old", "old content must not be empty");
    op = osb_batch_add(b, user, "replace", path);
    if (op == NULL)
        return 0;
    osb_batch_key(b, given);
    file_op_arg(op, old);
    file_op_arg(op, new != NULL ? new : "");
    return 0;
}

static void write_replaced(struct json_out *o, const struct file_entry *e)
{
    json_open(o, '{');
    json_kint(o, "replacedCount", e->replaced);
    json_close(o, '}');
}

void osb_files_replace(struct http_request *rq)
{
    static const struct osb_batch_kind verbose = {.reply = BATCH_MAP, .entry = write_replaced};

    members_begin(rq, dialect_query_flag(rq, "verbose") ? &verbose : &change_kind, add_replace);
}

static int add_move(struct osb_batch *b, const char *user, const json_t *item, struct hf_error *err)
{
    hf_autobuf struct buf from = {0}, to = {0};
    const char *src, *dest;
    struct file_op *op;

    if (text_member(item, "src", &src, err) < 0 || text_member(item, "dest", &dest, err) < 0 ||
        osb_files_path(src, &from, err) < 0 || osb_files_path(dest, &to, err) < 0)
        return -1;
    op = osb_batch_add(b, user, "move", buf_cstr(&from));
    if (op != NULL) {
        file_op_arg(op, buf_cstr(&to));
        file_op_flag(op, "overwrite", false);
    }
    return 0;
}

/* [{"src", "dest"}] */
void osb_files_move(struct http_request *rq)
{
    json_auto_t *body = files_body(rq, true);
    char room[OSB_FILES_USER_BYTES];
    struct hf_error err;
    struct osb_batch *b;
    const char *user;
    json_t *item;
    size_t i;
    int rc = 0;

    if (body == NULL || !osb_files_user(rq, room, &user))
        return;
    b = osb_batch_new(&change_kind);
    json_array_foreach (body, i, item) {
        rc = add_move(b, user, item, &err);
        if (rc < 0)
            break;
    }
    if (rc == 0) {
        osb_batch_begin(b, rq);
    } else {
        osb_batch_free(b);
        osb_error(rq, &err);
    }
}
