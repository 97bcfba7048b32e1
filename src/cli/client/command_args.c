/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_args.c - parses the command line of a client command by its table. Layer: cli.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/client/command.h"

int command_complain(const struct client_call *call, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "holdfast %s: %s\n", call->command->name, text);
    return code;
}

/* The API uses JSON, which cannot carry bytes that are not UTF-8: they would arrive changed. */
static int check_operands(const struct client_call *call)
{
    const struct command *c = call->command;
    int i;

    for (i = 0; i < call->operand_count && !c->takes_bytes; i++)
        if (!utf8_is_valid(call->operands[i], strlen(call->operands[i])))
            return command_complain(call, CLI_USAGE,
                                    "an argument is not UTF-8 and cannot be sent; send such bytes "
                                    "through standard input or a file");
    if (call->operand_count < c->min_operands)
        return command_complain(call, CLI_USAGE, "usage: holdfast %s [OPTION...] %s", c->name,
                                c->operands);
    if (c->max_operands >= 0 && call->operand_count > c->max_operands)
        return command_complain(call, CLI_USAGE, "unexpected argument '%s'; see holdfast %s --help",
                                call->operands[c->max_operands], c->name);
    return 0;
}

/* Everything after the last operand belongs to another program. */
static bool ends_options(const struct client_call *call)
{
    const char *verb = call->command->verb_ends;

    return call->command->first_operand_ends ||
           (verb != NULL && call->operand_count == 2 && strcmp(call->operands[0], verb) == 0);
}

/* Collects the operands at the front of argv. */
int args_parse(struct client_call *call, int argc, char **argv, bool *help)
{
    const struct command *c = call->command;
    char command[64];
    struct optparse p = {.command = command, .argc = argc, .argv = argv};
    bool only_operands = false;
    int rc = 0;

    snprintf(command, sizeof command, "holdfast %s", c->name);
    p.parts[0] = (struct opt_part){c->opts, c->opt_count, call->args, true};
    p.parts[1] = (struct opt_part){commands_common_opts, commands_common_opt_count, call, false};
    call->operands = argv;
    while (p.at < argc && rc == 0) {
        char *arg = argv[p.at];

        if (only_operands || arg[0] != '-' || arg[1] == '\0') {
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
