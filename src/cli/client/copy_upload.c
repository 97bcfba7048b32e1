/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_upload.c - files and directories of this machine to the sandbox
 *
 * A body that is not sent to its end leaves no file there, so an error here closes the connection.
 * Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/copy_child.h"
#include "cli/client/copy_own.h"
#include "cli/client/user_terminal.h"

typedef ssize_t read_fn(int fd, void *bytes, size_t size);

static ssize_t read_input(int fd, void *bytes, size_t size)
{
    (void)fd;
    return user_terminal_read(bytes, size);
}

/* Sends what can be read. *read_rc: 0, or -errno: then the body is not complete. CLI_OK: the
 * stream waits for its response. */
static int send_body(struct copying *c, struct fetch_stream *s, int fd, read_fn *read, int *read_rc)
{
    static char block[COPY_BLOCK_BYTES];
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(fd, block, sizeof block)) > 0) {
        rc = fetch_send(s, block, (size_t)n);
        copy_progress_add(&c->progress, (size_t)n);
    }
    *read_rc = rc == 0 && n < 0 ? (int)n : 0;
    return rc;
}

static int receive_reply(struct copying *c, struct fetch_stream *s, bool complete,
                         struct fetch_reply *out)
{
    struct hf_error err = {0};
    int rc = fetch_send_end(s, &c->call->place, complete, &err);

    copy_progress_end(&c->progress);
    if (rc >= 0) {
        rc = fetch_rest(s, out);
        if (rc < 0)
            hf_fail(&err, HF_E_bad_value, "the connection broke: %s", strerror(-rc));
        fetch_close(s);
    }
    return request_check(c->call, rc, &err, out);
}

static int open_put(struct copying *c, const char *path, const char *type, struct fetch_stream *s)
{
    struct fetch_request put = {.method = "PUT", .path = path, .type = type};
    struct hf_error err = {0};

    if (fetch_send_open(s, &c->call->place, &put, &err) < 0)
        return request_print_unreachable(c->call, &err);
    return CLI_OK;
}

/* --- one file -------------------------------------------------------------------------------- */

static int upload_file(struct copying *c, int fd, read_fn *read, const char *from, const char *path)
{
    fetch_autoreply struct fetch_reply r = {0};
    struct fetch_stream s;
    int read_rc, sent, rc = open_put(c, path, "application/octet-stream", &s);

    if (rc != CLI_OK)
        return rc;
    sent = send_body(c, &s, fd, read, &read_rc);
    if (read_rc < 0) {
        fetch_close(&s);
        copy_progress_end(&c->progress);
        return copy_fail(c, read_rc, from);
    }
    rc = receive_reply(c, &s, sent == 0, &r);
    if (rc == CLI_OK)
        print_value(c->call, r.json);
    return rc;
}

static int upload_open(struct copying *c, int fd, const char *from, const char *to)
{
    hf_autobuf struct buf path = {0};
    struct stat st;

    if (fstat(fd, &st) < 0)
        return copy_fail(c, -errno, from);
    copy_put_route(c, &path, "content", to);
    buf_puts(&path, "&parents=0");
    if (S_ISREG(st.st_mode) && strcmp(from, "-") != 0)
        buf_printf(&path, "&mode=%04o", (unsigned)st.st_mode & 0777);
    return upload_file(c, fd, strcmp(from, "-") == 0 ? read_input : hf_read, from, buf_cstr(&path));
}

/* --- a directory ----------------------------------------------------------------------------- */

/* The directory itself: the archive has only what is in it. */
static int make_remote(struct copying *c, const char *to, unsigned mode)
{
    const struct copy_args *a = c->call->args;
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    char digits[8];
    struct json_out o;

    if (!utf8_is_valid(to, strlen(to)))
        return command_complain(c->call, CLI_USAGE, "the name of a new directory must be UTF-8");
    snprintf(digits, sizeof digits, "%04o", (mode & 0777) | 0700);
    json_out_init(&o, &body);
    json_open(&o, '{');
    json_kstr(&o, "path", to);
    json_kstr(&o, "mode", digits);
    json_kbool(&o, "parents", false);
    if (a->user != NULL)
        json_kstr(&o, "user", a->user);
    json_close(&o, '}');
    return request(c->call, "POST", "/v1/files/mkdir", &body, &r);
}

/* The packer prints a line about the directory first; nothing if it cannot be read. */
static bool skip_line(int fd)
{
    char byte;
    ssize_t n;

    while ((n = hf_read(fd, &byte, 1)) == 1 && byte != '\n')
        ;
    return n == 1;
}

static int finish_tree(struct copying *c, struct fetch_stream *s, struct copy_child *child,
                       int sent)
{
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf said = {0};
    int64_t skipped = 0;
    bool packed = copy_child_end(child, &said, &skipped);
    int rc;

    if (sent == 0 && !packed) {
        fetch_close(s);
        copy_progress_end(&c->progress);
        return command_complain(c->call, CLI_FAILED, "%s", buf_cstr(&said));
    }
    rc = receive_reply(c, s, sent == 0, &r);
    if (rc != CLI_OK)
        return rc;
    print_value(c->call, r.json);
    if (skipped > 0)
        return command_complain(c->call, CLI_FAILED, COPY_SKIPPED, (long long)skipped);
    return CLI_OK;
}

static int abandon(struct copying *c, struct copy_child *child, int rc)
{
    hf_autobuf struct buf said = {0};
    int64_t skipped;

    if (copy_child_end(child, &said, &skipped) || rc != CLI_OK)
        return rc != CLI_OK ? rc : CLI_FAILED;
    return command_complain(c->call, CLI_FAILED, "%s", buf_cstr(&said));
}

static int upload_tree(struct copying *c, const char *from, const char *to, unsigned mode,
                       bool make)
{
    hf_autobuf struct buf path = {0};
    struct copy_child child;
    struct fetch_stream s;
    int read_rc, sent, rc = copy_child_pack(&child, from);

    if (rc < 0)
        return copy_fail(c, rc, from);
    if (!skip_line(child.fd))
        return abandon(c, &child, CLI_OK);
    rc = make ? make_remote(c, to, mode) : CLI_OK;
    copy_put_route(c, &path, "archive", to);
    if (rc == CLI_OK)
        rc = open_put(c, buf_cstr(&path), "application/x-tar", &s);
    if (rc != CLI_OK)
        return abandon(c, &child, rc);
    sent = send_body(c, &s, child.fd, hf_read, &read_rc);
    return finish_tree(c, &s, &child, read_rc < 0 ? read_rc : sent);
}

/* --- either ---------------------------------------------------------------------------------- */

int copy_upload(struct copying *c, const char *from, const char *to)
{
    bool input = strcmp(from, "-") == 0;
    hf_autoclose int opened = input ? -1 : open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct copy_stat there = {0};
    struct stat st = {0};
    int rc;

    if (!input && (opened < 0 || fstat(opened, &st) < 0))
        return copy_fail(c, -errno, from);
    rc = copy_stat_remote(c, to, &there);
    if (rc != CLI_OK)
        return rc;
    if (input && there.is_directory)
        return command_complain(c->call, CLI_USAGE, "%s is a directory: name the new file", to);
    copy_progress_begin(&c->progress, true);
    if (!S_ISDIR(st.st_mode))
        return upload_open(c, input ? STDIN_FILENO : opened, from,
                           copy_target(c, to, there.is_directory, from));
    to = copy_target(c, to, there.is_directory, from);
    if (there.is_directory)
        rc = copy_stat_remote(c, to, &there);
    if (rc != CLI_OK)
        return rc;
    if (there.exists && !there.is_directory)
        return command_complain(c->call, CLI_FAILED, "%s: not a directory", to);
    return upload_tree(c, from, to, (unsigned)st.st_mode, !there.exists);
}
