/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_session.c - `holdfast session`: shells that keep their state between commands. Layer: cli.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct session_args {
    const char *cwd, *shell, *source;
    struct opt_list env;
    int64_t timeout_ms;
};
#define OPT_ARGS struct session_args

static const struct opt opts[] = {
    OPT_TEXT("--workdir", 'w', cwd, "DIR", "create: working directory of the shell"),
    OPT_LIST("--env", 'e', env, OPT_USES_MAX, "NAME=VALUE",
             "create: set a variable; may be repeated"),
    OPT_TEXT("--shell", 0, shell, "PATH", "create: shell to use"),
    OPT_TEXT("--source", 0, source, "user|agent|user_shell|system",
             "run: origin recorded for the command"),
    OPT_TIME("--timeout", 't', timeout_ms, "TIME",
             "run: terminate the command after this long; the shell stays"),
};

static void session_path(struct buf *out, const char *id, const char *rest)
{
    buf_puts(out, "/v1/sessions/");
    fetch_escape(out, id);
    buf_puts(out, rest);
}

/* --- the verbs ------------------------------------------------------------------------- */

static int list(struct client_call *call)
{
    static const char *const titles[] = {"SESSION", "STATUS", "CREATED", "CWD"};
    static const char *const fields[] = {"id", "status", "created_at", "cwd"};
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request(call, "GET", "/v1/sessions", NULL, &r);

    if (rc == CLI_OK)
        print_list(call, json_object_get(r.json, "sessions"), 4, titles, fields);
    return rc;
}

static void write_new(const struct client_call *call, struct buf *out)
{
    const struct session_args *a = call->args;
    struct json_out o;
    size_t i;

    json_out_init(&o, out);
    json_open(&o, '{');
    if (call->operand_count > 1)
        json_kstr(&o, "id", call->operands[1]);
    request_put_options(call, "cwd shell", &o);
    if (a->env.count > 0) {
        json_key(&o, "env");
        json_open(&o, '{');
        for (i = 0; i < a->env.count; i++) {
            char *name = strndup(a->env.items[i], strcspn(a->env.items[i], "="));
            const char *eq = strchr(a->env.items[i], '=');

            json_kstr(&o, name, eq != NULL ? eq + 1 : "");
            free(name);
        }
        json_close(&o, '}');
    }
    json_close(&o, '}');
}

static int create(struct client_call *call)
{
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf body = {0};
    int rc;

    write_new(call, &body);
    rc = request(call, "POST", "/v1/sessions", &body, &r);
    if (rc == CLI_OK && !print_value(call, r.json))
        printf("%s\n", request_json_text(r.json, "id"));
    return rc;
}

static void write_command(const struct client_call *call, struct buf *out)
{
    struct buf line = {0};
    struct json_out o;
    int i;

    for (i = 2; i < call->operand_count; i++)
        buf_printf(&line, "%s%s", i > 2 ? " " : "", call->operands[i]);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "command", buf_cstr(&line));
    request_put_options(call, "source timeout_ms", &o);
    if (!call->json && call->format == NULL) /* so that the output is printed byte for byte */
        json_kstr(&o, "output_encoding", "base64");
    json_close(&o, '}');
    buf_fini(&line);
}

static void take_bytes(const json_t *reply, const char *key, struct buf *out)
{
    const json_t *text = json_object_get(reply, key);

    if (json_is_string(text))
        base64_decode(out, json_string_value(text), json_string_length(text));
}

/* Prints standard output and error, and how much of them the daemon omitted. */
static void print_streams(const struct client_call *call, const json_t *reply)
{
    hf_autobuf struct buf both = {0}, out = {0}, err = {0};
    int64_t missing;

    take_bytes(reply, "output", &both);
    take_bytes(reply, "stdout", &out);
    take_bytes(reply, "stderr", &err);
    /* omitted_bytes counts both streams together, but each has its own limit. */
    missing = (int64_t)both.len + request_json_number(reply, "omitted_bytes") - (int64_t)out.len -
              (int64_t)err.len;
    print_buf(&out);
    if (err.len > 0)
        fwrite(buf_data(&err), 1, err.len, stderr);
    if (missing > 0)
        command_complain(
            call, CLI_OK,
            "%lld bytes in the middle of the output were omitted; redirect long output to a file",
            (long long)missing);
}

/* Returns the command's exit code. */
static int print_run(const struct client_call *call, const json_t *reply)
{
    if (!print_value(call, reply))
        print_streams(call, reply);
    if (json_is_true(json_object_get(reply, "timed_out")))
        return CLI_TIMED_OUT;
    return request_exit_code(call, reply);
}

static int run(struct client_call *call)
{
    hf_autobuf struct buf path = {0}, body = {0};
    fetch_autoreply struct fetch_reply r = {0};
    int rc;

    session_path(&path, call->operands[1], "/run");
    write_command(call, &body);
    rc = request(call, "POST", buf_cstr(&path), &body, &r);
    if (rc != CLI_OK)
        return rc == CLI_FAILED ? CLI_NO_DAEMON : rc;
    return print_run(call, r.json);
}

/* GET or DELETE of one session; prints the reply. */
static int simple(struct client_call *call, const char *method, const char *rest,
                  const char *accept)
{
    struct fetch_request what = {.method = method, .accept = accept};
    hf_autobuf struct buf path = {0};
    fetch_autoreply struct fetch_reply r = {0};
    int rc;

    session_path(&path, call->operands[1], rest);
    what.path = buf_cstr(&path);
    rc = request_with(call, &what, &r);
    if (rc != CLI_OK)
        return rc;
    if (r.json == NULL)
        print_out(r.body.len > 0 ? buf_data(&r.body) : "", r.body.len);
    else if (!print_value(call, r.json) && strcmp(method, "GET") == 0) {
        call->json = true;
        print_value(call, r.json);
    }
    return CLI_OK;
}

static int show(struct client_call *call)
{
    return simple(call, "GET", "", NULL);
}

static int transcript(struct client_call *call)
{
    bool json = call->json || call->format != NULL;

    return simple(call, "GET", "/transcript", json ? "application/json" : "text/markdown");
}

static int remove_session(struct client_call *call)
{
    return simple(call, "DELETE", "", NULL);
}

static int session_main(struct client_call *call)
{
    static const struct {
        const char *name;
        int (*run)(struct client_call *call);
        int operands; /* at least */
        const char *usage;
    } verbs[] = {
        {"ls", list, 1, ""},
        {"create", create, 1, ""},
        {"run", run, 3, "run SESSION COMMAND"},
        {"show", show, 2, "show SESSION"},
        {"transcript", transcript, 2, "transcript SESSION"},
        {"rm", remove_session, 2, "rm SESSION"},
    };

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(call->operands[0], verbs[i].name) != 0)
            continue;
        if (call->operand_count >= verbs[i].operands)
            return verbs[i].run(call);
        return command_complain(call, CLI_USAGE, "usage: holdfast session %s", verbs[i].usage);
    }
    return command_complain(call, CLI_USAGE, "'%s' is not ls, create, run, show, transcript or rm",
                            call->operands[0]);
}

const struct command session_command = {
    .name = "session",
    .operands = "ls | create [ID] | run ID COMMAND | show ID | transcript ID | rm ID",
    .summary = "run commands in shells that keep their state",
    .about =
        "run executes a command line in the session's shell, prints its output and exits with its\n"
        "exit code. Everything after ID is the command line; options go before ID. If the output\n"
        "exceeds 1 MiB, its middle is omitted, which is reported on standard error. transcript\n"
        "prints every command so far, as Markdown, or as JSON with --json.\n",
    COMMAND_OPTS(opts),
    .words = "ls|create|run|show|transcript|rm",
    .verb_ends = "run",
    .run = session_main,
};
