/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_archive.c - HEAD, GET and PUT /containers/{id}/archive: files as a tar, for `docker cp`
 *
 * All containers share the sandbox's files. As in Docker, the daemon's user carries it out, whoever
 * the container runs as, and a container that has ended has its files, too. Layer: dialects.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "dialects/common/file_call.h"
#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "dialects/docker/docker_archive_path.h"
#include "dialects/docker/docker_entry.h"
#include "engine/users.h"

/* --- requests ------------------------------------------------------------------------------ */

/* False: replied. */
static bool decode(struct http_request *rq, char path[PATH_MAX])
{
    const char *text = http_query(rq, "path");
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return false;
    if (text == NULL || text[0] == '\0') {
        docker_fail(rq, 400, "bad parameter: path is required");
        return false;
    }
    if (docker_archive_path(text, path, PATH_MAX))
        return true;
    docker_fail(rq, 400, "the path is too long");
    return false;
}

/* --- errors ---------------------------------------------------------------------------------- */

static const struct {
    int errnum, status;
} faults[] = {
    {ENOENT, 404},  {EACCES, 403},  {EPERM, 403},        {EROFS, 403},  {EEXIST, 400},
    {EISDIR, 400},  {ENOTDIR, 400}, {ELOOP, 400},        {EINVAL, 400}, {EBADMSG, 400},
    {ENOTSUP, 400}, {E2BIG, 400},   {ENAMETOOLONG, 400},
};

static int fault_status(int errnum)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].errnum == errnum)
            return faults[i].status;
    return 500;
}

/* Is it the path of the request that is wrong, rather than one in the archive? */
static bool fault_is_of(const struct file_fault *f, const char *path)
{
    size_t len = strlen(path);

    return strncmp(f->text, path, len) == 0 && f->text[len] == ':';
}

static void failed(struct http_request *rq, const struct file_fault *f)
{
    char path[PATH_MAX] = "";

    (void)docker_archive_path(http_query(rq, "path"), path, sizeof path);
    if (fault_is_of(f, path) && f->errnum == ENOENT)
        docker_fail(rq, 404, "Could not find the file %s in container %s", path,
                    http_param(rq, "id"));
    else if (fault_is_of(f, path) && f->errnum == ENOTDIR && http_method(rq) == HTTP_PUT_M)
        docker_fail(rq, 400, "extraction point is not a directory");
    else
        docker_fail(rq, fault_status(f->errnum), "%s",
                    f->text[0] != '\0' ? f->text : "the file operation has failed");
}

/* --- the description ------------------------------------------------------------------------- */

static const struct {
    const char *kind;
    unsigned mode, go;
} modes[] = {
    {"directory", 0, 1U << 31},    {"symlink", 0, 1U << 27},
    {"block_device", 0, 1U << 26}, {"character_device", 0, 1U << 26 | 1U << 21},
    {"fifo", 0, 1U << 25},         {"socket", 0, 1U << 24},
    {NULL, S_ISUID, 1U << 23},     {NULL, S_ISGID, 1U << 22},
    {NULL, S_ISVTX, 1U << 20},
};

/* As Go's library writes it. A link has all permissions. */
static int64_t go_mode(const struct file_entry *e)
{
    bool link = e->kind != NULL && strcmp(e->kind, "symlink") == 0;
    unsigned mode = link ? 0777 : (unsigned)e->mode, go = mode & 0777;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (modes[i].kind == NULL ? (mode & modes[i].mode) != 0
                                  : e->kind != NULL && strcmp(e->kind, modes[i].kind) == 0)
            go |= modes[i].go;
    return go;
}

static void add_stat(struct http_request *rq, const struct file_entry *e)
{
    struct buf json = {0}, text = {0};
    char path[PATH_MAX] = "", name[NAME_MAX + 1];
    struct json_out o;

    (void)docker_archive_path(http_query(rq, "path"), path, sizeof path);
    docker_archive_name(path, name);
    json_out_init(&o, &json);
    json_open(&o, '{');
    json_kstr(&o, "name", name);
    json_kint(&o, "size", e->size);
    json_kint(&o, "mode", go_mode(e));
    json_ktime(&o, "mtime", e->modified_ms);
    json_kstr(&o, "linkTarget", e->target != NULL ? e->target : "");
    json_close(&o, '}');
    base64_encode(&text, buf_data(&json), json.len);
    docker_headers(rq);
    http_add_header(rq, "X-Docker-Container-Path-Stat", buf_cstr(&text));
    buf_fini(&json);
    buf_fini(&text);
}

static void stat_reply(struct http_request *rq, const struct file_results *r, int tag)
{
    (void)tag;
    add_stat(rq, r->last);
    http_reply_empty(rq, 200);
}

static void stat_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    failed(rq, f);
}

/* --- handlers ------------------------------------------------------------------------------- */

static bool pack_head(struct http_request *rq, const struct file_entry *e,
                      struct file_download_head *h)
{
    add_stat(rq, e);
    h->type = "application/x-tar";
    h->length = -1;
    return true;
}

void docker_archive_get(struct http_request *rq)
{
    static const struct file_call_ops stat_ops = {.reply = stat_reply, .failed = stat_failed};
    static const struct file_download_ops pack_ops = {.head = pack_head, .failed = failed};
    char path[PATH_MAX], name[NAME_MAX + 1];
    struct file_op op;

    if (!decode(rq, path))
        return;
    if (http_method(rq) == HTTP_HEAD_M) {
        file_op_init(&op, NULL, "stat", path);
        file_call_begin(rq, &op, &stat_ops, 0);
        return;
    }
    file_op_init(&op, NULL, "pack", path);
    docker_archive_name(path, name);
    file_op_option(&op, "name", name);
    file_op_flag(&op, "links", true);
    file_download_begin(rq, &op, &pack_ops);
}

static void put_reply(struct http_request *rq, const struct file_entry *e)
{
    (void)e;
    docker_empty(rq, 200);
}

/* What the archive brings belongs to the user of the container. False: replied. */
static bool add_owner(struct http_request *rq, struct file_op *op)
{
    struct hf_error err = {0};
    docker_entry_auto b = {0};
    struct user user;

    if (!docker_query(rq, "copyUIDGID"))
        return true;
    if (!docker_entry_of_request(rq, &b))
        return false;
    if (docker_text(b.config, "user")[0] == '\0')
        return true;
    if (user_find(docker_text(b.config, "user"), &user, &err) < 0) {
        docker_error(rq, &err);
        return false;
    }
    file_op_number(op, "uid", user.uid);
    file_op_number(op, "gid", user.gid);
    return true;
}

void docker_archive_put(struct http_request *rq)
{
    static const struct file_upload_ops ops = {.reply = put_reply, .failed = failed};
    char path[PATH_MAX];
    struct file_op op;

    if (!decode(rq, path))
        return;
    file_op_init(&op, NULL, "unpack", path);
    file_op_option(&op, "gzip", "auto");
    file_op_flag(&op, "parents", false);
    file_op_flag(&op, "whole", true);
    if (add_owner(rq, &op))
        file_upload_begin(rq, &op, &ops);
    else
        file_op_fini(&op);
}
