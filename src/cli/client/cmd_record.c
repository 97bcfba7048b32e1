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

static int record_main(struct client_call *call)
{
    const struct record_args *a = call->args;
    hf_autobuf struct buf path = {0};
    struct fetch_request get = {.method = "GET"};
    struct fetch_stream s;
    int rc = request_process_path(call, call->operands[0], &path, "/recording");

    request_put_query(call, "since until", &path);
    get.path = buf_cstr(&path);
    if (rc == CLI_OK)
        rc = request_stream(call, &get, &s);
    if (rc != CLI_OK)
        return rc;
    if (a->output != NULL && strcmp(a->output, "-") != 0)
        rc = copy_to_file(call, &s, a->output);
    else
        rc = copy_body(call, &s, STDOUT_FILENO);
    fetch_close(&s);
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
    .run = record_main,
};
