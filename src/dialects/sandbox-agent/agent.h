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

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/dialect.h"
#include "dialects/common/input_call.h"
#include "dialects/common/pending.h"
#include "dialects/sandbox-agent/agent_decode.h"

extern const struct dialect sandbox_agent_dialect;

struct agent {
    struct engine *engine;
    struct loop *loop;
    struct route_table table;
    struct agent_config config;
    struct list pending;
    struct input_call_queue typing;
    size_t runs; /* pending; they do not count as concurrent processes */
    struct buf scratch;
};

static inline struct agent *agent_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* agent.c: replies */
struct json_out agent_reply_open(struct agent *a); /* begins an object in the scratch buffer */
void agent_send(struct http_request *rq, int status, struct json_out *o);
void agent_error(struct http_request *rq, const struct hf_error *err); /* any error of ours */
void agent_invalid(struct http_request *rq, int status, const char *detail);
void agent_conflict(struct http_request *rq, const char *message);
/* null: ended by a signal */
void agent_write_code(struct json_out *o, const struct exit_record *x);

/* agent.c: decoding requests. NULL or false: replied. */
json_t *agent_body(struct http_request *rq);
struct process *agent_process(struct http_request *rq);
/* A numeric query parameter; `out` is unchanged when it is absent. */
bool agent_number(struct http_request *rq, const char *name, int64_t max, int64_t *out);

/* agent_process.c */
void agent_write_info(struct json_out *o, struct process *p);

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

/* agent_config.c */
void agent_config_get(struct http_request *rq);
void agent_config_set(struct http_request *rq);
void agent_config_recall(struct agent *a); /* as the previous worker had it */

/* agent_logs.c, agent_follow.c: which runs are requested */
struct log_filter {
    int stream;       /* enum stream, or LOG_COMBINED, or LOG_NONE */
    const char *name; /* as requested */
    uint64_t since;   /* sequences above this */
    int64_t tail;     /* -1: all */
};
enum { LOG_COMBINED = -1, LOG_NONE = -2 };
bool log_wants(const struct log_filter *f, const struct slice *s);
void log_write(struct json_out *o, uint64_t number, const struct slice *s);
/* The number of the first run to send. */
uint64_t log_begin(const struct log_filter *f, const struct journal *j);
void agent_follow(struct http_request *rq, struct process *p, const struct log_filter *f);

#endif
