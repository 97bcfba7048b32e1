/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_files.c - …/fs: the files of a sprite
 *
 * The clients have no call for a directory: they write DIRECTORY/.keep and delete it. They have no
 * call for a description either: the list of a file is the file. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_fs_decode.h"

#define ROOT_USER "root"
#define KEEP "/.keep"

/* --- requests -------------------------------------------------------------------------------- */

static struct fly_fs_request query_fields(struct http_request *rq)
{
    return (struct fly_fs_request){.path = http_query(rq, "path"),
                                   .dir = http_query(rq, "workingDir"),
                                   .mode = http_query(rq, "mode"),
                                   .recursive = dialect_query_flag(rq, "recursive"),
                                   .as_root = dialect_query_flag(rq, "asRoot")};
}

static const char *user_of(const struct fly_fs_request *f)
{
    return f->as_root ? ROOT_USER : NULL;
}

/* The fields of the query. False: replied. */
static bool query_decode(struct http_request *rq, struct fly_fs_request *f, char path[PATH_MAX])
{
    struct hf_error err = {0};

    *f = query_fields(rq);
    return !dialect_failed(rq, fly_fs_resolve(f, "path", f->path, path, &err), &err);
}

/* The fields of the body, from which they borrow; the caller owns it. NULL: replied. */
static json_t *body_decode(struct http_request *rq, struct fly_fs_request *f)
{
    json_t *body = dialect_object(rq);
    struct hf_error err = {0};

    *f = (struct fly_fs_request){0};
    if (body == NULL || !dialect_failed(rq, fly_fs_fields(f, body, &err), &err))
        return body;
    json_decref(body);
    return NULL;
}

/* --- replies --------------------------------------------------------------------------------- */

/* fly_error() writes the form of all errors. */
static void fs_failed(struct http_request *rq, const struct file_fault *f)
{
    http_reply_error(rq, &f->err);
}

static void call_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    fs_failed(rq, f);
}

static void put_mode(struct json_out *o, int64_t mode)
{
    char text[FLY_FS_MODE_BYTES];

    snprintf(text, sizeof text, "%04o", (unsigned)(mode & 07777));
    json_kstr(o, "mode", text);
}

/* --- reading --------------------------------------------------------------------------------- */

void fly_fs_read(struct http_request *rq)
{
    static const struct file_download_ops ops = {.failed = fs_failed};
    struct fly_fs_request f;
    char path[PATH_MAX];
    struct file_op op;

    if (!query_decode(rq, &f, path))
        return;
    file_op_init(&op, user_of(&f), "read", path);
    file_download_begin(rq, &op, &ops);
}

/* `base`: the length of the directory's path, which names begin behind. 0: they have no path. */
static void write_entry(struct json_out *o, const struct file_entry *e, int base)
{
    const char *kind = e->kind != NULL ? e->kind : "file";
    bool directory = strcmp(kind, "directory") == 0;
    const char *name = e->name;

    if (base > 0 && e->path != NULL && strlen(e->path) > (size_t)base)
        name = e->path + base + strspn(e->path + base, "/");
    json_open(o, '{');
    json_kstr(o, "name", name);
    json_kstr(o, "path", e->path);
    json_kstr(o, "type", kind);
    json_kint(o, "size", e->size);
    put_mode(o, e->mode);
    file_entry_time(o, "modTime", e->modified_ms);
    json_kbool(o, "isDir", directory);
    json_close(o, '}');
}

/* Only a search is cut short, as a list without a pattern fails. */
static void list_cut_short(struct http_request *rq, const struct file_results *r)
{
    if (r->count >= LIMIT_FILE_LIST)
        dialect_fail(rq, HF_E_too_many_files, "more than %d entries match", LIMIT_FILE_LIST);
    else
        dialect_fail(rq, HF_E_request_timeout,
                     "the directory is too large to search: %d s or %d entries were not enough",
                     LIMIT_SEARCH_MS / 1000, LIMIT_TREE_ENTRIES);
}

static void list_reply(struct http_request *rq, const struct file_results *r, int base)
{
    struct fly_fs_request f;
    char path[PATH_MAX];
    struct json_out o;

    (void)base;
    if (r->truncated) {
        list_cut_short(rq, r);
        return;
    }
    if (!query_decode(rq, &f, path))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "path", path);
    json_kopen(&o, "entries", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    json_ku64(&o, "count", r->count);
    dialect_reply_send(rq, 200, &o);
}

void fly_fs_list(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_entry, .reply = list_reply, .failed = call_failed};
    const char *pattern = http_query(rq, "pattern");
    struct fly_fs_request f;
    char path[PATH_MAX], depth[8];
    struct file_op op;

    if (!query_decode(rq, &f, path))
        return;
    snprintf(depth, sizeof depth, "%d", f.recursive ? LIMIT_FILE_DEPTH : 1);
    if (pattern != NULL && pattern[0] != '\0') {
        file_op_init(&op, user_of(&f), "search", path);
        file_op_option(&op, "name", pattern);
        file_op_number(&op, "limit", LIMIT_FILE_LIST);
        file_op_option(&op, "depth", depth);
    } else {
        file_op_init(&op, user_of(&f), "list", path);
        file_op_arg(&op, depth);
        file_op_flag(&op, "single", true);
    }
    file_call_begin(rq, &op, &ops, f.recursive ? (int)strlen(path) : 0);
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_reply(struct http_request *rq, const struct file_entry *e)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "path", e->path);
    json_kint(&o, "size", e->size);
    put_mode(&o, e->mode);
    dialect_reply_send(rq, 200, &o);
}

static bool ends_with(const char *path, const char *end)
{
    size_t len = strlen(path), n = strlen(end);

    return len > n && strcmp(path + len - n, end) == 0;
}

void fly_fs_write(struct http_request *rq)
{
    static const struct file_upload_ops ops = {.reply = write_reply, .failed = fs_failed};
    bool parents = dialect_query_flag(rq, "mkdirParents") || dialect_query_flag(rq, "mkdir");
    char path[PATH_MAX], mode[FLY_FS_MODE_BYTES];
    struct hf_error err = {0};
    struct fly_fs_request f;
    struct file_op op;

    if (!query_decode(rq, &f, path) ||
        (f.mode != NULL && dialect_failed(rq, fly_fs_mode(f.mode, mode, &err), &err)))
        return;
    file_op_init(&op, user_of(&f), "write", path);
    file_op_option(&op, "mode", f.mode != NULL ? mode : NULL);
    file_op_flag(&op, "parents", parents);
    file_op_flag(&op, "parent", ends_with(path, KEEP)); /* a mkdir without its parents */
    file_upload_begin(rq, &op, &ops);
}

/* --- delete ---------------------------------------------------------------------------------- */

/* Clients send a query, the documentation a body. The body, or an object without members. NULL:
 * replied. */
static json_t *delete_decode(struct http_request *rq, struct fly_fs_request *f, char path[PATH_MAX])
{
    struct hf_error err = {0};
    json_t *body;

    if (http_query(rq, "path") != NULL) {
        body = json_object();
        *f = query_fields(rq);
    } else {
        body = body_decode(rq, f);
    }
    if (body == NULL || !dialect_failed(rq, fly_fs_resolve(f, "path", f->path, path, &err), &err))
        return body;
    json_decref(body);
    return NULL;
}

static void delete_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct fly_fs_request f;
    char path[PATH_MAX];
    json_auto_t *body = delete_decode(rq, &f, path);
    struct json_out o;

    (void)r, (void)tag;
    if (body == NULL)
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kopen(&o, "deleted", '[');
    json_str(&o, path);
    json_close(&o, ']');
    json_kint(&o, "count", 1);
    dialect_reply_send(rq, 200, &o);
}

void fly_fs_delete(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .reply = delete_reply, .failed = call_failed, .changes = true};
    struct fly_fs_request f;
    char path[PATH_MAX];
    json_auto_t *body = delete_decode(rq, &f, path);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, user_of(&f), "remove", path);
    file_op_flag(&op, "recursive", f.recursive);
    file_op_flag(&op, "strict", true);
    file_call_begin(rq, &op, &ops, 0);
}

/* --- rename and copy ------------------------------------------------------------------------- */

/* NULL: replied. */
static json_t *pair_decode(struct http_request *rq, struct fly_fs_request *f, char from[PATH_MAX],
                           char to[PATH_MAX])
{
    json_t *body = body_decode(rq, f);
    struct hf_error err = {0};

    if (body == NULL ||
        (!dialect_failed(rq, fly_fs_resolve(f, "source", f->source, from, &err), &err) &&
         !dialect_failed(rq, fly_fs_resolve(f, "dest", f->dest, to, &err), &err)))
        return body;
    json_decref(body);
    return NULL;
}

static void pair_reply(struct http_request *rq, const struct file_results *r, int copies)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct fly_fs_request f;
    json_auto_t *body = pair_decode(rq, &f, from, to);
    struct json_out o;

    if (body == NULL)
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "source", from);
    json_kstr(&o, "dest", to);
    if (copies && r->last != NULL && r->last->entries >= 0)
        json_kint(&o, "count", r->last->entries);
    dialect_reply_send(rq, 200, &o);
}

static const struct file_call_ops pair_ops = {
    .reply = pair_reply, .failed = call_failed, .changes = true};

void fly_fs_rename(struct http_request *rq)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct fly_fs_request f;
    json_auto_t *body = pair_decode(rq, &f, from, to);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, user_of(&f), "move", from);
    file_op_arg(&op, to);
    file_op_flag(&op, "parents", false);
    file_call_begin(rq, &op, &pair_ops, false);
}

void fly_fs_copy(struct http_request *rq)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct fly_fs_request f;
    json_auto_t *body = pair_decode(rq, &f, from, to);
    struct file_op op;

    if (body == NULL)
        return;
    file_op_init(&op, user_of(&f), "copy", from);
    file_op_arg(&op, to);
    file_op_flag(&op, "recursive", f.recursive);
    file_call_begin(rq, &op, &pair_ops, true);
}

/* --- permissions ----------------------------------------------------------------------------- */

/* `recursive`: how many files were changed is not known. */
static void permissions_reply(struct http_request *rq, const struct file_results *r, int recursive)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    if (r->last != NULL) {
        json_kstr(&o, "path", r->last->path);
        put_mode(&o, r->last->mode);
        json_kint(&o, "uid", r->last->uid);
        json_kint(&o, "gid", r->last->gid);
    }
    if (!recursive)
        json_kint(&o, "count", 1);
    dialect_reply_send(rq, 200, &o);
}

static void permissions(struct http_request *rq, const struct fly_fs_request *f, const char *path,
                        const char *mode, const char *owner, const char *group)
{
    static const struct file_call_ops ops = {
        .reply = permissions_reply, .failed = call_failed, .changes = true};
    struct file_op op;

    file_op_init(&op, user_of(f), "permissions", path);
    file_op_option(&op, "mode", mode);
    file_op_option(&op, "owner", owner);
    file_op_option(&op, "group", group);
    file_op_flag(&op, "recursive", f->recursive);
    file_call_begin(rq, &op, &ops, f->recursive);
}

void fly_fs_chmod(struct http_request *rq)
{
    struct fly_fs_request f;
    json_auto_t *body = body_decode(rq, &f);
    char path[PATH_MAX], mode[FLY_FS_MODE_BYTES];
    struct hf_error err = {0};

    if (body == NULL || dialect_failed(rq, fly_fs_resolve(&f, "path", f.path, path, &err), &err) ||
        dialect_failed(rq, fly_fs_mode(f.mode != NULL ? f.mode : "", mode, &err), &err))
        return;
    permissions(rq, &f, path, mode, NULL, NULL);
}

void fly_fs_chown(struct http_request *rq)
{
    struct fly_fs_request f;
    json_auto_t *body = body_decode(rq, &f);
    char path[PATH_MAX], owner[FLY_FS_OWNER_BYTES], group[FLY_FS_OWNER_BYTES];
    struct hf_error err = {0};

    if (body == NULL || dialect_failed(rq, fly_fs_resolve(&f, "path", f.path, path, &err), &err) ||
        dialect_failed(rq, fly_fs_owner(f.uid, "uid", owner, &err), &err) ||
        dialect_failed(rq, fly_fs_owner(f.gid, "gid", group, &err), &err))
        return;
    if (owner[0] == '\0' && group[0] == '\0') {
        hf_fail_field(&err, HF_E_missing_field, "uid", "uid or gid is required");
        http_reply_error(rq, &err);
        return;
    }
    permissions(rq, &f, path, NULL, owner[0] != '\0' ? owner : NULL,
                group[0] != '\0' ? group : NULL);
}
