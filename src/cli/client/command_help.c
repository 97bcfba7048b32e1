/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_help.c - writes the --help text of a client command from its table. Layer: cli.
 */
#include "cli/client/command.h"

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
