/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_call.c - requests, their replies, and notifications of their progress
 *
 * Progress reports the elapsed time, the size of the output and its last line. The share of a
 * command that is done is unknown, so the number is the elapsed time in seconds. It increases with
 * every notification, as the protocol requires. Layer: dialects.
 */
#include "dialects/mcp/mcp_call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_server.h"

#define LAST_LINE_BYTES 200

struct mcp *mcp_call_mcp(const struct mcp_call *c)
{
    return (struct mcp *)c->call.base;
}

struct mcp_call mcp_call_of(struct mcp_exchange *x, const struct rpc_message *m)
{
    x->status = 200;
    return (struct mcp_call){
        .call.base = x->call.base,
        .exchange = x,
        .revision = x->revision,
        .id = m->id,
        .token = rpc_progress_token(m),
        .began_ms = loop_now_ms(x->call.base->loop),
    };
}

/* --- replies ------------------------------------------------------------------- */

struct json_out mcp_call_open(struct mcp_call *c)
{
    struct mcp *m = mcp_call_mcp(c);
    struct json_out o = rpc_open_result(&m->base.scratch, c->id);

    if (c->revision->stateless)
        server_write_result_head(m, &o);
    return o;
}

/* The message in the scratch buffer is the reply; the call is done. */
static void mcp_call_deliver(struct mcp_call *c)
{
    struct mcp_exchange *x = c->exchange;
    struct buf *message = &c->call.base->scratch;

    if (c->call.kind != NULL)
        call_end(&c->call);
    if (x == NULL)
        return;
    exchange_add_reply(x, message);
    exchange_check_done(x);
}

void mcp_call_send(struct mcp_call *c, struct json_out *o)
{
    rpc_close(o);
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
    if (code == RPC_METHOD_NOT_FOUND && c->revision->stateless)
        c->exchange->status = 404;
    rpc_write_error(&c->call.base->scratch, c->id, code, message, data);
    mcp_call_deliver(c);
}

/* --- calls that wait ------------------------------------------------------------- */

int mcp_call_check_room(const struct mcp_call *c, struct hf_error *err)
{
    size_t kept = c->exchange->role < ROLE_TYPE ? LIMIT_MCP_CALLS / LIMIT_WAITS_KEPT_PART : 0;
    size_t others = mcp_call_mcp(c)->call_count - (c->call.kind != NULL);
    int rc;

    if (others < LIMIT_MCP_CALLS - kept)
        return 0;
    rc = hf_fail(err, HF_E_too_many_waits,
                 "%zu calls are already pending; wait for some of them or cancel them", others);
    err->limit = "mcp_calls";
    return rc;
}

void *mcp_call_adopt(const struct mcp_call *c, const struct call_kind *kind, size_t size)
{
    struct mcp_call *w = hf_xalloc(size);

    *w = *c;
    json_incref(w->id);
    json_incref(w->token);
    list_append(&w->exchange->calls, &w->link);
    mcp_call_mcp(w)->call_count++;
    call_adopt_unattended(&w->call, c->call.base, kind);
    return w;
}

void *mcp_call_begin(const struct mcp_call *c, const struct call_kind *kind, size_t size,
                     struct hf_error *err)
{
    return mcp_call_check_room(c, err) < 0 ? NULL : mcp_call_adopt(c, kind, size);
}

void mcp_call_detach(struct mcp_call *c)
{
    if (c->exchange == NULL)
        return;
    c->exchange = NULL;
    list_remove(&c->link);
    mcp_call_mcp(c)->call_count--;
    timer_close(c->progress);
    c->progress = NULL;
}

void mcp_call_release(struct call *call)
{
    struct mcp_call *c = list_entry(call, struct mcp_call, call);

    mcp_call_detach(c);
    process_unref(c->process);
    json_decref(c->id);
    json_decref(c->token);
}

void mcp_call_abandon(struct mcp_call *c, bool cancelled)
{
    mcp_call_detach(c);
    c->cancelled = cancelled;
    call_leave(&c->call);
}

/* The exchange precedes its calls in the dialect's list, so the last of them may free it. */
void mcp_call_drain(struct call *call)
{
    struct mcp_call *c = list_entry(call, struct mcp_call, call);
    struct mcp_exchange *x = c->exchange;
    struct buf *out = &call->base->scratch;

    if (x == NULL)
        return; /* the engine calls back soon */
    rpc_write_error(out, c->id, RPC_INTERNAL_ERROR,
                    "the daemon is shutting down; processes keep running, so reconnect and find "
                    "them with list_processes",
                    "{\"code\":\"shutting_down\"}");
    mcp_call_abandon(c, false);
    exchange_add_reply(x, out);
    exchange_check_done(x);
}

/* --- progress ---------------------------------------------------------------------- */

/* The last non-empty line, without control characters. */
static void put_last_line(struct buf *out, const struct journal *j)
{
    uint64_t end = journal_next(j), first = journal_first(j), at;
    const char *bytes;
    size_t len, i;

    at = end - first > LAST_LINE_BYTES ? end - LAST_LINE_BYTES : first;
    bytes = journal_bytes(j, at);
    len = (size_t)(end - at);
    while (len > 0 && (unsigned char)bytes[len - 1] <= ' ')
        len--;
    for (i = len; i > 0 && bytes[i - 1] != '\n' && bytes[i - 1] != '\r';)
        i--;
    if (i == len)
        return;
    buf_puts(out, ": ");
    while (i < len) {
        size_t n = utf8_char_len(bytes + i, len - i);

        if (n > 0 && (unsigned char)bytes[i] >= ' ' && bytes[i] != 0x7f)
            buf_put(out, bytes + i, n);
        i += n > 0 ? n : 1;
    }
}

static void progress_on_timer(struct timer *t, void *arg)
{
    struct mcp_call *c = arg;
    struct mcp *m = mcp_call_mcp(c);
    const struct journal *j = process_journal(c->process);
    uint64_t seconds = (loop_now_ms(m->base.loop) - c->began_ms) / 1000;
    struct json_out o = rpc_open_notification(&m->base.scratch, "notifications/progress");

    buf_clear(&m->text);
    buf_printf(&m->text, "running for %llu s, %llu bytes of output", (unsigned long long)seconds,
               (unsigned long long)journal_next(j));
    put_last_line(&m->text, j);
    json_key(&o, "progressToken");
    json_value(&o, c->token);
    json_ku64(&o, "progress", seconds);
    json_key(&o, "message");
    json_strn(&o, buf_data(&m->text), m->text.len);
    rpc_close(&o);
    exchange_notify(c->exchange, &m->base.scratch);
    timer_start(t, MCP_PROGRESS_MS);
}

void mcp_call_watch_progress(struct mcp_call *c, struct process *p)
{
    if (c->token == NULL)
        return;
    c->process = process_ref(p);
    c->progress = timer_new(c->call.base->loop, progress_on_timer, c);
    timer_start(c->progress, MCP_PROGRESS_MS);
}
