/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_unsupported.c - calls of the control API that one sandbox cannot carry out
 *
 * 404 would say that the sandbox is gone, and clients then create another. So each of these says
 * what is missing, and that only for a sandbox that exists. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b.h"

static const struct {
    const char *call, *why; /* the last name of the path */
} reasons[] = {
    {"pause", "pausing is not supported: the daemon cannot save the memory of a machine; the "
              "sandbox keeps running"},
    {"fork", "forking is not supported: the daemon cannot copy the machine it runs on"},
    {"snapshots", "snapshots are not supported: the daemon cannot save the machine it runs on"},
    {"network", "the daemon does not control the network of the machine it runs on"},
    {"logs", "the daemon keeps no log of the sandbox; read the output of a process instead"},
};

void e2b_sandbox_unsupported(struct http_request *rq)
{
    const char *call = strrchr(http_path(rq), '/');
    const char *why = "this call is not supported";

    if (!e2b_sandbox_is_ours(rq))
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (call != NULL && strcmp(call + 1, reasons[i].call) == 0)
            why = reasons[i].why;
    e2b_plain_error(rq, 501, why);
}

/* It is never paused, so the original's reply to this is always the same one. */
void e2b_sandbox_resume(struct http_request *rq)
{
    char why[E2B_ID_BYTES + 40];

    if (!e2b_sandbox_is_ours(rq))
        return;
    snprintf(why, sizeof why, "Sandbox %s is already running", e2b_of(rq)->sandbox.id);
    e2b_plain_error(rq, 409, why);
}

/* None can be made. */
void e2b_snapshot_list(struct http_request *rq)
{
    struct json_out o = dialect_array_open(dialect_base_of(rq));

    json_close(&o, ']');
    http_reply_json(rq, 200, &dialect_base_of(rq)->scratch);
}

void e2b_unsupported(struct http_request *rq)
{
    e2b_plain_error(rq, 501,
                    "not supported: the daemon is one sandbox, without templates, volumes, "
                    "secrets, teams and keys");
}
