/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_file.c - files of the route API: write, delete, rename, move, mkdir, list, exists
 *
 * cf_file_read.c has the rest. Layer: dialects.
 */
#include "dialects/cloudflare/cf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "dialects/common/file_gather.h"

/* --- errors ---------------------------------------------------------------------------------- */

static const struct {
    int errnum, status;
    const char *code;
} rows[] = {
    {ENOENT, 404, "FILE_NOT_FOUND"},   {ENOTDIR, 400, "NOT_DIRECTORY"},
    {EISDIR, 400, "IS_DIRECTORY"},     {EACCES, 403, "PERMISSION_DENIED"},
    {EPERM, 403, "PERMISSION_DENIED"}, {EEXIST, 409, "FILE_EXISTS"},
    {EROFS, 403, "READ_ONLY"},         {ENOSPC, 500, "NO_SPACE"},
    {EDQUOT, 500, "NO_SPACE"},         {ENAMETOOLONG, 400, "NAME_TOO_LONG"},
    {ELOOP, 500, "TOO_MANY_LINKS"},    {EFBIG, 500, "TOO_MANY_FILES"},
    {EMSGSIZE, 500, "TOO_MANY_FILES"}, {E2BIG, 500, "TOO_MANY_FILES"},
    {EBUSY, 409, "RESOURCE_BUSY"},     {ETXTBSY, 409, "RESOURCE_BUSY"},
};

const char *cf_file_code(int errnum, int *status)
{
    for (size_t i = 0; i < CF_COUNT(rows); i++)
        if (rows[i].errnum == errnum) {
            *status = rows[i].status;
            return rows[i].code;
        }
    *status = 500;
    return "FILESYSTEM_ERROR";
}

void cf_file_fail(struct cf_file *f, int status, const char *code, const char *message,
                  const char *why, int64_t size, int64_t max)
{
    struct json_out o = dialect_reply_open(f->call.base);

    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_kopen(&o, "context", '{');
    json_kstr(&o, "path", f->request.path);
    json_kstr(&o, "operation", f->kind->operation);
    if (why != NULL)
        json_kstr(&o, "stderr", why);
    if (max >= 0) {
        json_kint(&o, "actualSize", size);
        json_kint(&o, "maxSize", max);
    }
    json_close(&o, '}');
    json_kint(&o, "httpStatus", status);
    cf_send(&f->call, status, &o);
}

static void fault_reply(struct cf_file *f, const struct file_fault *fault)
{
    const char *why = fault->text[0] != '\0' ? fault->text : "the file operation has failed";
    char message[PATH_MAX + 64];
    int status;
    const char *code = cf_file_code(fault->errnum, &status);

    if (fault->errnum == ENOENT)
        snprintf(message, sizeof message, "%s: %s", f->kind->missing, f->request.path);
    else
        snprintf(message, sizeof message, "%s", why);
    cf_file_fail(f, status, code, message, why, -1, -1);
}

/* --- the call -------------------------------------------------------------------------------- */

static void file_release(struct call *c)
{
    struct cf_file *f = (struct cf_file *)c;

    cf_want_cancel(&f->want);
    (void)file_gather_hold(c->base, &f->held, 0, NULL);
    transfer_free(f->transfer);
    file_lines_fini(&f->lines);
    buf_fini(&f->bytes);
    json_decref(f->body);
}

void cf_file_abandon(struct cf_file *f)
{
    if (f->transfer != NULL)
        transfer_abandon(f->transfer);
    f->transfer = NULL;
}

bool cf_file_hold(struct cf_file *f, size_t bytes)
{
    struct hf_error err = {0};

    if (bytes <= f->held || file_gather_hold(f->call.base, &f->held, bytes, &err) == 0)
        return true;
    cf_file_abandon(f);
    /* Nothing was done, and its client tries again after a 503. */
    cf_file_fail(f, 503, "RESOURCE_BUSY", err.detail, NULL, -1, -1);
    return false;
}

static void file_let_go(struct call *c)
{
    struct cf_file *f = (struct cf_file *)c;

    if (f->transfer != NULL && f->kind->changes)
        transfer_leave(f->transfer);
    else
        cf_file_abandon(f);
    f->transfer = NULL;
}

static void file_drain(struct call *c)
{
    file_let_go(c);
    if (c->streams)
        call_stream_end(c);
    else
        cf_fail(c, 500, "INTERNAL_ERROR", "the daemon is shutting down; try again");
}

static void file_room(struct call *c)
{
    struct cf_file *f = (struct cf_file *)c;

    if (f->transfer != NULL)
        transfer_pump(f->transfer);
}

static const struct call_kind file_kind = {
    .release = file_release,
    .disconnected = file_let_go,
    .drain = file_drain,
    .room = file_room,
};

/* --- the operation --------------------------------------------------------------------------- */

static bool file_ready(void *arg)
{
    const struct cf_file *f = arg;

    return !f->call.streams || call_is_ready(&f->call);
}

static void file_bytes(void *arg, const char *bytes, size_t len)
{
    struct cf_file *f = arg;

    if (f->kind->bytes != NULL)
        f->kind->bytes(f, bytes, len);
}

/* Both when the writer starts and when there is room. One that accepts no more has ended. */
static void file_push(void *arg)
{
    const struct cf_file *f = arg;

    if (f->writes)
        (void)stdin_feed_flush(transfer_feed(f->transfer), NULL);
}

static void file_done(void *arg, const struct transfer_end *end)
{
    struct cf_file *f = arg;

    f->transfer = NULL;
    if (end->ok)
        f->kind->done(f);
    else if (f->kind->failed != NULL)
        f->kind->failed(f, &end->fault);
    else if (end->not_started)
        cf_error(&f->call, &end->fault.err);
    else
        fault_reply(f, &end->fault);
}

static int hold_content(struct cf_file *f, struct hf_error *err)
{
    const char *text = json_string_value(f->request.content);
    size_t len = json_string_length(f->request.content);
    struct stdin_feed *feed = transfer_feed(f->transfer);
    struct buf bytes = {0};
    int rc = 0;

    if (!f->binary_input)
        stdin_feed_hold(feed, text, len);
    else if (base64_decode(&bytes, text, len))
        stdin_feed_hold(feed, buf_data(&bytes), bytes.len);
    else
        rc = hf_fail_field(err, HF_E_bad_value, "content", "content is not base64");
    buf_fini(&bytes);
    feed->eof = true;
    f->request.content = NULL;
    json_object_del(f->body, "content"); /* one copy is enough */
    return rc;
}

static void file_start(struct cf_file *f)
{
    static const struct transfer_ops ops = {.started = file_push,
                                            .room = file_push,
                                            .ready = file_ready,
                                            .bytes = file_bytes,
                                            .done = file_done};
    struct hf_error err = {0};
    struct file_op op;
    int rc;

    f->writes = f->request.content != NULL;
    if (f->writes && !cf_file_hold(f, json_string_length(f->request.content)))
        return;
    file_op_init(&op, NULL, f->kind->op, f->path);
    if (f->kind->two)
        file_op_arg(&op, f->to);
    if (f->kind->options != NULL)
        f->kind->options(f, &op);
    rc = transfer_start(f->call.base, &op, &ops, f, &f->transfer, &err);
    file_op_fini(&op);
    if (rc == 0 && f->writes && hold_content(f, &err) < 0) {
        cf_file_abandon(f);
        rc = -EINVAL;
    }
    if (rc < 0)
        cf_error(&f->call, &err);
}

/* --- paths ----------------------------------------------------------------------------------- */

/* False: it is too long. */
static bool resolve(const char *dir, const char *path, char out[PATH_MAX])
{
    int n = path[0] == '/' ? snprintf(out, PATH_MAX, "%s", path)
                           : snprintf(out, PATH_MAX, "%s/%s", dir, path);

    return n < PATH_MAX;
}

static void file_resolve(struct cf_file *f, const char *dir)
{
    if (resolve(dir, f->request.path, f->path) &&
        (!f->kind->two || resolve(dir, f->request.to, f->to)))
        file_start(f);
    else
        cf_file_fail(f, 400, "NAME_TOO_LONG", "the path is too long", NULL, -1, -1);
}

static void file_on_session(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_file *f = arg;
    const char *dir = s != NULL ? session_cwd(s) : NULL;

    if (s == NULL)
        cf_error(&f->call, err);
    else if (dir == NULL || dir[0] != '/')
        cf_file_fail(f, 500, "FILESYSTEM_ERROR",
                     "the directory of the session is unknown; use an absolute path", NULL, -1, -1);
    else
        file_resolve(f, dir);
}

/* --- decoding -------------------------------------------------------------------------------- */

#define FIELD(n, k, m, ...) CF_FIELD(struct cf_file_body, n, k, m, __VA_ARGS__)

static const struct json_field fields[] = {
    FIELD("path", STR, path),
    FIELD("oldPath", STR, path),
    FIELD("sourcePath", STR, path),
    FIELD("newPath", STR, to),
    FIELD("destinationPath", STR, to),
    FIELD("encoding", STR, encoding),
    FIELD("content", ANY, content),
    FIELD("options", OBJECT, options),
    FIELD("recursive", BOOL, recursive),
};

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

/* What is wrong; NULL: nothing. */
static const char *check(const struct cf_file *f)
{
    const struct cf_file_body *r = &f->request;
    bool writes = strcmp(f->kind->op, "write") == 0;

    if (r->path == NULL || r->path[0] == '\0')
        return "a path is required";
    if (f->kind->two && (r->to == NULL || r->to[0] == '\0'))
        return "a second path is required";
    if (r->encoding != NULL && !is_one_of(r->encoding, "utf-8", "utf8", "base64"))
        return "encoding must be utf-8 or base64";
    if (writes && !json_is_string(r->content))
        return "content must be a string";
    return NULL;
}

void cf_file_begin(struct cf_request *q, const struct cf_file_kind *kind)
{
    struct cf_file *f = cf_begin(q, &file_kind, sizeof *f);
    const char *session = cf_session_or_none(q), *wrong;

    f->kind = kind;
    f->size = -1;
    f->body = json_incref(q->body);
    if (!cf_decode(q, fields, CF_COUNT(fields), &f->request))
        return;
    wrong = check(f);
    if (wrong != NULL) {
        cf_fail(&f->call, 400, "VALIDATION_FAILED", wrong);
        return;
    }
    if (strcmp(kind->op, "write") != 0)
        f->request.content = NULL;
    f->binary_input = f->request.encoding != NULL && strcmp(f->request.encoding, "base64") == 0;
    f->recursive =
        f->request.recursive || json_is_true(json_object_get(f->request.options, "recursive"));
    f->hidden = json_is_true(json_object_get(f->request.options, "includeHidden"));
    if (f->request.path[0] == '/' && (!kind->two || f->request.to[0] == '/')) {
        file_resolve(f, "");
        return;
    }
    f->want.fn = file_on_session;
    f->want.arg = f;
    cf_session_want(q->cf, session != NULL ? session : CF_DEFAULT_SESSION, &f->want);
}

/* --- replies --------------------------------------------------------------------------------- */

struct json_out cf_file_ok(struct cf_file *f)
{
    struct json_out o = cf_ok(&f->call);

    json_kstr(&o, "path", f->request.path);
    return o;
}

static void path_done(struct cf_file *f)
{
    struct json_out o = cf_file_ok(f);

    if (f->kind->two)
        json_kstr(&o, "newPath", f->request.to);
    cf_send(&f->call, 200, &o);
}

void cf_file_write(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "write",
                                             .operation = "file.write",
                                             .missing = "No such directory",
                                             .done = path_done};

    cf_file_begin(q, &kind);
}

static void delete_options(const struct cf_file *f, struct file_op *op)
{
    (void)f;
    file_op_flag(op, "strict", true);
    file_op_flag(op, "directories", false);
}

void cf_file_delete(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "remove",
                                             .operation = "file.delete",
                                             .missing = "File not found",
                                             .changes = true,
                                             .options = delete_options,
                                             .done = path_done};

    cf_file_begin(q, &kind);
}

/* As mv does. */
static void move_options(const struct cf_file *f, struct file_op *op)
{
    (void)f;
    file_op_flag(op, "parents", false);
    file_op_flag(op, "into", true);
}

void cf_file_rename(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "move",
                                             .operation = "file.rename",
                                             .missing = "Source file not found",
                                             .two = true,
                                             .changes = true,
                                             .options = move_options,
                                             .done = path_done};

    cf_file_begin(q, &kind);
}

void cf_file_move(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "move",
                                             .operation = "file.move",
                                             .missing = "Source file not found",
                                             .two = true,
                                             .changes = true,
                                             .options = move_options,
                                             .done = path_done};

    cf_file_begin(q, &kind);
}

static void mkdir_options(const struct cf_file *f, struct file_op *op)
{
    file_op_flag(op, "parents", f->recursive);
    file_op_flag(op, "exclusive", !f->recursive);
}

static void mkdir_done(struct cf_file *f)
{
    struct json_out o = cf_file_ok(f);

    json_kbool(&o, "recursive", f->recursive);
    cf_send(&f->call, 200, &o);
}

void cf_file_mkdir(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "mkdir",
                                             .operation = "directory.create",
                                             .missing = "No such directory",
                                             .changes = true,
                                             .options = mkdir_options,
                                             .done = mkdir_done};

    cf_file_begin(q, &kind);
}

static void stat_options(const struct cf_file *f, struct file_op *op)
{
    (void)f;
    file_op_flag(op, "follow", true);
}

static void exists_reply(struct cf_file *f, bool exists)
{
    struct json_out o = cf_file_ok(f);

    json_kbool(&o, "exists", exists);
    cf_send(&f->call, 200, &o);
}

static void exists_done(struct cf_file *f)
{
    exists_reply(f, true);
}

/* What may not be inspected does not exist for this user. */
static void exists_failed(struct cf_file *f, const struct file_fault *fault)
{
    if (fault->errnum != 0)
        exists_reply(f, false);
    else
        cf_error(&f->call, &fault->err);
}

void cf_file_exists(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "stat",
                                             .operation = "file.stat",
                                             .missing = "File not found",
                                             .options = stat_options,
                                             .done = exists_done,
                                             .failed = exists_failed};

    cf_file_begin(q, &kind);
}

/* --- list ------------------------------------------------------------------------------------ */

static void list_options(const struct cf_file *f, struct file_op *op)
{
    char digits[8];

    snprintf(digits, sizeof digits, "%d", f->recursive ? LIMIT_FILE_DEPTH : 1);
    file_op_arg(op, digits);
}

static const char *type_of(const struct file_entry *e)
{
    static const char *const types[] = {"file", "directory", "symlink"};

    for (size_t i = 0; e->kind != NULL && i < CF_COUNT(types); i++)
        if (strcmp(e->kind, types[i]) == 0)
            return types[i];
    return "other";
}

static void put_entry(struct json_out *o, const struct cf_file *f, const struct file_entry *e)
{
    const char *below = e->path;
    char letters[FILE_ENTRY_LETTERS];

    if (strncmp(below, f->path, strlen(f->path)) == 0)
        below += strlen(f->path);
    file_entry_letters(letters, '-', e->mode);
    json_open(o, '{');
    json_kstr(o, "name", e->name);
    json_kstr(o, "absolutePath", e->path);
    json_kstr(o, "relativePath", below + strspn(below, "/"));
    json_kstr(o, "type", type_of(e));
    json_kint(o, "size", e->size);
    file_entry_time(o, "modifiedAt", e->modified_ms);
    json_kstr(o, "mode", letters + 1);
    json_kopen(o, "permissions", '{');
    json_kbool(o, "readable", (e->mode & 0400) != 0);
    json_kbool(o, "writable", (e->mode & 0200) != 0);
    json_kbool(o, "executable", (e->mode & 0100) != 0);
    json_close(o, '}');
    json_close(o, '}');
}

static void list_entry_line(struct cf_file *f, const char *line, size_t len)
{
    struct json_out o;
    struct file_entry e;

    if (!file_entry_decode(&e, line, len))
        return;
    if (e.name != NULL && e.path != NULL && (f->hidden || e.name[0] != '.')) {
        f->too_long = f->too_long || f->bytes.len > LIMIT_FILE_REPLY_BYTES;
        if (!f->too_long) {
            if (f->count++ > 0)
                buf_putc(&f->bytes, ',');
            json_out_init(&o, &f->bytes);
            put_entry(&o, f, &e);
        }
    }
    file_entry_fini(&e);
}

static void list_bytes(struct cf_file *f, const char *bytes, size_t len)
{
    const char *line;
    size_t n;

    while ((line = file_lines_next(&f->lines, &bytes, &len, &n)) != NULL)
        list_entry_line(f, line, n);
}

static void list_done(struct cf_file *f)
{
    struct json_out o;

    if (f->too_long) {
        cf_file_fail(f, 500, "TOO_MANY_FILES", "the list is too long for one reply", NULL, -1, -1);
        return;
    }
    o = cf_file_ok(f);
    json_kopen(&o, "files", '[');
    json_raw(&o, buf_data(&f->bytes), f->bytes.len);
    json_close(&o, ']');
    json_ku64(&o, "count", f->count);
    cf_send(&f->call, 200, &o);
}

void cf_file_list(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "list",
                                             .operation = "directory.list",
                                             .missing = "Directory not found",
                                             .options = list_options,
                                             .bytes = list_bytes,
                                             .done = list_done};

    cf_file_begin(q, &kind);
}
