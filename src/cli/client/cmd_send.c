/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_send.c - `holdfast send`: sends input to a process. Layer: cli.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/user_terminal.h"

#define BLOCK_BYTES (256 * 1024)

struct send_args {
    struct opt_list keys;
    bool enter, eof;
    bool pipe; /* the process has no terminal: Enter is a line feed */
};
#define OPT_ARGS struct send_args

static const struct opt opts[] = {
    OPT_FLAG("--enter", 0, enter,
             "press Enter after the text; without a terminal, send a line feed"),
    OPT_LIST("--key", 'k', keys, OPT_USES_MAX, "KEY",
             "press a key after the text: Enter, Tab, Up, F1, Ctrl-C ...; may be repeated"),
    OPT_FLAG("--eof", 0, eof, "then close the input"),
};

static void write_data(struct json_out *o, struct buf *data)
{
    struct buf text = {0};

    if (utf8_is_valid(buf_data(data), data->len)) {
        json_kstr(o, "data", buf_cstr(data));
        return;
    }
    base64_encode(&text, buf_data(data), data->len);
    json_kstr(o, "data", buf_cstr(&text));
    json_kstr(o, "encoding", "base64");
    buf_fini(&text);
}

static void write_body(const struct client_call *call, const struct send_args *a, struct buf *out)
{
    struct buf data = {0};
    struct json_out o;
    size_t i;
    int n;

    for (n = 1; n < call->operand_count; n++)
        buf_printf(&data, "%s%s", n > 1 ? " " : "", call->operands[n]);
    json_out_init(&o, out);
    json_open(&o, '{');
    if (a->enter && a->pipe)
        buf_putc(&data, '\n');
    if (data.len > 0)
        write_data(&o, &data);
    json_key(&o, "keys");
    json_open(&o, '[');
    for (i = 0; i < a->keys.count; i++)
        json_str(&o, a->keys.items[i]);
    if (a->enter && !a->pipe)
        json_str(&o, "Enter");
    json_close(&o, ']');
    json_kbool(&o, "eof", a->eof);
    json_close(&o, '}');
    buf_fini(&data);
}

static int find_kind(const struct client_call *call, const char *path, bool *pipe)
{
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request(call, "GET", path, NULL, &r);

    *pipe = json_is_false(json_object_get(r.json, "pty"));
    return rc;
}

static int post(const struct client_call *call, const char *path, const void *bytes, size_t len,
                const char *type, int64_t *accepted)
{
    struct fetch_request what = {
        .method = "POST", .path = path, .body = bytes, .body_len = len, .type = type};
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request_with(call, &what, &r);

    *accepted += request_json_number(r.json, "accepted_bytes");
    return rc;
}

/* Sends standard input in blocks; the daemon accepts each before the next is read. */
static int send_stdin(const struct client_call *call, struct buf *path, bool eof, int64_t *accepted)
{
    static char block[BLOCK_BYTES];
    int rc = CLI_OK;
    ssize_t n;

    while (rc == CLI_OK && (n = user_terminal_read(block, sizeof block)) != 0) {
        if (n < 0)
            return command_complain(call, CLI_FAILED, "cannot read standard input: %s",
                                    strerror((int)-n));
        rc = post(call, buf_cstr(path), block, (size_t)n, "application/octet-stream", accepted);
    }
    if (rc == CLI_OK && eof) {
        buf_puts(path, "?eof=1");
        rc = post(call, buf_cstr(path), "", 0, "application/octet-stream", accepted);
    }
    return rc;
}

static int send_main(struct client_call *call)
{
    struct send_args *a = call->args;
    hf_autobuf struct buf path = {0}, body = {0};
    bool from_stdin = call->operand_count == 1 && a->keys.count == 0 && !a->enter &&
                      !(a->eof && isatty(STDIN_FILENO));
    json_auto_t *reply = NULL;
    int64_t accepted = 0;
    int rc = request_process_path(call, call->operands[0], &path, "");

    if (rc == CLI_OK && a->enter)
        rc = find_kind(call, buf_cstr(&path), &a->pipe);
    buf_puts(&path, "/input");
    if (rc == CLI_OK && from_stdin) {
        rc = send_stdin(call, &path, a->eof, &accepted);
    } else if (rc == CLI_OK) {
        write_body(call, a, &body);
        rc = post(call, buf_cstr(&path), buf_data(&body), body.len, NULL, &accepted);
    }
    if (rc == CLI_OK) {
        reply = json_pack("{s:I}", "accepted_bytes", (json_int_t)accepted);
        print_value(call, reply);
    }
    return rc;
}

const struct command send_command = {
    .name = "send",
    .operands = "PROCESS [TEXT...]",
    .summary = "send input to a process",
    .about =
        "Without text or keys, sends standard input. Text is sent first, then the keys, then the\n"
        "end of file.\n",
    COMMAND_OPTS(opts),
    .takes_bytes = true,
    .run = send_main,
};
