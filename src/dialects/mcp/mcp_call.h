/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_call.h - a POST, the requests in it, and how their replies are sent
 *
 * An exchange is one POST. Calls that reply immediately make a plain JSON
 * reply. A slow call turns the exchange into a stream of events: at its first progress, or when
 * nothing was sent for so long that a proxy or client may give up.
 *
 * A mcp_call is one of its requests. It begins on the stack, which is enough to reply at once. One
 * that has to wait continues in a struct of its own, an unattended call (common/call.h) whose
 * client is the exchange. The client may cancel it or disconnect before its reply; a call that
 * `stays` then waits for the engine's callback, and its reply goes nowhere. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_CALL_H
#define HF_DIALECTS_MCP_MCP_CALL_H

#include "dialects/common/call.h"
#include "dialects/mcp/mcp.h"
#include "dialects/mcp/mcp_revision.h"
#include "dialects/mcp/mcp_rpc.h"

struct mcp_session;

struct mcp_exchange {
    struct call call;
    struct list link;            /* session.exchanges */
    struct mcp_session *session; /* NULL: none needed */
    const struct revision *revision;
    struct timer *timer; /* begins the stream, which then keeps itself alive */
    struct list calls;   /* struct mcp_call: those that wait */
    struct buf replies;  /* of finished calls, until a stream begins */
    struct buf unsent;   /* data of the stream */
    size_t reply_count;
    int status; /* of a plain reply; 202: no message in it needs one */
    enum role role;
    bool batch, opening; /* opening: some messages are not processed yet */
    bool ending;         /* all calls have replied, but some data is not sent yet */
};

struct mcp_call {
    struct call call;              /* kind NULL: it does not wait */
    struct list link;              /* exchange.calls */
    struct mcp_exchange *exchange; /* NULL: no client needs the reply */
    const struct revision *revision;
    json_t *id, *token; /* referenced if it waits; token NULL: no progress requested */
    struct timer *progress;
    struct process *process; /* referenced; the process that progress reports on */
    uint64_t began_ms;
    bool cancelled; /* by the client; one that only disconnects leaves processes running */
};

/* --- exchange ---------------------------------------------------------------- */
struct mcp_exchange *mcp_exchange_new(struct http_request *rq, struct mcp_session *s,
                                      const struct revision *rev);
void exchange_opened(struct mcp_exchange *x); /* no more messages: replies if no call waits */
/* Reports a fault of one message of a batch, or of the only one. */
void exchange_add_fault(struct mcp_exchange *x, const struct rpc_fault *f);
/* One JSON-RPC message, sent at once or collected for the plain reply. */
void exchange_add_reply(struct mcp_exchange *x, const struct buf *message);
/* A notification of a waiting call: begins the stream, and is dropped if the peer does not read. */
void exchange_notify(struct mcp_exchange *x, const struct buf *message);
/* Finishes the HTTP reply and frees the exchange when no call is left. */
void exchange_check_done(struct mcp_exchange *x);

/* --- a call on the stack --------------------------------------------------------- */
struct mcp_call mcp_call_of(struct mcp_exchange *x, const struct rpc_message *m);
struct mcp *mcp_call_mcp(const struct mcp_call *c);

/* The result object, open. mcp_call_send() closes it, delivers it and ends the call. */
struct json_out mcp_call_open(struct mcp_call *c);
void mcp_call_send(struct mcp_call *c, struct json_out *o);
void mcp_call_send_empty(struct mcp_call *c); /* result {} */
/* A JSON-RPC error; data: a JSON text, or NULL. Ends the call. */
void mcp_call_fail(struct mcp_call *c, enum rpc_code code, const char *data, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* --- a call that waits ------------------------------------------------------------ */
/* `size` zeroed bytes that begin with a struct mcp_call, which continues `c`. NULL: too_many_waits.
 * The kind's release calls mcp_call_release() and its drain is mcp_call_drain(). */
void *mcp_call_begin(const struct mcp_call *c, const struct call_kind *kind, size_t size,
                     struct hf_error *err);
/* The same in two steps, for a call that may still reply in this turn. */
void *mcp_call_adopt(const struct mcp_call *c, const struct call_kind *kind, size_t size);
int mcp_call_check_room(const struct mcp_call *c, struct hf_error *err);

void mcp_call_release(struct call *c);
void mcp_call_drain(struct call *c);
/* Nobody waits for its reply any more. */
void mcp_call_abandon(struct mcp_call *c, bool cancelled);
void mcp_call_detach(struct mcp_call *c); /* the same, without ending the call */
/* Starts reporting progress, if the client requested it. */
void mcp_call_watch_progress(struct mcp_call *c, struct process *p);

#endif
