/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_file.c - files: list, info, folder, delete, move, permissions, download, find
 *
 * Layer: dialects.
 */
#include "dialects/daytona/dt_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"

/* --- errors ---------------------------------------------------------------------------------- */

struct dt_file_words dt_file_words(const struct file_fault *f)
{
    struct dt_file_words w = {400, "BAD_REQUEST",
                              f->text[0] != '\0' ? f->text : "the file operation failed"};

    switch (f->errnum) {
    case ENOENT: w.status = 404, w.code = "FILE_NOT_FOUND"; break;
    case EACCES:
    case EPERM:
    case EROFS: w.status = 403, w.code = "FILE_ACCESS_DENIED"; break;
    case EEXIST: w.status = 409, w.code = "CONFLICT"; break;
    case 0: w.status = 500, w.code = "INTERNAL_SERVER_ERROR"; break;
    default: break;
    }
    return w;
}

enum { ANY, REMOVING, MOVING, ONE_INFO };

static void call_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    const struct dt_file_words w = dt_file_words(f);

    if (f->errnum == EISDIR && tag == REMOVING)
        dt_fail(rq, 400, w.code, "cannot delete directory without recursive flag");
    else if (f->errnum == EEXIST && tag == MOVING)
        dt_fail(rq, 409, w.code, "destination already exists");
    else
        dt_fail(rq, w.status, w.code, "%s", w.message);
}

static void download_failed(struct http_request *rq, const struct file_fault *f)
{
    const struct dt_file_words w = dt_file_words(f);

    if (f->errnum == EISDIR)
        dt_fail(rq, 400, w.code, "path must be a file");
    else
        dt_fail(rq, w.status, w.code, "%s", w.message);
}

/* --- requests -------------------------------------------------------------------------------- */

bool dt_file_path(const struct dt *dt, const char *path, char out[PATH_MAX])
{
    bool below = path[0] != '/';
    int n = snprintf(out, PATH_MAX, "%s%s%s", below ? dt->cwd : "", below ? "/" : "", path);

    return path[0] != '\0' && n < PATH_MAX;
}

/* A path in the query. `absent` NULL: it is required. False: replied. */
static bool query_path(struct http_request *rq, const char *name, const char *absent,
                       char out[PATH_MAX])
{
    const char *path = http_query(rq, name);

    if (path == NULL || path[0] == '\0')
        path = absent;
    if (path != NULL && dt_file_path(dt_of(rq), path, out))
        return true;
    dt_fail(rq, 400, "BAD_REQUEST", "%s %s", name,
            path == NULL ? "is required" : "is longer than the system allows");
    return false;
}

/* False: replied. */
static bool query_op(struct http_request *rq, const char *name, struct file_op *op)
{
    char path[PATH_MAX];

    if (!query_path(rq, "path", NULL, path))
        return false;
    file_op_init(op, NULL, name, path);
    return true;
}

/* --- details --------------------------------------------------------------------------------- */

/* As Go writes modes: a letter for each property. */
static void write_mode(struct json_out *o, const struct file_entry *e)
{
    static const struct {
        int bit;
        char letter;
    } special[] = {{04000, 'u'}, {02000, 'g'}, {01000, 't'}};
    char text[FILE_ENTRY_LETTERS + 4], letters[FILE_ENTRY_LETTERS];
    size_t n = 0;

    if (file_entry_is_directory(e))
        text[n++] = 'd';
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (e->mode & special[i].bit)
            text[n++] = special[i].letter;
    if (n == 0)
        text[n++] = '-';
    file_entry_letters(letters, '-', e->mode);
    snprintf(text + n, sizeof text - n, "%s", letters + 1);
    json_kstr(o, "mode", text);
}

/* As Go prints a time. */
static void write_mod_time(struct json_out *o, int64_t ms)
{
    int64_t part = ms % 1000 < 0 ? ms % 1000 + 1000 : ms % 1000;
    time_t s = (time_t)((ms - part) / 1000);
    struct tm tm = {0};
    char day[40] = "", text[80];

    if (gmtime_r(&s, &tm) != NULL)
        strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text, sizeof text, "%s.%03d +0000 UTC", day, (int)part);
    json_kstr(o, "modTime", text);
}

static void write_number(struct json_out *o, const char *key, const char *format, int64_t n)
{
    char text[24];

    if (format[0] == 'o')
        snprintf(text, sizeof text, "%04llo", (unsigned long long)n);
    else
        snprintf(text, sizeof text, "%lld", (long long)n);
    json_kstr(o, key, text);
}

static void write_info(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_open(o, '{');
    json_kstr(o, "name", e->name);
    json_kstr(o, "path", e->path);
    json_kint(o, "size", e->size);
    write_mode(o, e);
    write_mod_time(o, e->modified_ms);
    file_entry_time(o, "modifiedAt", e->modified_ms);
    json_kbool(o, "isDir", file_entry_is_directory(e));
    write_number(o, "owner", "d", e->uid);
    write_number(o, "group", "d", e->gid);
    write_number(o, "permissions", "o", e->mode & 0777);
    json_close(o, '}');
}

static void array_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o = dialect_array_open(b);

    (void)tag;
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    http_reply_json(rq, 200, &b->scratch);
}

static void info_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct buf *b = &dialect_base_of(rq)->scratch;
    struct json_out o;

    if (r->last == NULL) {
        dt_fail(rq, 500, "INTERNAL_SERVER_ERROR", "the file operation has failed");
        return;
    }
    buf_clear(b);
    json_out_init(&o, b);
    write_info(&o, r->last, tag);
    http_reply_json(rq, 200, b);
}

void dt_file_list(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_info, .reply = array_reply, .failed = call_failed};
    int64_t depth = 1;
    char path[PATH_MAX], digits[24];
    struct file_op op;

    if (!dialect_query_number(rq, "depth", 1, LIMIT_FILE_DEPTH, &depth) ||
        !query_path(rq, "path", ".", path))
        return;
    file_op_init(&op, NULL, "list", path);
    snprintf(digits, sizeof digits, "%lld", (long long)depth);
    file_op_arg(&op, digits);
    file_op_flag(&op, "follow", true);
    file_call_begin(rq, &op, &ops, ANY);
}

void dt_file_info(struct http_request *rq)
{
    static const struct file_call_ops ops = {.reply = info_reply, .failed = call_failed};
    struct file_op op;

    if (!query_op(rq, "stat", &op))
        return;
    file_op_flag(&op, "follow", true);
    file_call_begin(rq, &op, &ops, ONE_INFO);
}

/* --- changing -------------------------------------------------------------------------------- */

static void empty_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    (void)r;
    http_reply_empty(rq, tag == REMOVING ? 204 : 200);
}

static void folder_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    (void)r, (void)tag;
    http_reply_empty(rq, 201);
}

static const struct file_call_ops change_ops = {
    .reply = empty_reply, .failed = call_failed, .changes = true};

/* Permissions in octal. False: replied. */
static bool query_mode(struct http_request *rq, const char **out)
{
    const char *mode = http_query(rq, "mode");
    size_t len = mode != NULL ? strlen(mode) : 0;

    *out = len > 0 ? mode : NULL;
    if (len == 0 || (len <= 4 && strspn(mode, "01234567") == len))
        return true;
    dt_fail(rq, 400, "BAD_REQUEST", "invalid mode format");
    return false;
}

void dt_file_folder(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .reply = folder_reply, .failed = call_failed, .changes = true};
    const char *mode;
    struct file_op op;

    if (!query_mode(rq, &mode) || !query_op(rq, "mkdir", &op))
        return;
    file_op_option(&op, "mode", mode);
    file_call_begin(rq, &op, &ops, ANY);
}

void dt_file_delete(struct http_request *rq)
{
    bool recursive = dialect_query_flag(rq, "recursive");
    struct file_op op;

    if (!query_op(rq, "remove", &op))
        return;
    file_op_flag(&op, "recursive", recursive);
    file_op_flag(&op, "directories", recursive);
    file_op_flag(&op, "strict", true);
    file_call_begin(rq, &op, &change_ops, REMOVING);
}

void dt_file_move(struct http_request *rq)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct file_op op;

    if (!query_path(rq, "source", NULL, from) || !query_path(rq, "destination", NULL, to))
        return;
    file_op_init(&op, NULL, "move", from);
    file_op_arg(&op, to);
    file_op_flag(&op, "overwrite", false);
    file_op_flag(&op, "parents", false);
    file_call_begin(rq, &op, &change_ops, MOVING);
}

void dt_file_permissions(struct http_request *rq)
{
    const char *owner = http_query(rq, "owner"), *group = http_query(rq, "group"), *mode;
    struct file_op op;

    if (!query_mode(rq, &mode) || !query_op(rq, "permissions", &op))
        return;
    file_op_option(&op, "mode", mode);
    file_op_option(&op, "owner", owner != NULL && owner[0] != '\0' ? owner : NULL);
    file_op_option(&op, "group", group != NULL && group[0] != '\0' ? group : NULL);
    file_call_begin(rq, &op, &change_ops, ANY);
}

/* --- contents -------------------------------------------------------------------------------- */

void dt_file_download(struct http_request *rq)
{
    static const struct file_download_ops ops = {.failed = download_failed};
    struct file_op op;

    if (query_op(rq, "read", &op))
        file_download_begin(rq, &op, &ops);
}

static void write_match(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_open(o, '{');
    json_kstr(o, "file", e->path);
    json_kint(o, "line", e->line);
    json_kstr(o, "content", e->text);
    json_close(o, '}');
}

/* A part of the matches must not look like all. */
static void find_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    if (r->truncated)
        dt_fail(rq, 400, "BAD_REQUEST", "more than %zu matches; search in fewer files", r->count);
    else
        array_reply(rq, r, tag);
}

void dt_file_find(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_match, .reply = find_reply, .failed = call_failed};
    const char *pattern = http_query(rq, "pattern");
    struct file_op op;

    if (pattern == NULL || pattern[0] == '\0') {
        dt_fail(rq, 400, "BAD_REQUEST", "path and pattern are required");
        return;
    }
    if (!query_op(rq, "search", &op))
        return;
    file_op_option(&op, "text", pattern);
    file_call_begin(rq, &op, &ops, ANY);
}

static void write_path(struct json_out *o, const struct file_entry *e, int tag)
{
    (void)tag;
    json_str(o, e->path);
}

static void search_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o;

    if (r->truncated) {
        find_reply(rq, r, tag);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_kopen(&o, "files", '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

/* A pattern is for the path below the directory, so one without a slash names files directly in it.
 * Any number of directories can be in front. */
void dt_file_search(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_path, .reply = search_reply, .failed = call_failed};
    const char *pattern = http_query(rq, "pattern");
    bool deep = pattern != NULL && strncmp(pattern, "**/", 3) == 0;
    const char *name = deep ? pattern + 3 : pattern;
    struct file_op op;

    if (name == NULL || name[0] == '\0') {
        dt_fail(rq, 400, "BAD_REQUEST", "path and pattern are required");
        return;
    }
    if (strpbrk(name, "/{}") != NULL || strstr(name, "**") != NULL) {
        dt_fail(rq, 501, NULL,
                "this daemon searches for NAME or **/NAME, without directories or braces in NAME");
        return;
    }
    if (!query_op(rq, "search", &op))
        return;
    file_op_option(&op, "name", name);
    file_op_flag(&op, "files", true);
    if (!deep)
        file_op_number(&op, "depth", 1);
    file_call_begin(rq, &op, &ops, ANY);
}

void dt_file_no_replace(struct http_request *rq)
{
    dt_fail(rq, 501, NULL,
            "this dialect does not replace text in files; /v1/files/replace of this daemon does");
}
