/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach.c - `holdfast attach` and `holdfast watch`: connect to a process. Layer: cli.
 */
#include <unistd.h>

#include "cli/client/attach.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct attach_args {
    bool no_stdin, quiet;
    const char *since, *detach_keys;
    int64_t retry_ms;
};
#define OPT_ARGS struct attach_args

#define SHARED_OPTS                                                                                \
    OPT_TEXT("--since", 0, since, "OFFSET",                                                        \
             "where to start: an offset, -N for the last N bytes, now or screen"),                 \
        OPT_TEXT("--detach-keys", 0, detach_keys, "KEYS", "keys that detach (ctrl-p,ctrl-q)"),     \
        OPT_TIME("--retry", 0, retry_ms, "TIME", "how long to retry a lost connection (60s)"),     \
        OPT_FLAG("--quiet", 'q', quiet, "do not report lost connections")

static const struct opt attach_opts[] = {
    OPT_FLAG("--no-stdin", 0, no_stdin, "do not forward standard input"),
    SHARED_OPTS,
};
static const struct opt watch_opts[] = {SHARED_OPTS};

static int connect_to(struct client_call *call, bool read_only)
{
    const struct attach_args *a = call->args;
    struct attach_options o = {
        .since = a->since,
        .detach_keys = a->detach_keys,
        .retry_ms = a->retry_ms > 0 ? a->retry_ms : ATTACH_RETRY_MS,
        .read_only = read_only,
        .zero_exit = read_only,
        .quiet = a->quiet,
    };
    fetch_autoreply struct fetch_reply r = {0};
    int code = request_process(call, "GET", call->operands[0], "", NULL, &r);

    if (code != CLI_OK)
        return code == CLI_FAILED ? CLI_NO_DAEMON : code;
    if (print_value(call, r.json))
        return CLI_OK;
    o.id = request_json_text(r.json, "id");
    o.pty = json_is_true(json_object_get(r.json, "pty"));
    o.input = !read_only && !a->no_stdin;
    /* If a pager reads our output, the keys are for the pager. */
    o.raw =
        isatty(STDIN_FILENO) && (o.pty ? o.input || read_only : read_only && isatty(STDOUT_FILENO));
    return attach_run(call, &o);
}

static int attach_main(struct client_call *call)
{
    return connect_to(call, false);
}

static int watch_main(struct client_call *call)
{
    return connect_to(call, true);
}

const struct command attach_command = {
    .name = "attach",
    .operands = "PROCESS",
    .summary = "connect the terminal to a running process",
    .about =
        "Press ctrl-p ctrl-q to detach; the process keeps running. If the connection is lost, for\n"
        "example because the daemon crashes or is upgraded, attach reconnects: output resumes\n"
        "where it stopped, and input typed in the meantime arrives exactly once. The exit code\n"
        "is that of the process, or 0 after detaching. --json prints the process instead.\n",
    COMMAND_OPTS(attach_opts),
    .run = attach_main,
};

const struct command watch_command = {
    .name = "watch",
    .operands = "PROCESS",
    .summary = "follow a process without sending input",
    .about =
        "Sends no input and does not resize the terminal. Press q, ctrl-c or the detach keys to\n"
        "leave.\n",
    COMMAND_OPTS(watch_opts),
    .run = watch_main,
};
