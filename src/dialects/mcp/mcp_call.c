/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_call.c - pending requests and their replies. Layer: dialects.
 */
#include "dialects/mcp/mcp_call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/mcp/mcp_exchange.h"
#include "dialects/mcp/mcp_progress.h"
#include "dialects/mcp/mcp_server.h"

struct mcp *mcp_call_mcp(const struct mcp_call *c)
{
    return c->exchange->mcp;
}

struct loop *mcp_call_loop(const struct mcp_call *c)
{
    return engine_loop(mcp_call_mcp(c)->engine);
}

struct mcp_call *mcp_exchange_add_call(struct mcp_exchange *x, const struct rpc_message *m)
{
    struct mcp_call *c = hf_xalloc(sizeof *c);

    c->exchange = x;
    c->id = json_incref(m->id);
    c->token = json_incref(rpc_progress_token(m));
    c->began_ms = loop_now_ms(engine_loop(x->mcp->engine));
    list_append(&x->calls, &c->link);
    x->mcp->call_count++;
    return c;
}

void mcp_call_free(struct mcp_call *c)
{
    assert(c->job == NULL);
    list_remove(&c->link);
    c->exchange->mcp->call_count--;
    timer_close(c->progress);
    process_unref(c->process);
    json_decref(c->id);
    json_decref(c->token);
    free(c);
}

/* --- replies ------------------------------------------------------------------- */

static void write_head(struct json_out *o, const json_t *id)
{
    json_open(o, '{');
    json_kstr(o, "jsonrpc", "2.0");
    json_key(o, "id");
    if (id != NULL)
        json_value(o, id);
    else
        json_nil(o);
}

void mcp_rpc_write_error(struct buf *out, const json_t *id, int code, const char *message,
                         const char *data)
{
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    write_head(&o, id);
    json_key(&o, "error");
    json_open(&o, '{');
    json_kint(&o, "code", code);
    json_kstr(&o, "message", message);
    if (data != NULL) {
        json_key(&o, "data");
        json_raw(&o, data, strlen(data));
    }
    json_close(&o, '}');
    json_close(&o, '}');
}

struct json_out mcp_call_open(struct mcp_call *c)
{
    struct mcp *m = mcp_call_mcp(c);
    struct json_out o;

    buf_clear(&m->scratch);
    json_out_init(&o, &m->scratch);
    write_head(&o, c->id);
    json_key(&o, "result");
    json_open(&o, '{');
    if (c->exchange->revision->stateless)
        server_write_result_head(m, &o);
    return o;
}

/* The message in mcp.scratch is the reply; the call is done. */
static void mcp_call_deliver(struct mcp_call *c)
{
    struct mcp_exchange *x = c->exchange;

    mcp_call_free(c);
    exchange_add_reply(x, &x->mcp->scratch);
    exchange_check_done(x);
}

void mcp_call_send(struct mcp_call *c, struct json_out *o)
{
    json_close(o, '}');
    json_close(o, '}');
    assert(o->depth == 0);
    mcp_call_deliver(c);
}

void mcp_call_send_empty(struct mcp_call *c)
{
    struct json_out o = mcp_call_open(c);

    mcp_call_send(c, &o);
}

void mcp_call_fail(struct mcp_call *c, enum rpc_code code, const char *data, const char *fmt, ...)
{
    char message[320];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (code == RPC_METHOD_NOT_FOUND && c->exchange->revision->stateless)
        c->exchange->status = 404;
    mcp_rpc_write_error(&mcp_call_mcp(c)->scratch, c->id, code, message, data);
    mcp_call_deliver(c);
}

/* --- jobs ------------------------------------------------------------------------ */

int mcp_job_begin(struct job *j, struct mcp_call *c, const struct job_kind *kind,
                  struct hf_error *err)
{
    struct mcp *m = mcp_call_mcp(c);
    size_t kept = c->exchange->role < ROLE_TYPE ? LIMIT_MCP_CALLS / LIMIT_WAITS_KEPT_PART : 0;

    if (m->call_count > LIMIT_MCP_CALLS - kept) {
        int rc = hf_fail(err, HF_E_too_many_waits,
                         "%zu calls are already pending; wait for some of them or cancel them",
                         m->call_count);

        err->limit = "mcp_calls";
        return rc;
    }
    assert(c->job == NULL);
    j->mcp = m;
    j->call = c;
    j->kind = kind;
    c->job = j;
    list_append(&m->jobs, &j->link);
    return 0;
}

void mcp_job_leave(struct job *j)
{
    if (j->call != NULL)
        j->call->job = NULL;
    j->call = NULL;
}

void mcp_job_fini(struct job *j)
{
    mcp_job_leave(j);
    list_remove(&j->link);
}

void mcp_call_end_job(struct mcp_call *c, enum mcp_call_end why)
{
    if (c->job != NULL)
        c->job->kind->end(c->job, why);
    assert(c->job == NULL);
}

void mcp_call_watch_progress(struct mcp_call *c, struct process *p)
{
    if (c->token == NULL || c->progress != NULL)
        return;
    c->process = process_ref(p);
    c->progress = timer_new(mcp_call_loop(c), progress_on_timer, c);
    timer_start(c->progress, MCP_PROGRESS_MS);
}
