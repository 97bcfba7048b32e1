/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove_process.c - DELETE /v1/processes/{id}: kill the tree, report survivors, drop the record
 *
 * Once requested, the termination continues and the record is dropped, whether or not the client
 * waits for the reply. Several requests may arrive at once; each gets a reply. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct process_removal {
    struct call call;
    struct process *process; /* referenced */
};

static void removal_release(struct call *c)
{
    struct process_removal *r = list_entry(c, struct process_removal, call);

    process_end_cancel(r->process, r);
    process_unref(r->process);
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static const struct call_kind removal_kind = {
    .stays = true,
    .release = removal_release,
    .drain_text = "the daemon is shutting down; the requested operation continues",
};

static void removal_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct process_removal *r = arg;
    struct json_out o = dialect_reply_open(r->call.base);
    struct process_view v;

    process_view(p, &v);
    process_json_exit(&o, process_exit_of(&v));
    process_json_usage(&o, v.usage);
    process_json_survivors(&o, s);
    call_send(&r->call, 200, &o);
}

int remove_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    struct process_removal *r;
    int64_t grace_ms = -1;

    if (native_decode_i64(rq, "grace_ms", 0, LIMIT_DURATION_MS, &grace_ms, err) < 0)
        return -1;
    r = call_begin(rq, &removal_kind, sizeof *r);
    r->process = process_ref(p);
    process_delete(p, grace_ms, "api", removal_on_ended, r);
    return 0;
}
