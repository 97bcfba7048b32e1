/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_child.c - the operations `pack` and `unpack` in a child of the client. Layer: cli.
 */
#include "cli/client/copy_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cli/client/client_print.h"
#include "files/files.h"

#define SAID_MAX_BYTES (64 * 1024) /* less than a pipe holds: the child never waits for us */

struct pipes {
    int in[2], out[2], err[2];
};

static void pipes_close(struct pipes *p)
{
    for (int i = 0; i < 2; i++) {
        io_close(&p->in[i]);
        io_close(&p->out[i]);
        io_close(&p->err[i]);
    }
}

static int pipes_open(struct pipes *p)
{
    int rc;

    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 &&
        pipe2(p->err, O_CLOEXEC) == 0)
        return 0;
    rc = -errno;
    pipes_close(p);
    return rc;
}

static void run(struct pipes *p, int (*operation)(char **), const char *dir)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    char *args[] = {(char *)(uintptr_t)dir, NULL};
    int code = 1;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    if (dup2(p->in[0], STDIN_FILENO) >= 0 && dup2(p->out[1], STDOUT_FILENO) >= 0 &&
        dup2(p->err[1], STDERR_FILENO) >= 0) {
        pipes_close(p);
        code = operation(args);
        fflush(stdout);
        fflush(stderr);
    }
    _exit(code);
}

static int start(struct copy_child *c, int (*operation)(char **), const char *dir, bool packs)
{
    struct pipes p;
    int rc = pipes_open(&p);

    if (rc < 0)
        return rc;
    fflush(stdout);
    fflush(stderr);
    c->pid = fork();
    if (c->pid < 0) {
        rc = -errno;
        pipes_close(&p);
        return rc;
    }
    if (c->pid == 0)
        run(&p, operation, dir);
    c->fd = packs ? p.out[0] : p.in[1];
    c->result = packs ? -1 : p.out[0];
    c->errors = p.err[0];
    if (packs)
        io_close(&p.in[1]);
    io_close(&p.in[0]);
    io_close(&p.out[1]);
    io_close(&p.err[1]);
    return 0;
}

int copy_child_pack(struct copy_child *c, const char *dir)
{
    return start(c, files_pack, dir, true);
}

int copy_child_unpack(struct copy_child *c, const char *dir)
{
    return start(c, files_unpack, dir, false);
}

/* --- the end ------------------------------------------------------------------------------- */

static void read_line(int fd, struct buf *out)
{
    char text[4096];
    ssize_t n;

    while ((n = hf_read(fd, text, sizeof text)) > 0)
        if (out->len < SAID_MAX_BYTES)
            buf_put(out, text, (size_t)n);
    while (out->len > 0 && buf_data(out)[out->len - 1] == '\n')
        out->len--;
}

bool copy_child_end(struct copy_child *c, struct buf *said, int64_t *skipped)
{
    hf_autobuf struct buf errors = {0};
    const char *text;
    int status = 0;

    io_close(&c->fd);
    if (c->result >= 0)
        read_line(c->result, said);
    read_line(c->errors, &errors);
    io_close(&c->result);
    io_close(&c->errors);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    text = buf_cstr(&errors);
    *skipped = 0;
    if (strncmp(text, "SKIPPED ", 8) == 0)
        (void)text_to_i64(text + 8, 0, INT64_MAX, skipped);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    /* "ENOSPC PATH: sentence", and the path may be one that the sandbox chose. */
    buf_clear(said);
    text += strcspn(text, " ");
    print_plain(said, text[0] != '\0' ? text + 1 : "the copy ended unexpectedly");
    return false;
}
