/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the description of a client command: options, operands, help text and function
 *
 * Each command is a row of constants in its own file; commands.c lists them. The parser, --help,
 * the completions and the tests all read these rows, so they cannot disagree. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_COMMAND_H
#define HF_CLI_CLIENT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/client/daemon_address.h"
#include "cli/optparse.h"

/* Exit codes of all commands; some return a process's own exit code, 0 to 255, instead. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,       /* the daemon refused the request */
    CLI_USAGE = 2,        /* a mistake on the command line */
    CLI_TIMED_OUT = 124,  /* as timeout(1) */
    CLI_NO_DAEMON = 125,  /* the daemon is unreachable; run and attach: any refusal, as docker */
    CLI_CANNOT_RUN = 126, /* the command cannot be executed */
    CLI_NOT_FOUND = 127,  /* no such command */
};

#define OPT_USES_MAX 256 /* of an option that may be repeated */

struct client_call;
struct command {
    const char *name;
    /* "PROCESS [TEXT...]": the usage, from which their number and kind are read. */
    const char *operands;
    const char *summary; /* one line */
    const char *about;   /* more, for --help; NULL: none */
    const struct opt *opts;
    size_t opt_count;
    size_t args_size;
    bool first_operand_ends; /* options stop there: the rest belongs to another program */
    bool takes_bytes;        /* operands need not be UTF-8 */
    bool all_operands;       /* options that are not those of every command are operands, too */
    const char *verb_ends;   /* the same after this first operand and one more: "run" ID ... */
    const char *words;       /* for completions: "bash|zsh|fish" */
    int (*run)(struct client_call *call);
};
/* The table, and the struct that it fills. */
#define COMMAND_OPTS(table)                                                                        \
    .opts = (table), .opt_count = sizeof(table) / sizeof((table)[0]), .args_size = sizeof(OPT_ARGS)

/* One invocation of a command. */
struct client_call {
    const struct command *command;
    void *args; /* command->args_size bytes, zeroed, then filled */
    char **operands;
    int operand_count;
    struct daemon_address place; /* found by command_main() */
    const char *url, *token_file, *ca_file, *format;
    bool json;
    const char *called_as;   /* argv[0], if it named the command; else NULL */
    void (*on_sigpipe)(int); /* what the caller had set; SIGPIPE is ignored meanwhile */
};

extern const struct command run_command, attach_command, watch_command, ps_command, logs_command,
    send_command, signal_command, kill_command, rm_command, wait_command, resize_command,
    screen_command, events_command, record_command, share_command, open_command, cp_command,
    session_command, info_command, token_command, upgrade_command, completion_command, sh_command,
    mcp_command;

extern const struct command *const client_commands[]; /* ends with NULL */
extern const struct opt commands_common_opts[];
extern const size_t commands_common_opt_count;
const struct command *command_find(const char *name);
/* Do the operands begin with this word, such as PROCESS? */
bool command_takes(const struct command *c, const char *word);

/* Parses the arguments, finds the daemon and runs the command. Returns the exit code. */
int command_main(const struct command *c, int argc, char **argv);
/* The same with operands only, for a command that is called by another name. */
int command_main_as(const struct command *c, const char *called_as, int count, char **operands);
void command_help(const struct command *c, struct buf *out);

/* "holdfast NAME: ..." on standard error; returns `code`. */
#define command_complain(call, code, ...) cli_complain((call)->command->name, code, __VA_ARGS__)

#endif
