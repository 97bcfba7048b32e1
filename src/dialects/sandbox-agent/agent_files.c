/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_files.c - /v1/fs: list, read, write, delete, move, and archives to unpack
 *
 * A relative path is relative to the home directory, and may not lead upwards. Layer: dialects.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "dialects/sandbox-agent/agent.h"

#define LIST_PATHS 1024 /* in the reply to an upload, as in the original */

/* --- errors ---------------------------------------------------------------------------------- */

enum { ANY, LISTING, READING, MOVING, WRITING, MAKING, UPLOADING };

/* "PATH: sentence" without the sentence, which contains no colon. */
static void path_of(const struct file_fault *f, char out[sizeof f->text])
{
    char *colon;

    memcpy(out, f->text, sizeof f->text);
    colon = strrchr(out, ':');
    if (colon != NULL)
        *colon = '\0';
}

static void fs_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    char path[sizeof f->text];

    path_of(f, path);
    if (f->errnum == ENOENT)
        dialect_fail(rq, HF_E_no_such_file, "path not found: %s", path);
    else if (f->errnum == EEXIST && tag == MOVING)
        dialect_fail(rq, HF_E_file_exists, "destination already exists: %s", path);
    else if (f->errnum == ENOTDIR && tag == LISTING)
        dialect_fail(rq, HF_E_not_a_directory, "path is not a directory: %s", path);
    else if ((f->errnum == EISDIR || f->errnum == ENOTSUP) && tag == READING)
        dialect_fail(rq, HF_E_not_a_file, "path is not a file: %s", path);
    else
        dialect_fail(rq, HF_E_file_failed, "%s",
                     f->text[0] != '\0' ? f->text : "the file operation has failed");
}

static void read_failed(struct http_request *rq, const struct file_fault *f)
{
    fs_failed(rq, f, READING);
}

static void write_failed(struct http_request *rq, const struct file_fault *f)
{
    fs_failed(rq, f, WRITING);
}

/* --- paths ----------------------------------------------------------------------------------- */

static bool leads_upwards(const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += strspn(at, "/");
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}

/* False: replied. */
static bool resolve(struct http_request *rq, const char *path, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    int n;

    if (path[0] != '/' && leads_upwards(path)) {
        dialect_fail(rq, HF_E_bad_path, "invalid relative path: %.200s", path);
        return false;
    }
    if (path[0] != '/' && (home == NULL || home[0] != '/')) {
        dialect_fail(rq, HF_E_bad_path, "home directory unavailable");
        return false;
    }
    while (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))
        path += path[1] == '/' ? 2 : 1;
    if (path[0] == '/')
        n = snprintf(out, PATH_MAX, "%s", path);
    else
        n = snprintf(out, PATH_MAX, "%s%s%s", home, path[0] != '\0' ? "/" : "", path);
    if (n < PATH_MAX)
        return true;
    dialect_fail(rq, HF_E_bad_path, "the path is longer than %d bytes", PATH_MAX - 1);
    return false;
}

/* The path in the query; `absent` NULL: it is required. False: replied. */
static bool query_path(struct http_request *rq, const char *absent, char out[PATH_MAX])
{
    const char *path = http_query(rq, "path");

    if (path == NULL)
        path = absent;
    if (path != NULL)
        return resolve(rq, path, out);
    dialect_fail(rq, HF_E_bad_query, "Failed to deserialize query string: missing field `path`");
    return false;
}

/* --- reading --------------------------------------------------------------------------------- */

static void write_members(struct json_out *o, const struct file_entry *e, bool directory)
{
    json_kstr(o, "path", e->path);
    json_kstr(o, "entryType", directory ? "directory" : "file");
    json_kint(o, "size", e->size);
    file_entry_time(o, "modified", e->modified_ms);
}

static void write_entry(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_open(o, '{');
    json_kstr(o, "name", e->name);
    write_members(o, e, e->kind != NULL && strcmp(e->kind, "directory") == 0);
    json_close(o, '}');
}

static void entries_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o = dialect_array_open(b);

    (void)tag;
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    http_reply_json(rq, 200, &b->scratch);
}

void agent_fs_entries(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_entry, .reply = entries_reply, .failed = fs_failed};
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, ".", path))
        return;
    file_op_init(&op, NULL, "list", path);
    file_op_arg(&op, "1");
    file_call_begin(rq, &op, &ops, LISTING);
}

static void stat_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o;

    (void)tag;
    if (r->last == NULL) {
        dialect_fail(rq, HF_E_file_failed, "the file operation has failed");
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    write_members(&o, r->last, file_entry_is_directory(r->last));
    dialect_reply_send(rq, 200, &o);
}

void agent_fs_stat(struct http_request *rq)
{
    static const struct file_call_ops ops = {.reply = stat_reply, .failed = fs_failed};
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, NULL, path))
        return;
    file_op_init(&op, NULL, "stat", path);
    file_op_flag(&op, "follow", true);
    file_call_begin(rq, &op, &ops, ANY);
}

void agent_fs_read(struct http_request *rq)
{
    static const struct file_download_ops ops = {.failed = read_failed};
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, NULL, path))
        return;
    file_op_init(&op, NULL, "read", path);
    file_download_begin(rq, &op, &ops);
}

/* --- changing -------------------------------------------------------------------------------- */

static void path_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o;
    char path[PATH_MAX];

    (void)r, (void)tag;
    if (!query_path(rq, NULL, path))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "path", path);
    dialect_reply_send(rq, 200, &o);
}

static const struct file_call_ops path_ops = {
    .reply = path_reply, .failed = fs_failed, .changes = true};

void agent_fs_mkdir(struct http_request *rq)
{
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, NULL, path))
        return;
    file_op_init(&op, NULL, "mkdir", path);
    file_call_begin(rq, &op, &path_ops, MAKING);
}

void agent_fs_delete(struct http_request *rq)
{
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, NULL, path))
        return;
    file_op_init(&op, NULL, "remove", path);
    file_op_flag(&op, "recursive", dialect_query_flag(rq, "recursive"));
    file_op_flag(&op, "strict", true);
    file_call_begin(rq, &op, &path_ops, ANY);
}

static void write_reply(struct http_request *rq, const struct file_entry *e)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "path", e->path);
    json_kint(&o, "bytesWritten", e->bytes);
    dialect_reply_send(rq, 200, &o);
}

void agent_fs_write(struct http_request *rq)
{
    static const struct file_upload_ops ops = {.reply = write_reply, .failed = write_failed};
    char path[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, NULL, path))
        return;
    file_op_init(&op, NULL, "write", path);
    file_upload_begin(rq, &op, &ops);
}

struct move {
    const char *from, *to;
    bool overwrite;
};

/* False: replied. */
static bool move_decode(struct http_request *rq, const json_t *body, struct move *m,
                        char from[PATH_MAX], char to[PATH_MAX])
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct move, from, .required = true),
        JSON_FIELD(STR, struct move, to, .required = true),
        JSON_FIELD(BOOL, struct move, overwrite, .nullable = true),
    };
    struct hf_error err = {0};
    int rc = json_decode_known(body, fields, sizeof fields / sizeof *fields, m, &err);

    return !dialect_failed(rq, rc, &err) && resolve(rq, m->from, from) && resolve(rq, m->to, to);
}

static void move_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    json_auto_t *body = agent_body(rq);
    char from[PATH_MAX], to[PATH_MAX];
    struct move m = {0};

    (void)r, (void)tag;
    if (body != NULL && move_decode(rq, body, &m, from, to))
        dialect_reply_json(rq, 200, json_pack("{s:s, s:s}", "from", from, "to", to));
}

void agent_fs_move(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .reply = move_reply, .failed = fs_failed, .changes = true};
    json_auto_t *body = agent_body(rq);
    char from[PATH_MAX], to[PATH_MAX];
    struct move m = {0};
    struct file_op op;

    if (body == NULL || !move_decode(rq, body, &m, from, to))
        return;
    file_op_init(&op, NULL, "move", from);
    file_op_arg(&op, to);
    file_op_flag(&op, "overwrite", m.overwrite);
    file_op_flag(&op, "replace", m.overwrite);
    file_call_begin(rq, &op, &ops, MOVING);
}

/* --- an archive ------------------------------------------------------------------------------ */

static void write_path(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_str(o, e->path);
}

static void upload_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    (void)tag;
    json_kopen(&o, "paths", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    json_kbool(&o, "truncated", r->truncated);
    dialect_reply_send(rq, 200, &o);
}

void agent_fs_upload(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_path, .reply = upload_reply, .failed = fs_failed};
    const char *type = http_header(rq, "Content-Type");
    char path[PATH_MAX];
    struct file_op op;

    if (type == NULL || strncasecmp(type, "application/x-tar", 17) != 0) {
        dialect_fail(rq, HF_E_bad_value, "content-type must be application/x-tar");
        return;
    }
    if (!query_path(rq, ".", path))
        return;
    file_op_init(&op, NULL, "unpack", path);
    file_op_number(&op, "show", LIST_PATHS);
    file_call_begin(rq, &op, &ops, UPLOADING);
}
