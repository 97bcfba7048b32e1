/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge_file.c - GET and PUT /v1/sandbox/{id}/file/PATH: a file's bytes
 *
 * A short-lived process reads or writes the file, because the worker itself has no rights in the
 * sandbox. A written file appears whole or not at all. Layer: dialects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "transport/url_query.h"

/* The path in the request, from "/" on; the caller frees it. NULL: the request has been replied
 * to. */
static char *file_path(struct http_request *rq)
{
    const char *raw = http_param(rq, "*");
    char *path;

    if (bridge_sandbox(rq) == NULL)
        return NULL;
    path = hf_xalloc(strlen(raw) + 2);
    path[0] = '/';
    if (raw[0] != '\0' && url_percent_decode(raw, strlen(raw), false, path + 1) > 0 &&
        utf8_is_valid(path, strlen(path)))
        return path;
    bridge_error(rq, 400, "invalid_request", "the path is not valid UTF-8");
    free(path);
    return NULL;
}

static void drained(struct http_request *rq)
{
    bridge_error(rq, 503, "shutting_down", "the daemon is shutting down; try again");
}

/* --- read ---------------------------------------------------------------------------------- */

static const char *words_of(const struct file_fault *f)
{
    return f->text[0] != '\0' ? f->text : "the file operation failed";
}

static void read_failed(struct http_request *rq, const struct file_fault *f)
{
    switch (f->errnum) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG: bridge_error(rq, 404, "not_found", "no such file"); break;
    case EISDIR:
    case ENOTSUP:
    case EINVAL: bridge_error(rq, 400, "invalid_request", "not a regular file"); break;
    default: bridge_error(rq, 500, "file_error", words_of(f)); break;
    }
}

void cf_bridge_file_get(struct http_request *rq)
{
    static const struct file_download_ops ops = {
        .failed = read_failed, .drain_text = "the daemon is shutting down; try again"};
    hf_autofree char *path = file_path(rq);
    struct file_op op;

    if (path == NULL)
        return;
    file_op_init(&op, NULL, "read", path);
    file_download_begin(rq, &op, &ops);
}

/* --- write ------------------------------------------------------------------------------------ */

static void write_reply(struct http_request *rq, const struct file_entry *e)
{
    static const char ok[] = "{\"ok\":true}";

    (void)e;
    http_reply(rq, 200, "application/json", ok, sizeof ok - 1);
}

static void write_failed(struct http_request *rq, const struct file_fault *f)
{
    bridge_error(rq, 500, "file_error", words_of(f));
}

void cf_bridge_file_put(struct http_request *rq)
{
    static const struct file_upload_ops ops = {
        .reply = write_reply, .failed = write_failed, .drained = drained};
    hf_autofree char *path = file_path(rq);
    struct file_op op;

    if (path == NULL)
        return;
    file_op_init(&op, NULL, "write", path);
    file_upload_begin(rq, &op, &ops);
}
