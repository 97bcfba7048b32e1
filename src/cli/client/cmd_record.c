/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_record.c - `holdfast record`: the output of a process as an asciicast. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct record_args {
    const char *output, *since, *until;
};
#define OPT_ARGS struct record_args

static const struct opt opts[] = {
    OPT_TEXT("--output", 'o', output, "FILE", "file to write (standard output)"),
    OPT_TEXT("--since", 0, since, "OFFSET", "start at this offset"),
    OPT_TEXT("--until", 0, until, "OFFSET", "stop at this offset"),
};

static void add_query(struct buf *path, char *mark, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buf_printf(path, "%c%s=", *mark, name);
    fetch_escape(path, value);
    *mark = '&';
}

/* In pieces: it may be long. */
static int copy_body(const struct client_call *call, struct fetch_stream *s, int fd)
{
    const char *piece;
    ssize_t n;
    int rc;

    while ((n = fetch_next(s, &piece, -1)) > 0) {
        if (fd == STDOUT_FILENO) {
            print_out(piece, (size_t)n);
            continue;
        }
        rc = io_write_all(fd, piece, (size_t)n);
        if (rc < 0)
            return command_complain(call, CLI_FAILED, "cannot write: %s", strerror(-rc));
    }
    if (n < 0)
        return command_complain(call, CLI_NO_DAEMON, "the recording was cut short: %s; try again",
                                strerror((int)-n));
    return CLI_OK;
}

static int copy_to_file(const struct client_call *call, struct fetch_stream *s, const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int rc;

    if (file < 0)
        return command_complain(call, CLI_FAILED, "cannot write %s: %s", name, strerror(errno));
    rc = copy_body(call, s, file);
    /* Some file systems report only now that the disk is full. */
    if (close(file) < 0 && rc == CLI_OK)
        rc = command_complain(call, CLI_FAILED, "cannot write %s: %s", name, strerror(errno));
    return rc;
}

static int fetch(const struct client_call *call, const char *path)
{
    const struct record_args *a = call->args;
    struct fetch_request get = {.method = "GET", .path = path};
    struct hf_error err = {0};
    struct fetch_stream s;
    struct fetch_reply r;
    int rc = request_open(call, &get, &s, &err);

    if (rc < 0)
        return request_print_unreachable(call, &err);
    if (rc != 200) {
        fetch_rest(&s, &r);
        rc = request_print_problem(call, &r);
        fetch_reply_fini(&r);
    } else if (a->output != NULL && strcmp(a->output, "-") != 0) {
        rc = copy_to_file(call, &s, a->output);
    } else {
        rc = copy_body(call, &s, STDOUT_FILENO);
    }
    fetch_close(&s);
    return rc;
}

static int record_main(struct client_call *call)
{
    const struct record_args *a = call->args;
    hf_autobuf struct buf path = {0};
    char mark = '?';
    int rc = request_process_path(call, call->operands[0], &path, "/recording");

    add_query(&path, &mark, "since", a->since);
    add_query(&path, &mark, "until", a->until);
    if (rc == CLI_OK)
        rc = fetch(call, buf_cstr(&path));
    return rc;
}

const struct command record_command = {
    .name = "record",
    .operands = "PROCESS",
    .summary = "save the output of a process as an asciicast",
    .about =
        "Records all output that is kept, up to now if the process is still running. Play the\n"
        "file with asciinema.\n",
    COMMAND_OPTS(opts),
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = OPERAND_PROCESS,
    .run = record_main,
};
