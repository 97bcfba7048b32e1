/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_logs.c - `holdfast logs`: the output of a process. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/client/attach.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct logs_args {
    bool follow, only_stdout, only_stderr;
    const char *since, *tail;
};
#define OPT_ARGS struct logs_args

static const struct opt opts[] = {
    OPT_FLAG("--follow", 'f', follow, "keep printing new output until the process exits"),
    OPT_TEXT("--tail", 'n', tail, "N", "only the last N lines; 0: only new output"),
    OPT_TEXT("--since", 0, since, "OFFSET", "start at this offset; -N: the last N bytes"),
    OPT_FLAG("--stdout", 0, only_stdout, "only standard output"),
    OPT_FLAG("--stderr", 0, only_stderr, "only standard error"),
};

#define TAIL_MOST_LINES 1000000000

/* Where the last lines begin. */
static int find_tail(const struct client_call *call, const char *id, const char *lines, char *since,
                     size_t size)
{
    struct fetch_stream s;
    struct hf_error err = {0};
    struct fetch_request get = {.method = "HEAD"};
    hf_autobuf struct buf path = {0};
    const char *offset = NULL;
    size_t at = 0;
    int64_t n;
    int rc;

    if (!text_to_i64(lines, 0, TAIL_MOST_LINES, &n))
        return command_complain(call, CLI_USAGE, "--tail must be a number from 0 to %d",
                                TAIL_MOST_LINES);
    if (n == 0) {
        snprintf(since, size, "now");
        return CLI_OK;
    }
    buf_printf(&path, "/v1/processes/%s/output?tail_lines=%lld", id, (long long)n);
    get.path = buf_cstr(&path);
    rc = request_open(call, &get, &s, &err);
    if (rc < 0)
        return request_print_unreachable(call, &err);
    if (rc == 200)
        offset = http1_header(&s.response, "Holdfast-Offset", &at);
    snprintf(since, size, "%s", offset != NULL ? offset : "now");
    fetch_close(&s);
    return CLI_OK;
}

/* --json: the chunks, with times and streams, as the daemon sends them. */
static int logs_as_json(const struct client_call *call, const struct attach_options *o)
{
    struct fetch_request get = {.method = "GET", .accept = "application/json"};
    fetch_autoreply struct fetch_reply r = {0};
    hf_autobuf struct buf path = {0};
    int rc;

    buf_printf(&path, "/v1/processes/%s/output?since=", o->id);
    fetch_escape(&path, o->since);
    if (o->no_stdout || o->no_stderr)
        buf_printf(&path, "&stream=%s", o->no_stdout ? "stderr" : "stdout");
    get.path = buf_cstr(&path);
    rc = request_with(call, &get, &r);
    if (rc == CLI_OK)
        print_value(call, r.json);
    return rc;
}

static int logs_main(struct client_call *call)
{
    const struct logs_args *a = call->args;
    struct attach_options o = {
        .retry_ms = ATTACH_RETRY_MS,
        .stop_at_replay = !a->follow,
        .zero_exit = true,
        .as_written = true,
        .no_stdout = a->only_stderr && !a->only_stdout,
        .no_stderr = a->only_stdout && !a->only_stderr,
    };
    fetch_autoreply struct fetch_reply r = {0};
    char since[24] = "0";
    int rc = request_process(call, "GET", call->operands[0], "", NULL, &r);

    o.id = request_json_text(r.json, "id");
    o.pty = json_is_true(json_object_get(r.json, "pty"));
    o.since = a->since != NULL ? a->since : since;
    if (rc == CLI_OK && a->tail != NULL)
        rc = find_tail(call, o.id, a->tail, since, sizeof since);
    if (rc != CLI_OK)
        return rc;
    return call->json || call->format != NULL ? logs_as_json(call, &o) : attach_run(call, &o);
}

const struct command logs_command = {
    .name = "logs",
    .operands = "PROCESS",
    .summary = "print the output of a process",
    .about = "Prints the process's standard output to standard output and its standard error to\n"
             "standard error. Output that is no longer kept is reported on standard error. --json\n"
             "prints at most 1 MiB of chunks with their times and offsets.\n",
    COMMAND_OPTS(opts),
    .run = logs_main,
};
