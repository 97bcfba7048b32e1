/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_run.c - `holdfast run`: starts a command, and attaches to it unless --detach is given
 *
 * Layer: cli.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/client/attach.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/client/create_call.h"
#include "cli/client/user_terminal.h"

struct run_args {
    bool interactive, tty, detach, remove, shell, clear_env, quiet;
    const char *tag, *label, *cwd, *user, *session_id, *source, *detach_keys, *on_detach;
    struct opt_list env;
    int64_t timeout_ms, idle_timeout_ms, grace_ms, history_bytes, retry_ms;
    bool reads_all;   /* --json: standard input is read to its end first */
    struct buf input; /* what was read */
};
#define OPT_ARGS struct run_args

static const struct opt opts[] = {
    OPT_FLAG("--interactive", 'i', interactive, "forward standard input"),
    OPT_FLAG("--tty", 't', tty, "allocate a terminal"),
    OPT_FLAG("--detach", 'd', detach, "print the process id and exit; the process keeps running"),
    OPT_TEXT("--tag", 0, tag, "NAME", "a name for the process, unique among running processes"),
    OPT_TEXT("--name", 0, tag, "NAME", "same as --tag"),
    OPT_TEXT("--label", 'l', label, "TEXT", "a description"),
    OPT_LIST("--env", 'e', env, OPT_USES_MAX, "NAME[=VALUE]",
             "set a variable; without a value, copy it from this environment"),
    OPT_FLAG("--clear-env", 0, clear_env, "do not inherit the daemon's environment"),
    OPT_TEXT("--workdir", 'w', cwd, "DIR", "working directory"),
    OPT_TEXT("--user", 'u', user, "USER", "user to run as: name, uid or uid:gid"),
    OPT_FLAG("--shell", 0, shell, "run COMMAND with /bin/sh -c"),
    OPT_TEXT("--session", 0, session_id, "ID", "session that the process belongs to"),
    OPT_TEXT("--source", 0, source, "user|agent|user_shell|system",
             "origin recorded for the process"),
    OPT_FLAG("--rm", 0, remove, "remove the process when it has ended"),
    OPT_TIME("--timeout", 0, timeout_ms, "TIME", "terminate the process after this long"),
    OPT_TIME("--idle-timeout", 0, idle_timeout_ms, "TIME",
             "terminate the process after this long without input or output"),
    OPT_TIME("--grace", 0, grace_ms, "TIME", "time between SIGTERM and SIGKILL (5s)"),
    OPT_NUMBER("--history-bytes", 0, history_bytes, LIMIT_JOURNAL_MIN_BYTES,
               LIMIT_HISTORY_MAX_BYTES, "N", "bytes of output to keep for later viewers"),
    OPT_TEXT("--on-detach", 0, on_detach, "keep|kill", "what to do when the last viewer leaves"),
    OPT_TEXT("--detach-keys", 0, detach_keys, "KEYS", "keys that detach (ctrl-p,ctrl-q)"),
    OPT_TIME("--retry", 0, retry_ms, "TIME", "how long to retry a lost connection (60s)"),
    OPT_FLAG("--quiet", 'q', quiet, "do not report lost connections"),
};

/* --- the request body --------------------------------------------------------------- */

/* "NAME=VALUE", or "NAME" for the value in our environment. */
static void write_variable(struct json_out *o, const char *text)
{
    const char *eq = strchr(text, '=');
    char *name = strndup(text, eq != NULL ? (size_t)(eq - text) : strlen(text));
    const char *value = eq != NULL ? eq + 1 : getenv(text);

    if (name != NULL && value != NULL)
        json_kstr(o, name, value);
    free(name);
}

/* Variables with a value were checked when the options were parsed. */
static int check_own_variables(const struct client_call *call, const struct opt_list *env)
{
    size_t i;

    for (i = 0; i < env->count; i++) {
        const char *value = getenv(env->items[i]);

        if (value != NULL && !utf8_is_valid(value, strlen(value)))
            return command_complain(
                call, CLI_USAGE, "the value of %s is not UTF-8 and cannot be sent", env->items[i]);
    }
    return CLI_OK;
}

/* Is the variable among those from the i-th on? */
static bool names_variable(const struct opt_list *env, size_t i, const char *name)
{
    size_t len = strcspn(name, "=");

    for (; i < env->count; i++)
        if (strncmp(env->items[i], name, len) == 0 &&
            (env->items[i][len] == '=' || env->items[i][len] == '\0'))
            return true;
    return false;
}

/* If a variable is given twice, the last one counts. */
static void write_env(struct json_out *o, const struct run_args *a)
{
    static const char *const of_terminal[] = {"TERM", "COLORTERM"};
    size_t i;

    json_key(o, "env");
    json_open(o, '{');
    for (i = 0; i < a->env.count; i++)
        if (!names_variable(&a->env, i + 1, a->env.items[i]))
            write_variable(o, a->env.items[i]);
    /* The user's terminal displays the output, so the process gets its type. */
    for (i = 0; i < 2; i++)
        if (a->tty && !a->detach && !names_variable(&a->env, 0, of_terminal[i]))
            write_variable(o, of_terminal[i]);
    json_close(o, '}');
}

/* All of standard input; the process reads it, followed by end of file. */
static void write_input(struct json_out *o, const struct buf *input)
{
    struct buf text = {0};

    base64_encode(&text, buf_data(input), input->len);
    json_kstr(o, "input", buf_cstr(&text));
    json_kstr(o, "input_encoding", "base64");
    buf_fini(&text);
}

static void write_streams(struct json_out *o, const struct run_args *a, bool attached)
{
    uint16_t rows = 24, cols = 80;

    if (a->tty) {
        user_terminal_size(&rows, &cols);
        json_key(o, "pty");
        json_open(o, '{');
        json_kint(o, "rows", rows);
        json_kint(o, "cols", cols);
        json_close(o, '}');
    } else if (a->interactive && a->input.len > 0) {
        write_input(o, &a->input);
    } else if (a->interactive && !a->reads_all) {
        json_kstr(o, "stdin", "pipe");
    }
    if (!attached)
        return;
    if (!a->tty)
        json_kstr(o, "delivery", "lossless");
    json_kint(o, "hold_ms", a->retry_ms);
}

static void write_body(const struct client_call *call, const struct run_args *a, bool attached,
                       struct buf *out)
{
    struct json_out o;
    int i;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "command", call->operands[0]);
    json_key(&o, "args");
    json_open(&o, '[');
    for (i = 1; i < call->operand_count; i++)
        json_str(&o, call->operands[i]);
    json_close(&o, ']');
    request_put_options(call, "shell clear_env", &o);
    write_env(&o, a);
    request_put_options(call,
                        "cwd user tag label session_id source on_detach timeout_ms "
                        "idle_timeout_ms history_bytes grace_ms",
                        &o);
    write_streams(&o, a, attached);
    json_close(&o, '}');
}

/* --- starting the process ----------------------------------------------------------------- */

/* A refusal must not look like the command's own exit code. ENOENT may also mean the working
 * directory rather than the command. */
static int check_reply(const struct client_call *call, int rc, const struct hf_error *err,
                       struct fetch_reply *r)
{
    const struct run_args *a = call->args;
    bool of_directory =
        rc == 0 && a->cwd != NULL && strcmp(request_json_text(r->json, "path"), a->cwd) == 0;

    rc = request_check(call, rc, err, r);
    if (rc == CLI_NOT_FOUND && of_directory)
        return CLI_CANNOT_RUN;
    return rc == CLI_FAILED ? CLI_NO_DAEMON : rc;
}

static int create(const struct client_call *call, const struct buf *body, struct fetch_reply *r)
{
    struct hf_error err = {0};
    bool reached;
    int rc = create_call(call, body, r, &err, &reached);

    return check_reply(call, rc, &err, r);
}

static void forget(const struct client_call *call, const char *id)
{
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf path = {0};

    buf_printf(&path, "/v1/processes/%s", id);
    request(call, "DELETE", buf_cstr(&path), NULL, &r);
}

static int stay(const struct client_call *call, const struct run_args *a, const char *id)
{
    struct attach_options o = {
        .id = id,
        .since = "0",
        .detach_keys = a->detach_keys,
        .retry_ms = a->retry_ms,
        .pty = a->tty,
        .raw = a->tty && a->interactive,
        .input = a->interactive,
        .owner = true,
        .quiet = a->quiet,
    };
    int code = attach_run(call, &o);

    if (a->remove)
        forget(call, id);
    return code;
}

static int read_input(const struct client_call *call, struct buf *out)
{
    char block[16 * 1024];
    ssize_t n;

    while (out->len <= LIMIT_JSON_BODY_BYTES &&
           (n = user_terminal_read(block, sizeof block)) != 0) {
        if (n < 0)
            return command_complain(call, CLI_FAILED, "cannot read standard input: %s",
                                    strerror((int)-n));
        buf_put(out, block, (size_t)n);
    }
    return CLI_OK;
}

/* Puts everything into one request, including standard input. */
static int write_whole(const struct client_call *call, struct run_args *a, struct buf *body)
{
    int rc = CLI_OK;

    a->reads_all = a->interactive;
    if (a->reads_all)
        rc = read_input(call, &a->input);
    if (rc == CLI_OK)
        write_body(call, a, false, body);
    buf_fini(&a->input);
    if (rc == CLI_OK && body->len > LIMIT_JSON_BODY_BYTES)
        rc = command_complain(
            call, CLI_USAGE,
            "with --json, command and standard input must fit in one request of 1 MiB; "
            "omit --json for more");
    return rc;
}

/* --json without -d: one reply when the process has ended. */
static int run_as_json(const struct client_call *call, struct run_args *a)
{
    struct fetch_request post = {.method = "POST", .path = "/v1/processes/run"};
    struct hf_error err = {0};
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    int rc = write_whole(call, a, &body);

    if (rc != CLI_OK)
        return rc;
    post.body = buf_data(&body);
    post.body_len = body.len;
    rc = request_call(call, &post, &r, &err);
    rc = check_reply(call, rc, &err, &r);
    if (rc != CLI_OK)
        return rc;
    print_value(call, r.json);
    if (a->remove)
        forget(call, request_json_text(json_object_get(r.json, "process"), "id"));
    return request_exit_code(call, r.json);
}

static int check(const struct client_call *call, const struct run_args *a)
{
    if (a->detach && a->remove)
        return command_complain(call, CLI_USAGE, "--rm cannot be combined with --detach");
    if (a->tty && a->interactive && !a->detach && (call->json || call->format != NULL))
        return command_complain(
            call, CLI_USAGE,
            "--json cannot be combined with an interactive terminal; leave out -i");
    if (a->tty && a->interactive && !a->detach && !isatty(STDIN_FILENO))
        return command_complain(
            call, CLI_USAGE,
            "standard input is not a terminal; leave out -t to forward it as it is");
    return check_own_variables(call, &a->env);
}

static int run_main(struct client_call *call)
{
    struct run_args *a = call->args;
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    const char *id;
    int rc = check(call, a);

    if (a->retry_ms == 0)
        a->retry_ms = ATTACH_RETRY_MS;
    if (rc == 0 && (call->json || call->format != NULL) && !a->detach)
        return run_as_json(call, a);
    if (rc != 0)
        return rc;
    write_body(call, a, !a->detach, &body);
    rc = create(call, &body, &r);
    if (rc != CLI_OK)
        return rc;
    id = request_json_text(r.json, "id");
    if (!a->detach)
        return stay(call, a, id);
    if (!print_value(call, r.json))
        printf("%s\n", id);
    return CLI_OK;
}

const struct command run_command = {
    .name = "run",
    .operands = "COMMAND [ARG...]",
    .summary = "start a command and attach to it",
    .about =
        "-it starts a terminal session; press ctrl-p ctrl-q to detach and leave it running.\n"
        "Without -t, standard input (-i), output and error are three pipes that pass every byte\n"
        "unchanged. The exit code is the command's own; 127 if the command is not found, 126 if\n"
        "it cannot be executed, 125 if the daemon refuses or cannot be reached. --json prints the\n"
        "result when the command has ended; with -i it reads all of standard input first. Use\n"
        "holdfast send to send input to a command started with -d and -i.\n",
    COMMAND_OPTS(opts),
    .first_operand_ends = true,
    .run = run_main,
};
