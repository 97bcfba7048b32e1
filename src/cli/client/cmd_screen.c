/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_screen.c - `holdfast screen`: the current screen of a process's terminal. Layer: cli.
 */
#include <unistd.h>

#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct screen_args {
    const char *output;
};
#define OPT_ARGS struct screen_args

static const struct opt opts[] = {
    OPT_TEXT("--output", 'o', output, "text|ansi|html|svg",
             "output format (ansi on a terminal, else text)"),
};

static int screen_main(struct client_call *call)
{
    const struct screen_args *a = call->args;
    const char *form = a->output;
    hf_autobuf struct buf path = {0};
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request_process_path(call, call->operands[0], &path, "/screen?format=");

    if (call->json || call->format != NULL)
        form = "json";
    else if (form == NULL)
        form = print_uses_colour(STDOUT_FILENO) ? "ansi" : "text";
    fetch_escape(&path, form);
    if (rc == CLI_OK)
        rc = request(call, "GET", buf_cstr(&path), NULL, &r);
    if (rc == CLI_OK && !print_value(call, r.json)) {
        print_out(buf_data(&r.body), r.body.len);
        if (r.body.len > 0 && buf_data(&r.body)[r.body.len - 1] != '\n')
            print_out("\n", 1);
    }
    return rc;
}

const struct command screen_command = {
    .name = "screen",
    .operands = "PROCESS",
    .summary = "print the screen of a process's terminal",
    COMMAND_OPTS(opts),
    .run = screen_main,
};
