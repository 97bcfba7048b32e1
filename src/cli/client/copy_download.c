/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_download.c - files and directories of the sandbox to this machine
 *
 * A response that is cut leaves no file here. The sandbox is not trusted: an archive unpacks only
 * below its directory, and no copy gets the set-user-ID bit. Layer: cli.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/copy_child.h"
#include "cli/client/copy_own.h"
#include "files/files_output.h"

static int fail_lost(const struct copying *c, ssize_t rc)
{
    return command_complain(c->call, CLI_NO_DAEMON, "the copy is not complete: %s",
                            strerror((int)-rc));
}

static int open_get(struct copying *c, const char *route, const char *from, struct fetch_stream *s)
{
    struct fetch_request get = {.method = "GET"};
    hf_autobuf struct buf path = {0};

    copy_put_route(c, &path, route, from);
    get.path = buf_cstr(&path);
    return request_stream(c->call, &get, s);
}

/* Writes the body. CLI_OK, or an exit code after a message; *write_rc: -errno, without one. */
static int receive_body(struct copying *c, struct fetch_stream *s, int fd, int *write_rc)
{
    const char *piece;
    ssize_t n;

    *write_rc = 0;
    while (*write_rc == 0 && (n = fetch_next(s, &piece, -1)) > 0) {
        *write_rc = io_write_all(fd, piece, (size_t)n);
        copy_progress_add(&c->progress, (size_t)n);
    }
    copy_progress_end(&c->progress);
    return *write_rc == 0 && n < 0 ? fail_lost(c, n) : CLI_OK;
}

static void print_copied(const struct copying *c, const char *path)
{
    json_auto_t *value = json_object();

    json_object_set_new(value, "path", json_string_nocheck(path));
    json_object_set_new(value, "bytes", json_integer((json_int_t)c->progress.bytes));
    print_value(c->call, value);
}

/* --- one file -------------------------------------------------------------------------------- */

static int download_print(struct copying *c, struct fetch_stream *s)
{
    const char *piece;
    ssize_t n;

    while ((n = fetch_next(s, &piece, -1)) > 0) {
        print_out(piece, (size_t)n);
        copy_progress_add(&c->progress, (size_t)n);
    }
    copy_progress_end(&c->progress);
    return n < 0 ? fail_lost(c, n) : CLI_OK;
}

static int download_open(struct copying *c, struct fetch_stream *s, const char *to, unsigned mode)
{
    const struct files_output_options options = {.mode = (int)mode};
    hf_autobuf struct buf path = {0};
    struct files_output o;
    int write_rc, rc;

    buf_printf(&path, "%s%s", strchr(to, '/') == NULL ? "./" : "", to);
    write_rc = files_output_open(&o, buf_cstr(&path), &options);
    if (write_rc < 0)
        return copy_fail(c, write_rc, to);
    rc = receive_body(c, s, o.fd, &write_rc);
    if (rc == CLI_OK && write_rc == 0)
        write_rc = files_output_commit(&o);
    files_output_close(&o);
    if (write_rc < 0)
        return copy_fail(c, write_rc, to);
    if (rc == CLI_OK)
        print_copied(c, to);
    return rc;
}

static int download_file(struct copying *c, const char *from, const char *to, unsigned mode)
{
    struct fetch_stream s;
    int rc = open_get(c, "content", from, &s);

    if (rc != CLI_OK)
        return rc;
    rc = to == NULL ? download_print(c, &s) : download_open(c, &s, to, mode);
    fetch_close(&s);
    return rc;
}

/* --- a directory ----------------------------------------------------------------------------- */

static int64_t trailer_skipped(const struct fetch_stream *s)
{
    const char *name, *value;
    int64_t n = 0;
    size_t at = 0;

    while (http1_next_header(&s->response.trailers, &at, &name, &value))
        if (strcasecmp(name, "Holdfast-Skipped") == 0)
            (void)text_to_i64(value, 0, INT64_MAX, &n);
    return n;
}

static int finish_tree(struct copying *c, struct fetch_stream *s, struct copy_child *child, int rc)
{
    hf_autobuf struct buf said = {0};
    int64_t skipped;
    bool unpacked = copy_child_end(child, &said, &skipped);
    json_auto_t *value = NULL;

    if (rc != CLI_OK)
        return rc;
    if (!unpacked)
        return command_complain(c->call, CLI_FAILED, "%s", buf_cstr(&said));
    value = json_parse(buf_data(&said), said.len, NULL);
    print_value(c->call, value);
    skipped = trailer_skipped(s) + request_json_number(value, "skipped");
    if (skipped > 0)
        return command_complain(c->call, CLI_FAILED, COPY_SKIPPED, (long long)skipped);
    return CLI_OK;
}

static int unpack_stream(struct copying *c, struct fetch_stream *s, const char *to, unsigned mode)
{
    struct copy_child child;
    struct stat st;
    int write_rc, rc;

    if (stat(to, &st) == 0 && !S_ISDIR(st.st_mode))
        return copy_fail(c, -ENOTDIR, to);
    if (mkdir(to, (mode & 0777) | 0700) < 0 && errno != EEXIST)
        return copy_fail(c, -errno, to);
    rc = copy_child_unpack(&child, to);
    if (rc < 0)
        return copy_fail(c, rc, to);
    /* Where it stops reading, it says why. */
    rc = receive_body(c, s, child.fd, &write_rc);
    return finish_tree(c, s, &child, rc);
}

static int download_tree(struct copying *c, const char *from, const char *to, unsigned mode)
{
    struct fetch_stream s;
    int rc = open_get(c, "archive", from, &s);

    if (rc != CLI_OK)
        return rc;
    rc = unpack_stream(c, &s, to, mode);
    fetch_close(&s);
    return rc;
}

/* --- either ---------------------------------------------------------------------------------- */

int copy_download(struct copying *c, const char *from, const char *to)
{
    bool output = strcmp(to, "-") == 0;
    struct copy_stat there = {0};
    struct stat st;
    bool into = !output && stat(to, &st) == 0 && S_ISDIR(st.st_mode);
    int rc = output ? CLI_OK : copy_stat_remote(c, from, &there);

    if (rc != CLI_OK)
        return rc;
    copy_progress_begin(&c->progress, !output || isatty(STDOUT_FILENO) == 0);
    if (output)
        return download_file(c, from, NULL, 0);
    to = copy_target(c, to, into, from);
    return there.is_directory ? download_tree(c, from, to, there.mode)
                              : download_file(c, from, to, there.mode);
}
