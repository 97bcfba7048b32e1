/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_resize.c - `holdfast resize`: sets the size of a process's terminal. Layer: cli.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/client/client_request.h"
#include "cli/client/user_terminal.h"

/* "120x40"; without one, the size of the user's terminal. */
static int find_size(const struct client_call *call, uint64_t *cols, uint64_t *rows)
{
    uint16_t own_rows, own_cols;

    if (call->operand_count == 2) {
        const char *text = call->operands[1];
        size_t n = strcspn(text, "x");
        hf_autofree char *first = hf_xstrndup(text, n);

        if (text[n] == 'x' && text_to_u64(first, UINT16_MAX, cols) &&
            text_to_u64(text + n + 1, UINT16_MAX, rows))
            return CLI_OK;
        return command_complain(call, CLI_USAGE, "the size must be COLUMNSxROWS, such as 120x40");
    }
    if (!user_terminal_size(&own_rows, &own_cols))
        return command_complain(call, CLI_USAGE, "not on a terminal; give a size such as 120x40");
    *rows = own_rows;
    *cols = own_cols;
    return CLI_OK;
}

static int resize_main(struct client_call *call)
{
    hf_autobuf struct buf body = {0};
    uint64_t rows = 0, cols = 0;
    int rc = find_size(call, &cols, &rows);

    if (rc != CLI_OK)
        return rc;
    buf_printf(&body, "{\"rows\":%llu,\"cols\":%llu}", (unsigned long long)rows,
               (unsigned long long)cols);
    return request_process(call, "POST", call->operands[0], "/resize", &body, NULL);
}

const struct command resize_command = {
    .name = "resize",
    .operands = "PROCESS [COLUMNSxROWS]",
    .summary = "set the size of a process's terminal",
    .about = "Without a size, uses that of your terminal.\n",
    .run = resize_main,
};
