/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_signal.c - `holdfast signal` and `holdfast kill`, which signals the whole process tree
 *
 * Layer: cli.
 */
#include "cli/client/client_request.h"

#define SIGNALS "HUP|INT|QUIT|KILL|USR1|USR2|TERM|CONT|STOP|TSTP|WINCH"
#define TARGETS "group|leader|foreground|tree"

struct signal_args {
    const char *target, *signal;
};
#define OPT_ARGS struct signal_args

static const struct opt signal_opts[] = {
    OPT_TEXT("--target", 't', target, TARGETS, "recipients of the signal (group)"),
};
static const struct opt kill_opts[] = {
    OPT_TEXT("--signal", 's', signal, SIGNALS, "signal to send (KILL)"),
    OPT_TEXT("--target", 't', target, TARGETS, "recipients of the signal (tree)"),
};

static int send_signal(const struct client_call *call, const char *name, const char *signal,
                       const char *target)
{
    hf_autobuf struct buf body = {0};
    struct json_out o;

    json_out_init(&o, &body);
    json_open(&o, '{');
    json_kstr(&o, "signal", signal);
    json_kstr(&o, "target", target);
    json_close(&o, '}');
    return request_process(call, "POST", name, "/signal", &body, NULL);
}

static int signal_main(struct client_call *call)
{
    const struct signal_args *a = call->args;

    return send_signal(call, call->operands[0], call->operands[1],
                       a->target != NULL ? a->target : "group");
}

static int kill_main(struct client_call *call)
{
    const struct signal_args *a = call->args;
    int i, worst = CLI_OK;

    for (i = 0; i < call->operand_count; i++) {
        int rc = send_signal(call, call->operands[i], a->signal != NULL ? a->signal : "KILL",
                             a->target != NULL ? a->target : "tree");
        worst = rc > worst ? rc : worst;
    }
    return worst;
}

const struct command signal_command = {
    .name = "signal",
    .operands = "PROCESS SIGNAL",
    .summary = "send a signal to a process",
    .about = "SIGNAL is a name, with or without SIG, or a number.\n",
    COMMAND_OPTS(signal_opts),
    .words = SIGNALS,
    .run = signal_main,
};

const struct command kill_command = {
    .name = "kill",
    .operands = "PROCESS...",
    .summary = "kill processes and all their descendants",
    .about =
        "The processes stay listed. To terminate them gracefully and remove them, use holdfast\n"
        "rm -f.\n",
    COMMAND_OPTS(kill_opts),
    .run = kill_main,
};
