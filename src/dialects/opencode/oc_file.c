/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_file.c - /file and /api/fs: lists a directory and reads a file of the request's directory
 *
 * A path is relative to that directory and does not leave it, not through links either. Layer:
 * dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_gather.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"
#include "transport/url_query.h"

#define ESCAPES "Path escapes the location"

/* --- errors ---------------------------------------------------------------------------------- */

void oc_file_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    if (f->errnum == EXDEV)
        oc_invalid(rq, 400, "Query", ESCAPES);
    else if (f->errnum == EISDIR || f->errnum == ENOTSUP)
        oc_invalid(rq, 400, "Query", "Path is not a file");
    else if (f->errnum == ENOTDIR)
        oc_invalid(rq, 400, "Query", "Path is not a directory");
    else if (f->errnum != 0)
        oc_invalid(rq, 400, "Query", f->text);
    else
        http_reply_error(rq, &f->err);
}

static void read_failed(struct http_request *rq, const struct file_fault *f)
{
    oc_file_failed(rq, f, 0);
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Appends what path.resolve() of Node does. False: too long. */
static bool append(char out[PATH_MAX], size_t *len, const char *path)
{
    for (;;) {
        size_t n;

        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n == 0)
            return true;
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            while (*len > 0 && out[--*len] != '/')
                ;
        } else if (n != 1 || path[0] != '.') {
            if (*len + n + 2 > PATH_MAX)
                return false;
            out[(*len)++] = '/';
            memcpy(out + *len, path, n);
            *len += n;
        }
        path += n;
    }
}

static bool resolve(const char *directory, const char *path, char out[PATH_MAX])
{
    size_t len = 0;

    if ((path[0] != '/' && !append(out, &len, directory)) || !append(out, &len, path))
        return false;
    snprintf(out + len, PATH_MAX - len, "%s", len == 0 ? "/" : "");
    return true;
}

static bool contains(const char *directory, const char *path)
{
    size_t len = strlen(directory);

    return len == 1 || (strncmp(directory, path, len) == 0 && strchr("/", path[len]) != NULL);
}

bool oc_place(struct http_request *rq, const char *path, struct oc_place *p)
{
    char given[PATH_MAX];

    if (!resolve(oc_of(rq)->cwd, oc_directory(rq, given), p->directory) ||
        !resolve(p->directory, path, p->path))
        oc_invalid(rq, 400, "Query", "the path is too long");
    else if (!contains(p->directory, p->path))
        oc_invalid(rq, 400, "Query", ESCAPES);
    else
        return true;
    return false;
}

int oc_place_below(const struct oc_place *p)
{
    size_t len = strlen(p->directory);

    return (int)(len == 1 ? 1 : len + 1);
}

const char *oc_query(struct http_request *rq, const char *name)
{
    const char *text = http_query(rq, name);
    char message[100];

    if (text != NULL)
        return text;
    snprintf(message, sizeof message, "Missing key\n  at [\"%s\"]", name);
    oc_invalid(rq, 400, "Query", message);
    return NULL;
}

/* --- a directory ----------------------------------------------------------------------------- */

/* A path below the directory; that of a directory ends in a slash. */
void oc_write_path(struct json_out *o, const struct file_entry *e, int below)
{
    char path[PATH_MAX + 1];
    bool directory = e->kind != NULL && strcmp(e->kind, "directory") == 0;
    size_t len = strlen(e->path);

    snprintf(path, sizeof path, "%s%s", len >= (size_t)below ? e->path + below : "",
             directory ? "/" : "");
    json_str(o, path);
}

void oc_write_entry(struct json_out *o, const struct file_entry *e, int below)
{
    json_open(o, '{');
    json_key(o, "path");
    oc_write_path(o, e, below);
    json_kstr(o, "type", e->kind);
    json_close(o, '}');
}

static void write_node(struct json_out *o, const struct file_entry *e, int below)
{
    json_open(o, '{');
    json_kstr(o, "name", e->name);
    json_key(o, "path");
    oc_write_path(o, e, below);
    json_kstr(o, "absolute", e->path);
    json_kstr(o, "type", e->kind);
    json_kbool(o, "ignored", e->ignored);
    json_close(o, '}');
}

void oc_entries_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    struct json_out o = oc_reply_open(rq);

    (void)tag;
    oc_data_open(rq, &o);
    json_open(&o, '[');
    if (r->count > 0)
        json_raw(&o, buf_data(r->items), r->items->len);
    json_close(&o, ']');
    oc_data_send(rq, &o);
}

static void list(struct http_request *rq, const char *path, const struct file_call_ops *ops)
{
    struct oc_place place;
    struct file_op op;

    if (path == NULL || !oc_place(rq, path, &place))
        return;
    file_op_init(&op, NULL, "list", place.path);
    file_op_arg(&op, "1");
    file_op_flag(&op, "plain", true);
    file_op_option(&op, "within", place.directory);
    file_call_begin(rq, &op, ops, oc_place_below(&place));
}

void oc_file_list(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_node, .reply = oc_entries_reply, .failed = oc_file_failed};

    list(rq, oc_query(rq, "path"), &ops);
}

void oc_fs_list(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = oc_write_entry, .reply = oc_entries_reply, .failed = oc_file_failed};
    const char *path = http_query(rq, "path");

    list(rq, path != NULL ? path : ".", &ops);
}

/* --- a file ---------------------------------------------------------------------------------- */

/* The length of a space, as trim() of JavaScript has it, that begins or ends here; 0: none. */
static size_t space_len(const char *at, size_t left)
{
    static const char *const wide[] = {
        "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
        "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
        "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff",
    };

    if (left > 0 && *at != '\0' && strchr(" \t\n\v\f\r", *at) != NULL)
        return 1;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t n = strlen(wide[i]);

        if (n <= left && memcmp(at, wide[i], n) == 0)
            return n;
    }
    return 0;
}

static void put_trimmed(struct json_out *o, const char *text, size_t len)
{
    size_t n;

    while ((n = space_len(text, len)) > 0) {
        text += n;
        len -= n;
    }
    for (size_t back = 1; back <= 3 && back <= len; back++)
        if (space_len(text + len - back, back) == back) {
            len -= back;
            back = 0;
        }
    json_kstrn(o, "content", text, len);
}

static void content_reply(struct http_request *rq, const struct file_entry *e,
                          const struct buf *bytes, int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    const char *at = bytes->len > 0 ? buf_data(bytes) : "";
    bool text = memchr(at, '\0', bytes->len) == NULL && utf8_is_valid(at, bytes->len);

    (void)tag;
    json_kstr(&o, "type", text ? "text" : "binary");
    if (text) {
        put_trimmed(&o, at, bytes->len);
    } else {
        json_key(&o, "content");
        json_base64(&o, at, bytes->len);
        json_kstr(&o, "encoding", "base64");
        json_kstr(&o, "mimeType", oc_mime(e->path));
    }
    dialect_reply_send(rq, 200, &o);
}

/* A file that is not there is empty, as in the original. */
static void content_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    if (f->errnum == ENOENT || f->errnum == ENOTDIR)
        oc_send_json(rq, "{\"type\":\"text\",\"content\":\"\"}");
    else
        oc_file_failed(rq, f, tag);
}

static void content_too_long(struct http_request *rq, int tag)
{
    (void)tag;
    dialect_fail(rq, HF_E_file_too_large,
                 "the file has more than %d bytes; /api/fs/read has no such limit",
                 LIMIT_OC_FILE_BYTES);
}

void oc_file_content(struct http_request *rq)
{
    static const struct file_gather_ops ops = {.bytes_max = LIMIT_OC_FILE_BYTES,
                                               .reply = content_reply,
                                               .failed = content_failed,
                                               .too_long = content_too_long};
    const char *path = oc_query(rq, "path");
    struct oc_place place;
    struct file_op op;

    if (path == NULL || !oc_place(rq, path, &place))
        return;
    file_op_init(&op, NULL, "read", place.path);
    file_op_option(&op, "within", place.directory);
    file_gather_begin(rq, &op, &ops, 0);
}

/* What a program of the sandbox wrote must run no script with a browser's credentials. */
static bool read_head(struct http_request *rq, const struct file_entry *e,
                      struct file_download_head *h)
{
    http_add_header(rq, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; sandbox");
    h->type = oc_mime(e->path);
    return true;
}

void oc_fs_read(struct http_request *rq)
{
    static const struct file_download_ops ops = {.head = read_head, .failed = read_failed};
    const char *rest = http_param(rq, "*");
    char path[PATH_MAX];
    struct oc_place place;
    struct file_op op;
    size_t len = strlen(rest);
    ssize_t n = len < sizeof path ? url_percent_decode(rest, len, false, path) : -1;

    if (n < 0 || memchr(path, '\0', (size_t)n) != NULL) {
        oc_invalid(rq, 400, "Params", "the path is too long or not encoded correctly");
        return;
    }
    if (!oc_place(rq, path, &place))
        return;
    file_op_init(&op, NULL, "read", place.path);
    file_op_option(&op, "within", place.directory);
    file_download_begin(rq, &op, &ops);
}
