/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_files.c - fs/mkdir, fs/read, and fs/write: files as a gzipped tar, unpacked below the
 * directory in x-cwd
 *
 * A short-lived process does the work (file_op.h), as the user of plain commands. A body is read as
 * fast as that process accepts it, so nothing is buffered here. Layer: dialects.
 */
#include <errno.h>
#include <limits.h>

#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "dialects/vercel/vercel.h"

/* --- errors ------------------------------------------------------------------------------ */

static const struct {
    int errnum, status;
    const char *code;
} faults[] = {
    {ENOENT, 404, "not_found"}, {EEXIST, 409, "conflict"},         {EACCES, 403, "forbidden"},
    {EPERM, 403, "forbidden"},  {EROFS, 403, "forbidden"},         {ENOSPC, 413, "no_space"},
    {EDQUOT, 413, "no_space"},  {0, 400, "file_operation_failed"},
};

/* A retry would not help with any of them, so none is a 5xx. */
static void file_failed(struct http_request *rq, const struct file_fault *f)
{
    size_t i = 0;

    while (faults[i].errnum != f->errnum && faults[i].errnum != 0)
        i++;
    vc_refuse(rq, faults[i].status, faults[i].code,
              f->text[0] != '\0' ? f->text : "the file operation failed");
}

static void drained(struct http_request *rq)
{
    vc_refuse(rq, 503, "shutting_down", "the daemon is shutting down; try again in a moment");
}

/* --- mkdir and read -------------------------------------------------------------------------- */

/* False: replied. */
static bool decode_path(struct http_request *rq, char path[PATH_MAX])
{
    json_auto_t *body = vc_session(rq) == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};

    if (body == NULL)
        return false;
    if (vc_decode_path(body, vc_of(rq)->cwd, path, &err) == 0)
        return true;
    vc_error(rq, &err);
    return false;
}

static void mkdir_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    (void)r, (void)tag;
    vc_reply_nothing(rq);
}

static void mkdir_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    file_failed(rq, f);
}

void vc_mkdir(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .reply = mkdir_reply, .failed = mkdir_failed, .changes = true};
    char path[PATH_MAX];
    struct file_op op;

    if (!decode_path(rq, path))
        return;
    file_op_init(&op, NULL, "mkdir", path);
    file_op_flag(&op, "exclusive", true);
    file_call_begin(rq, &op, &ops, 0);
}

void vc_read(struct http_request *rq)
{
    static const struct file_download_ops ops = {
        .failed = file_failed, .drain_text = "the daemon is shutting down; try again in a moment"};
    char path[PATH_MAX];
    struct file_op op;

    if (!decode_path(rq, path))
        return;
    file_op_init(&op, NULL, "read", path);
    file_download_begin(rq, &op, &ops);
}

/* --- write ------------------------------------------------------------------------------- */

static void write_reply(struct http_request *rq, const struct file_entry *e)
{
    (void)e;
    vc_reply_nothing(rq);
}

/* NULL: replied. */
static const char *target(struct http_request *rq)
{
    const char *dir = http_header(rq, "x-cwd");

    if (dir == NULL || dir[0] == '\0')
        return vc_of(rq)->cwd;
    if (dir[0] == '/')
        return dir;
    vc_refuse(rq, 400, "bad_request", "the header x-cwd must be an absolute directory");
    return NULL;
}

/* Writing it again gives the same result, so a client may send it to the next worker. */
void vc_write(struct http_request *rq)
{
    static const struct file_upload_ops ops = {
        .reply = write_reply, .failed = file_failed, .drained = drained};
    const char *dir = vc_session(rq) == NULL ? NULL : target(rq);
    struct file_op op;

    if (dir == NULL)
        return;
    file_op_init(&op, NULL, "unpack", dir);
    file_op_flag(&op, "gzip", true);
    file_op_flag(&op, "follow", true);
    file_upload_begin(rq, &op, &ops);
}
