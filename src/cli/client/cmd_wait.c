/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_wait.c - `holdfast wait`: waits for an exit, or for something in the output. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct wait_args {
    bool exit_code, prompt;
    struct opt_list text, regex;
    const char *timeout;
    int64_t timeout_ms, quiet_ms, port, from;
    uint64_t end_ms; /* the deadline, for all processes together */
};
#define OPT_ARGS struct wait_args

static const struct opt opts[] = {
    OPT_FLAG("--exit-code", 'e', exit_code,
             "exit with the process's exit code; of several, the first that is not 0"),
    OPT_TEXT("--timeout", 't', timeout, "TIME",
             "give up after this long in total, with exit code 124"),
    OPT_LIST("--text", 0, text, OPT_USES_MAX, "TEXT", "or until the output contains this text"),
    OPT_LIST("--regex", 0, regex, OPT_USES_MAX, "RE",
             "or until the output matches this regular expression"),
    OPT_TIME("--quiet", 0, quiet_ms, "TIME", "or until there was no output for this long",
             .min = 1),
    OPT_FLAG("--prompt", 0, prompt, "or until its shell shows a prompt"),
    OPT_NUMBER("--port", 0, port, 1, 65535, "N", "or until the process listens on this port"),
    OPT_NUMBER("--from", 0, from, 0, INT64_MAX, "OFFSET", "search output from this offset"),
};

static bool has_conditions(const struct wait_args *a)
{
    return a->text.count + a->regex.count > 0 || a->quiet_ms > 0 || a->prompt || a->port > 0;
}

static int64_t time_left_ms(const struct wait_args *a)
{
    uint64_t now = clock_mono_ms();

    return now < a->end_ms ? (int64_t)(a->end_ms - now) : 0;
}

static void put_condition(struct json_out *o, const char *key, const char *text)
{
    json_open(o, '{');
    json_kstr(o, key, text);
    json_close(o, '}');
}

static void put_number(struct json_out *o, const char *key, int64_t n)
{
    if (n <= 0)
        return;
    json_open(o, '{');
    json_kint(o, key, n);
    json_close(o, '}');
}

static void write_body(const struct wait_args *a, struct buf *out)
{
    struct json_out o;
    size_t i;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_key(&o, "until");
    json_open(&o, '[');
    for (i = 0; i < a->text.count; i++)
        put_condition(&o, "text", a->text.items[i]);
    for (i = 0; i < a->regex.count; i++)
        put_condition(&o, "regex", a->regex.items[i]);
    put_number(&o, "quiet_ms", a->quiet_ms);
    put_number(&o, "port", a->port);
    if (a->prompt)
        json_raw(&o, "{\"prompt\":true}", 15);
    json_raw(&o, "{\"exit\":true}", 13);
    json_close(&o, ']');
    if (a->from > 0)
        json_kint(&o, "from", a->from);
    if (a->timeout != NULL)
        json_kint(&o, "timeout_ms", time_left_ms(a));
    json_close(&o, '}');
}

/* 124; the process's own code with --exit-code; 1 if it ended before a condition was met; or 0. */
static int verdict(const struct client_call *call, const json_t *r, bool conditions)
{
    const struct wait_args *a = call->args;
    bool ended = strcmp(request_json_text(r, "status"), "exited") == 0;

    if (json_is_true(json_object_get(r, "timed_out")))
        return command_complain(call, CLI_TIMED_OUT, "timed out after %s", a->timeout);
    if (a->exit_code && ended)
        return request_exit_code(call, r);
    if (conditions && ended &&
        (strcmp(request_json_text(r, "matched"), "exit") == 0 ||
         json_is_null(json_object_get(r, "matched"))))
        return command_complain(call, CLI_FAILED, "the process ended before a condition was met");
    return CLI_OK;
}

/* Unbuffered, since the next wait may take long. */
static void print_result(const json_t *r, bool conditions)
{
    const json_t *code = json_object_get(r, "exit_code");
    const char *matched = request_json_text(r, "matched");
    struct buf line = {0};

    if (json_is_true(json_object_get(r, "timed_out")))
        return;
    if (conditions && matched[0] != '\0')
        buf_printf(&line, "%s\n", matched);
    else if (json_is_integer(code))
        buf_printf(&line, "%lld\n", (long long)json_integer_value(code));
    else
        buf_printf(&line, "%s\n", request_json_text(json_object_get(r, "exit"), "kind"));
    print_buf(&line);
}

/* One request with the remaining time; returns as fetch_call() does. */
static int request_once(const struct client_call *call, const char *path, struct fetch_reply *r,
                        struct hf_error *err)
{
    const struct wait_args *a = call->args;
    struct fetch_request what = {.method = "GET"};
    hf_autobuf struct buf full = {0}, body = {0};

    buf_puts(&full, path);
    if (has_conditions(a)) {
        write_body(a, &body);
        what.method = "POST";
        what.body = buf_data(&body);
        what.body_len = body.len;
    } else if (a->timeout != NULL) {
        buf_printf(&full, "?timeout_ms=%lld", (long long)time_left_ms(a));
    }
    what.path = buf_cstr(&full);
    return fetch_call(&call->place, &what, r, err);
}

/* Waiting has no side effects and the search starts at the same place, so a retry is safe. */
static int request_wait(const struct client_call *call, const char *path, struct fetch_reply *r)
{
    struct request_tries tries = {0};
    struct hf_error err = {0};
    int rc;

    do {
        request_begin(&tries);
        rc = request_once(call, path, r, &err);
    } while (request_again(&tries, rc));
    return request_check(call, rc, &err, r);
}

static int wait_one(const struct client_call *call, const char *name)
{
    const struct wait_args *a = call->args;
    bool conditions = has_conditions(a);
    hf_autobuf struct buf path = {0};
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request_process_path(call, name, &path, "/wait");

    if (rc == CLI_OK)
        rc = request_wait(call, buf_cstr(&path), &r);
    if (rc != CLI_OK)
        return rc;
    if (!print_value(call, r.json))
        print_result(r.json, conditions);
    return verdict(call, r.json, conditions);
}

static int wait_main(struct client_call *call)
{
    struct wait_args *a = call->args;
    int i, rc = CLI_OK;

    if (a->timeout != NULL && !optparse_time(a->timeout, &a->timeout_ms))
        return command_complain(call, CLI_USAGE,
                                "--timeout must be a time such as 500ms, 30s or 5m");
    a->end_ms = clock_mono_ms() + (uint64_t)a->timeout_ms;
    for (i = 0; i < call->operand_count; i++) {
        int one = wait_one(call, call->operands[i]);

        rc = rc != CLI_OK ? rc : one;
    }
    return rc;
}

const struct command wait_command = {
    .name = "wait",
    .operands = "PROCESS...",
    .summary = "wait for processes to end, or for something in their output",
    .about =
        "Prints the exit code, or the condition that was met first. Exits with 124 on a timeout,\n"
        "and with 1 if the process ends before a condition is met. A lost connection is\n"
        "reopened.\n",
    COMMAND_OPTS(opts),
    .run = wait_main,
};
