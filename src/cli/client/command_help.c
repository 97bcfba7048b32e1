/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_help.c - writes the --help text of a client command from its table. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "cli/client/command.h"

#define LEFT_COLUMNS 28

static void write_opt(const struct opt *o, struct buf *out)
{
    char left[80], letter[8] = "    ";

    if (o->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s%s%s%s", letter, o->name, o->value != NULL ? " " : "",
             o->value != NULL ? o->value : "");
    if (strlen(left) > LEFT_COLUMNS)
        buf_printf(out, "  %s\n  %*s %s\n", left, LEFT_COLUMNS, "", o->help);
    else
        buf_printf(out, "  %-*s %s\n", LEFT_COLUMNS, left, o->help);
}

void command_help(const struct command *c, struct buf *out)
{
    size_t i;

    buf_printf(out, "usage: holdfast %s [OPTION...]%s%s\n\n%s\n", c->name,
               c->operands[0] != '\0' ? " " : "", c->operands, c->summary);
    if (c->about != NULL)
        buf_printf(out, "\n%s", c->about);
    if (c->opt_count > 0)
        buf_puts(out, "\nOptions:\n");
    for (i = 0; i < c->opt_count; i++)
        write_opt(&c->opts[i], out);
    buf_puts(out, "\nOptions of every command:\n");
    for (i = 0; i < commands_common_opt_count; i++)
        write_opt(&commands_common_opts[i], out);
}
