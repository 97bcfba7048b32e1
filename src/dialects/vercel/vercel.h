/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vercel.h - Vercel Sandbox: commands, terminals, and as much of the rest as its clients need
 *
 * Facts: docs/dialects/vercel.md. Ids of commands are the daemon's own, so every dialect sees what
 * is started here, and vice versa. Clients repeat a POST on every 5xx and on a connection that
 * breaks before the reply: so a start that succeeded never gets either. The paths of version 1 lead
 * to the same handlers. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VERCEL_H
#define HF_DIALECTS_VERCEL_VERCEL_H

#include <limits.h>

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/vercel/vc_decode.h"
#include "dialects/vercel/vc_sandbox.h"

extern const struct dialect vercel_dialect;

#define VC_PORT 8099 /* the original has none: it is a service */

struct vercel {
    struct dialect_base base;
    struct boxes boxes;
    size_t waits; /* requests that wait for an exit */
    char cwd[PATH_MAX];
};

static inline struct vercel *vc_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* vercel.c: replies */
void vc_error(struct http_request *rq, const struct hf_error *err); /* in the platform's format */
void vc_refuse(struct http_request *rq, int status, const char *code, const char *message);
void vc_reply_nothing(struct http_request *rq); /* {} */

/* vercel.c: decoding requests. NULL: replied. */
struct vc_sandbox *vc_session(struct http_request *rq); /* a running one */
struct process *vc_command(struct http_request *rq);    /* of any session: it remains known */
bool vc_is_v1(const struct http_request *rq);

/* vc_json.c */
/* The first protocol has no sessions: `is_v1` says that the id is a sandbox's. */
void vc_write_command(struct json_out *o, struct process *p, const char *session, bool is_v1);
void vc_reply_command(struct http_request *rq, struct process *p);
/* The metadata of a substitute for a program that could not be started. NULL: too long. */
char *vc_substitute_metadata(const struct spawn_spec *wanted);

/* vc_stream.c: lines of JSON. `run`: the command before and after; `logs`: its output between.
 * Never refuses. */
struct vc_stream_options {
    bool run, logs;
};
void vc_stream_begin(struct http_request *rq, struct process *p, const struct vc_stream_options *o);

/* vc_interactive.c */
enum role vc_token_role(const struct http_request *rq, struct auth_grant *g);

/* handlers */
void vc_sandbox_create(struct http_request *rq);
void vc_sandbox_get(struct http_request *rq);
void vc_sandbox_list(struct http_request *rq);
void vc_sandbox_delete(struct http_request *rq);
void vc_session_list(struct http_request *rq);
void vc_session_get(struct http_request *rq);
void vc_sandbox_update(struct http_request *rq);
void vc_session_policy(struct http_request *rq);
void vc_list_commands(struct http_request *rq);
void vc_session_stop(struct http_request *rq);
void vc_session_extend(struct http_request *rq);

void vc_run(struct http_request *rq);
void vc_get(struct http_request *rq);
void vc_logs(struct http_request *rq);
void vc_kill(struct http_request *rq);
void vc_stdin(struct http_request *rq);

void vc_mkdir(struct http_request *rq);
void vc_read(struct http_request *rq);
void vc_write(struct http_request *rq);

void vc_interactive(struct http_request *rq);
void vc_terminal(struct http_request *rq);

#endif
