/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach.c - `holdfast attach` and `holdfast watch`: go to a process that is there
 */
#include <unistd.h>

#include "base/braces.h"
#include "cli/client/attach.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/commands.h"

struct attach_args {
    bool no_stdin, quiet;
    const char *since, *detach_keys;
    int64_t retry_ms;
};
#define AT(member) offsetof(struct attach_args, member)

#define SHARED_OPTS                                                                                \
    BRACES("--since", 0, OPT_TEXT, AT(since), 0, 0, "OFFSET",                                      \
           "begin there: an offset, -N for the last N bytes, now, screen"),                        \
        BRACES("--detach-keys", 0, OPT_TEXT, AT(detach_keys), 0, 0, "KEYS",                        \
               "keys that leave it running (ctrl-p,ctrl-q)"),                                      \
        BRACES("--retry", 0, OPT_TIME, AT(retry_ms), 0, 0, "TIME",                                 \
               "how long a lost connection is tried again (60s)"),                                 \
        BRACES("--quiet", 'q', OPT_FLAG, AT(quiet), 0, 0, NULL,                                    \
               "say nothing about lost connections")

static const struct opt attach_opts[] = {
    {"--no-stdin", 0, OPT_FLAG, AT(no_stdin), 0, 0, NULL, "do not pass standard input on"},
    SHARED_OPTS,
};
static const struct opt watch_opts[] = {SHARED_OPTS};

/* The process as it is now; NULL after the complaint. */
static json_t *get_process(struct client_call *call, int *code)
{
    struct fetch_reply r;
    struct buf path = {0};
    json_t *p;

    *code = request_process_path(call, call->operands[0], &path, "");
    if (*code == CLI_OK)
        *code = request(call, "GET", buf_cstr(&path), NULL, &r);
    buf_fini(&path);
    if (*code != CLI_OK) {
        *code = *code == CLI_FAILED ? CLI_NO_DAEMON : *code;
        return NULL;
    }
    p = json_incref(r.json);
    fetch_reply_fini(&r);
    return p;
}

static int go(struct client_call *call, bool read_only)
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
    int code;
    json_t *p = get_process(call, &code);

    if (p == NULL)
        return code;
    if (print_value(call, p)) {
        json_decref(p);
        return CLI_OK;
    }
    o.id = request_json_text(p, "id");
    o.pty = json_is_true(json_object_get(p, "pty"));
    o.input = !read_only && !a->no_stdin;
    /* Lines may be read by a pager, whose keys are then not for us. */
    o.raw =
        isatty(STDIN_FILENO) && (o.pty ? o.input || read_only : read_only && isatty(STDOUT_FILENO));
    code = attach_run(call, &o);
    json_decref(p);
    return code;
}

static int attach_main(struct client_call *call)
{
    return go(call, false);
}

static int watch_main(struct client_call *call)
{
    return go(call, true);
}

const struct command attach_command = {
    .name = "attach",
    .operands = "PROCESS",
    .summary = "go to a process that is there",
    .about = "ctrl-p ctrl-q leaves it running. A connection that is lost, also because the daemon\n"
             "crashes or is upgraded, is opened again by itself: output goes on where it was, and\n"
             "what is typed meanwhile arrives once. The exit code is that of the process, 0 after\n"
             "leaving. --json shows the process instead.\n",
    COMMAND_OPTS(attach_opts),
    .args_size = sizeof(struct attach_args),
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = OPERAND_PROCESS,
    .run = attach_main,
};

const struct command watch_command = {
    .name = "watch",
    .operands = "PROCESS",
    .summary = "look at a process without touching it",
    .about = "Nothing is typed and nothing is resized; q, ctrl-c or the detach keys leave.\n",
    COMMAND_OPTS(watch_opts),
    .args_size = sizeof(struct attach_args),
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = OPERAND_PROCESS,
    .run = watch_main,
};
