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

struct remove_process_removal {
    struct op op;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct process *process; /* referenced */
};

static void removal_free(struct remove_process_removal *r)
{
    native_op_fini(&r->op);
    process_unref(r->process);
    free(r);
}

static void removal_on_free(struct op *op)
{
    struct remove_process_removal *r = list_entry(op, struct remove_process_removal, op);

    process_end_cancel(r->process, r);
    removal_free(r);
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static void removal_on_drain(struct op *op)
{
    struct remove_process_removal *r = list_entry(op, struct remove_process_removal, op);
    struct hf_error err;

    if (r->rq != NULL) {
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is shutting down; the requested operation continues");
        http_reply_error(r->rq, &err);
    }
    removal_on_free(op);
}

static const struct op_kind removal_kind = {.on_drain = removal_on_drain,
                                            .on_free = removal_on_free};

static void removal_on_disconnect(void *user)
{
    struct remove_process_removal *r = user;

    r->rq = NULL;
}

static void removal_reply(struct remove_process_removal *r, const struct survivors *s)
{
    struct json_out o = json_reply_open(r->op.native);
    struct process_view v;

    process_view(r->process, &v);
    process_json_exit(&o, process_exit_of(&v));
    process_json_survivors(&o, s);
    json_reply_send(r->rq, 200, &o);
}

static void removal_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct remove_process_removal *r = arg;

    (void)p;
    if (r->rq != NULL)
        removal_reply(r, s);
    removal_free(r);
}

void remove_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    struct remove_process_removal *r;
    struct hf_error err;
    int64_t grace_ms = -1;

    if (p == NULL)
        return;
    if (native_decode_i64(rq, "grace_ms", 0, LIMIT_DURATION_MS, &grace_ms, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    r = hf_xalloc(sizeof *r);
    native_op_init(&r->op, native_of(rq), &removal_kind);
    r->rq = rq;
    r->process = process_ref(p);
    http_set_user(rq, r, removal_on_disconnect);
    process_delete(p, grace_ms, "api", removal_on_ended, r);
}
