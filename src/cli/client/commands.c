/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the list of client commands, their command lines and help texts, and how one is run
 *
 * Layer: cli.
 */
#include "cli/client/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/client/client_print.h"

const struct command *const client_commands[] = {
    &run_command,    &sh_command,     &attach_command,  &ps_command,         &logs_command,
    &send_command,   &signal_command, &kill_command,    &rm_command,         &wait_command,
    &resize_command, &screen_command, &watch_command,   &events_command,     &record_command,
    &share_command,  &open_command,   &cp_command,      &session_command,    &mcp_command,
    &info_command,   &token_command,  &upgrade_command, &completion_command, NULL,
};

#define OPT_ARGS struct client_call
const struct opt commands_common_opts[] = {
    OPT_TEXT(
        "--url", 0, url, "URL",
        "daemon: http://, https:// or unix:PATH (HOLDFAST_URL; a local socket; 127.0.0.1:7070)"),
    OPT_TEXT("--token-file", 0, token_file, "FILE",
             "file with the daemon's token (HOLDFAST_TOKEN; the file that serve wrote)"),
    OPT_TEXT("--ca-file", 0, ca_file, "FILE",
             "certificates to trust for https (HOLDFAST_CA_FILE; the system's)"),
    OPT_FLAG("--json", 0, json, "print JSON"),
    OPT_TEXT("--format", 0, format, "TEXT",
             "print these fields, such as '{id} {output.next}'; {{ is a brace, \\t a tab"),
};
const size_t commands_common_opt_count =
    sizeof commands_common_opts / sizeof commands_common_opts[0];

const struct command *command_find(const char *name)
{
    size_t i;

    for (i = 0; client_commands[i] != NULL; i++)
        if (strcmp(client_commands[i]->name, name) == 0)
            return client_commands[i];
    return NULL;
}

void command_help(const struct command *c, struct buf *out)
{
    buf_printf(out, "usage: holdfast %s [OPTION...]%s%s\n\n%s\n", c->name,
               c->operands[0] != '\0' ? " " : "", c->operands, c->summary);
    if (c->about != NULL)
        buf_printf(out, "\n%s", c->about);
    if (c->opt_count > 0)
        buf_puts(out, "\nOptions:\n");
    opt_put_help(out, c->opts, c->opt_count, true);
    buf_puts(out, "\nOptions of every command:\n");
    opt_put_help(out, commands_common_opts, commands_common_opt_count, true);
}

/* --- the command line ---------------------------------------------------------------------- */

bool command_takes(const struct command *c, const char *word)
{
    return strncmp(c->operands + (c->operands[0] == '['), word, strlen(word)) == 0;
}

/* Those in brackets are optional, and dots mean any number. Several forms begin with a verb. */
static void count_operands(const char *usage, int *least, int *most)
{
    bool any = strstr(usage, "...") != NULL || strstr(usage, " | ") != NULL;
    int words = 0, optional = 0;

    for (const char *at = usage; *at != '\0'; at += strspn(at, " ")) {
        words++;
        optional += *at == '[';
        at += strcspn(at, " ");
    }
    *least = strstr(usage, " | ") != NULL ? 1 : words - optional;
    *most = any ? -1 : words;
}

/* The API uses JSON, which cannot carry bytes that are not UTF-8: they would arrive changed. */
static int check_operands(const struct client_call *call)
{
    const struct command *c = call->command;
    int i, least, most;

    count_operands(c->operands, &least, &most);
    for (i = 0; i < call->operand_count && !c->takes_bytes; i++)
        if (!utf8_is_valid(call->operands[i], strlen(call->operands[i])))
            return command_complain(call, CLI_USAGE,
                                    "an argument is not UTF-8 and cannot be sent; send such bytes "
                                    "through standard input or a file");
    if (call->operand_count < least)
        return command_complain(call, CLI_USAGE, "usage: holdfast %s [OPTION...] %s", c->name,
                                c->operands);
    if (most >= 0 && call->operand_count > most)
        return command_complain(call, CLI_USAGE, "unexpected argument '%s'; see holdfast %s --help",
                                call->operands[most], c->name);
    return 0;
}

/* Everything after the last operand belongs to another program. */
static bool ends_options(const struct client_call *call)
{
    const char *verb = call->command->verb_ends;

    return call->command->first_operand_ends || call->command->all_operands ||
           (verb != NULL && call->operand_count == 2 && strcmp(call->operands[0], verb) == 0);
}

/* An option that belongs to another program. Its own -h may have another meaning, unless it is all
 * that there is. */
static bool is_theirs(const struct command *c, const struct optparse *p)
{
    const char *arg = p->argv[p->at];
    size_t i;

    if (!c->all_operands)
        return false;
    for (i = 0; i < commands_common_opt_count; i++) {
        size_t len = strlen(commands_common_opts[i].name);

        if (strncmp(arg, commands_common_opts[i].name, len) == 0 &&
            (arg[len] == '\0' || arg[len] == '='))
            return false;
    }
    return !optparse_is_help(arg) || (arg[1] != '-' && p->at + 1 < p->argc);
}

/* Collects the operands at the front of argv. 0, or an exit code after an error message. */
static int args_parse(struct client_call *call, int argc, char **argv, bool *help)
{
    const struct command *c = call->command;
    struct optparse p = {.command = c->name, .argc = argc, .argv = argv};
    bool only_operands = false;
    int rc = 0;

    p.parts[0] = (struct opt_part){c->opts, c->opt_count, call->args, true};
    p.parts[1] = (struct opt_part){commands_common_opts, commands_common_opt_count, call, false};
    call->operands = argv;
    while (p.at < argc && rc == 0) {
        char *arg = argv[p.at];

        if (only_operands || arg[0] != '-' || arg[1] == '\0' || is_theirs(c, &p)) {
            p.at++;
            call->operands[call->operand_count++] = arg;
            only_operands = only_operands || ends_options(call);
        } else if (strcmp(arg, "--") == 0) {
            p.at++;
            only_operands = true;
        } else if (optparse_is_help(arg)) {
            *help = true;
            return 0;
        } else {
            rc = optparse_next(&p);
        }
    }
    return rc == 0 ? check_operands(call) : rc;
}

/* --- running -------------------------------------------------------------------------------- */

static int find_place(struct client_call *call)
{
    struct hf_error err = {0};

    call->place.ca_file = call->ca_file != NULL ? call->ca_file : getenv("HOLDFAST_CA_FILE");
    if (call->format != NULL && print_format_check(call->format) < 0)
        return command_complain(call, CLI_USAGE,
                                "--format has an unmatched brace; write {{ for a literal one");
    if (daemon_address_find(&call->place, call->url, call->token_file, &err) < 0)
        return command_complain(call, CLI_USAGE, "%s", err.detail);
    return CLI_OK;
}

/* `rc`: of parsing the command line. */
static int run_call(struct client_call *call, bool help, int rc)
{
    const struct command *c = call->command;
    struct buf text = {0};

    /* The reader of our output may close it at any time; each writer handles EPIPE itself. */
    call->on_sigpipe = signal(SIGPIPE, SIG_IGN);
    if (rc == 0 && help) {
        command_help(c, &text);
        print_buf(&text);
    } else if (rc == 0) {
        rc = find_place(call);
        if (rc == 0)
            rc = c->run(call);
    }
    daemon_address_fini(&call->place);
    opt_free(c->opts, c->opt_count, call->args);
    free(call->args);
    return print_done(rc);
}

int command_main_as(const struct command *c, const char *called_as, int count, char **operands)
{
    struct client_call call = {.command = c,
                               .args = hf_xalloc(c->args_size + 1),
                               .operands = operands,
                               .operand_count = count,
                               .called_as = called_as};

    return run_call(&call, false, 0);
}

int command_main(const struct command *c, int argc, char **argv)
{
    struct client_call call = {.command = c, .args = hf_xalloc(c->args_size + 1)};
    bool help = false;
    int rc = args_parse(&call, argc - 2, argv + 2, &help);

    return run_call(&call, help, rc);
}
