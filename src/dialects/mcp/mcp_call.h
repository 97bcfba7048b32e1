/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_call.h - a POST, the requests in it, and how their replies are sent
 *
 * An exchange is one POST with at least one request; a call is one of its requests. Calls that
 * reply immediately make a plain JSON reply. A slow call turns the exchange into a stream of
 * events: at its first progress, or when nothing was sent for so long that a proxy or client may
 * give up.
 *
 * A job is what a call waits for. The engine may owe it a callback, so it can outlive its call (the
 * client cancelled or disconnected). A call has at most one job.
 *
 * Owned by struct mcp (exchange, job) and by the exchange (call). Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_CALL_H
#define HF_DIALECTS_MCP_MCP_CALL_H

#include "dialects/mcp/mcp_context.h"
#include "dialects/mcp/mcp_revision.h"
#include "dialects/mcp/mcp_rpc.h"

struct mcp_session;
struct mcp_call;
struct job;

struct mcp_exchange {
    struct list link; /* mcp.exchanges */
    struct mcp *mcp;
    struct mcp_session *session; /* NULL: none needed */
    const struct revision *revision;
    struct http_request *rq;    /* until the reply begins */
    struct http_stream *stream; /* from then on, if it is a stream */
    struct timer *timer;        /* begins the stream and keeps it alive */
    struct list calls;
    struct buf replies; /* of finished calls, until a stream begins */
    struct buf out;     /* data of the stream that is not sent yet */
    size_t reply_count;
    int status; /* of a plain reply */
    enum role role;
    bool batch, opening; /* opening: some messages are not processed yet */
    bool ending;         /* all calls have replied, but some data is not sent yet */
};

struct mcp_call {
    struct list link; /* exchange.calls */
    struct mcp_exchange *exchange;
    json_t *id, *token; /* owned; token NULL: no progress requested */
    struct job *job;    /* NULL: none yet */
    struct timer *progress;
    struct process *process; /* referenced; the process that progress reports on */
    uint64_t began_ms;
};

/* Why a call ends without a reply from its job. */
enum mcp_call_end {
    MCP_CALL_CANCELLED,    /* the client cancelled it */
    MCP_CALL_DISCONNECTED, /* the client has disconnected; work that others can see keeps running */
    MCP_CALL_DRAIN,        /* this worker shuts down */
    MCP_CALL_FREE,         /* the dialect is being freed: no callback will follow */
};

struct job_kind {
    /* Frees the job or, if the engine owes a callback, detaches it from its call. */
    void (*end)(struct job *j, enum mcp_call_end why);
};

struct job {
    struct list link; /* mcp.jobs */
    struct mcp *mcp;
    struct mcp_call *call; /* NULL: no call is waiting */
    const struct job_kind *kind;
};

/* --- exchange ---------------------------------------------------------------- */
struct mcp_exchange *mcp_exchange_new(struct http_request *rq, struct mcp_session *s,
                                      const struct revision *rev);
struct mcp_call *mcp_exchange_add_call(struct mcp_exchange *x, const struct rpc_message *m);
void exchange_opened(struct mcp_exchange *x); /* no more messages: replies if no call is pending */
/* Reports a fault of one message of a batch, or of the only one. */
void exchange_add_fault(struct mcp_exchange *x, const struct rpc_fault *f);
/* Ends all its calls. With MCP_CALL_DRAIN and MCP_CALL_CANCELLED it also finishes the HTTP reply
 * properly. */
void exchange_end(struct mcp_exchange *x, enum mcp_call_end why);
/* Begins the stream, unless it has begun. */
void exchange_make_stream(struct mcp_exchange *x);
/* Cancels the pending call of this session with this id, if there is one. */
void mcp_session_cancel_call(struct mcp_session *s, struct mcp *m, const json_t *id);
/* Ends all pending calls of the session. */
void mcp_session_end_calls(struct mcp_session *s, struct mcp *m);

/* --- replies ------------------------------------------------------------------- */
/* The result object, open, in mcp.scratch. mcp_call_send() closes it, delivers it and frees the
 * call. */
struct json_out mcp_call_open(struct mcp_call *c);
void mcp_call_send(struct mcp_call *c, struct json_out *o);
void mcp_call_send_empty(struct mcp_call *c); /* result {} */
/* A JSON-RPC error; data: a JSON text, or NULL. Frees the call. */
void mcp_call_fail(struct mcp_call *c, enum rpc_code code, const char *data, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct mcp *mcp_call_mcp(const struct mcp_call *c);
struct loop *mcp_call_loop(const struct mcp_call *c);

/* The call continues beyond this turn; 0, or too_many_waits. */
int mcp_job_begin(struct job *j, struct mcp_call *c, const struct job_kind *kind,
                  struct hf_error *err);
void mcp_job_leave(struct job *j); /* its call no longer needs it, or has ended */
void mcp_job_fini(struct job *j);
/* Starts reporting progress, if the client requested it. */
void mcp_call_watch_progress(struct mcp_call *c, struct process *p);

#endif
