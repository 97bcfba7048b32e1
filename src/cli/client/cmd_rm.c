/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_rm.c - `holdfast rm`: removes processes; running ones only with --force. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

struct rm_args {
    bool force, exited;
    int64_t grace_ms;
    const char *grace;
};
#define OPT_ARGS struct rm_args

static const struct opt opts[] = {
    OPT_FLAG("--force", 'f', force, "also remove running processes: terminate their process trees"),
    OPT_FLAG("--exited", 0, exited, "remove all exited processes"),
    OPT_TEXT("--grace", 0, grace, "TIME", "time between SIGTERM and SIGKILL (the process's own)"),
};

/* A race is harmless: an id always names the same process. */
static int may_remove(const struct client_call *call, const char *path, const char *name)
{
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request(call, "GET", path, NULL, &r);

    if (rc == CLI_OK && strcmp(request_json_text(r.json, "status"), "running") == 0)
        rc = command_complain(call, CLI_FAILED,
                              "%s is running; use holdfast rm -f to terminate and remove it", name);
    return rc;
}

static void report_survivors(const struct client_call *call, const json_t *reply)
{
    const json_t *s;
    size_t i;

    json_array_foreach (json_object_get(reply, "survivors"), i, s) {
        command_complain(call, CLI_FAILED, "process %lld (%s) could not be terminated",
                         (long long)request_json_number(s, "pid"), request_json_text(s, "command"));
    }
}

static int remove_one(const struct client_call *call, const char *name)
{
    const struct rm_args *a = call->args;
    hf_autobuf struct buf path = {0};
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request_process_path(call, name, &path, "");

    if (rc == CLI_OK && !a->force)
        rc = may_remove(call, buf_cstr(&path), name);
    if (a->grace != NULL)
        buf_printf(&path, "?grace_ms=%lld", (long long)a->grace_ms);
    if (rc == CLI_OK)
        rc = request(call, "DELETE", buf_cstr(&path), NULL, &r);
    if (rc != CLI_OK)
        return rc;
    report_survivors(call, r.json);
    if (json_array_size(json_object_get(r.json, "survivors")) > 0)
        rc = CLI_FAILED;
    if (!print_value(call, r.json))
        printf("%s\n", name);
    return rc;
}

static int remove_exited(const struct client_call *call)
{
    fetch_autoreply struct fetch_reply r = {0};
    const json_t *p;
    size_t i;
    int rc = request(call, "GET", "/v1/processes?status=exited&limit=1000", NULL, &r), worst;

    if (rc != CLI_OK)
        return rc;
    worst = rc;
    json_array_foreach (json_object_get(r.json, "processes"), i, p) {
        rc = remove_one(call, request_json_text(p, "id"));
        worst = rc > worst ? rc : worst;
    }
    return worst;
}

static int rm_main(struct client_call *call)
{
    struct rm_args *a = call->args;
    int i, worst = CLI_OK;

    if (a->grace != NULL && !optparse_time(a->grace, &a->grace_ms))
        return command_complain(call, CLI_USAGE, "--grace must be a time such as 500ms or 5s");
    if ((call->operand_count == 0) != a->exited)
        return command_complain(call, CLI_USAGE, "name at least one process, or use --exited");
    if (a->exited)
        return remove_exited(call);
    for (i = 0; i < call->operand_count; i++) {
        int rc = remove_one(call, call->operands[i]);
        worst = rc > worst ? rc : worst;
    }
    return worst;
}

const struct command rm_command = {
    .name = "rm",
    .operands = "[PROCESS...]",
    .summary = "remove exited processes, with -f also running ones",
    COMMAND_OPTS(opts),
    .run = rm_main,
};
