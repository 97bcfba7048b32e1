/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the process API of sandbox-agent 0.4.2, as its own client speaks it
 *
 * Facts: docs/dialects/sandbox-agent.md. Ids are the daemon's own, so every dialect sees what is
 * started here, and vice versa. Log entries are the journal's runs, whose numbers are never reused.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_SANDBOX_AGENT_AGENT_H
#define HF_DIALECTS_SANDBOX_AGENT_AGENT_H

#include "dialects/common/dialect_base.h"
#include "dialects/sandbox-agent/agent_decode.h"

extern const struct dialect sandbox_agent_dialect;

struct agent {
    struct dialect_base base;
    struct agent_config config;
    size_t runs; /* pending; they do not count as concurrent processes */
};

static inline struct agent *agent_of(const struct http_request *rq)
{
    return http_context(rq);
}

void agent_conflict(struct http_request *rq, const char *message); /* 409 */
/* null: ended by a signal */
static inline void agent_write_code(struct json_out *o, const struct exit_record *x)
{
    if (x->code >= 0)
        json_kint(o, "exitCode", x->code);
    else
        json_knull(o, "exitCode");
}

/* handlers */
void agent_create(struct http_request *rq);
void agent_list(struct http_request *rq);
void agent_get(struct http_request *rq);
void agent_delete(struct http_request *rq);
void agent_stop(struct http_request *rq);
void agent_kill(struct http_request *rq);
void agent_input(struct http_request *rq);
void agent_resize(struct http_request *rq);
void agent_run(struct http_request *rq);
void agent_logs(struct http_request *rq);
void agent_terminal(struct http_request *rq);

#endif
