/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf.h - Cloudflare Sandbox: the protocol of its SDK, its xterm addons and its bridge's clients
 *
 * Facts: docs/dialects/cloudflare.md. Sessions are the engine's sessions. Processes and terminals
 * are the engine's processes, named by the engine's id or by their tag. A session's terminal is the
 * process of that session whose metadata is CF_TERMINAL_METADATA. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_H
#define HF_DIALECTS_CLOUDFLARE_CF_H

#include "dialects/common/dialect_base.h"

extern const struct dialect cloudflare_dialect;

#define CF_WORKSPACE "/workspace"
#define CF_DEFAULT_SESSION "default"
#define CF_NO_SESSION "__DISABLE_SESSION__" /* the client's name for "a fresh shell each time" */
#define CF_TERMINAL_METADATA "{\"cloudflare\":\"terminal\"}"

struct cf {
    struct dialect_base base;
    struct list makings; /* sessions that are being created; cf_session.c */
    struct list starts;  /* clients that wait for a terminal; cf_pty.c */
};

static inline struct cf *cf_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* The process with this id, "pid:N" or tag; NULL if none. */
struct process *cf_find(struct cf *cf, const char *id);

void cf_refuse_text(struct http_request *rq, int status, const char *text); /* a reply as text */

/* cf_terminal.c */
/* Attaches a client of the stable generation. `fresh`: replay all output instead of the screen. */
void cf_terminal_attach(struct http_request *rq, struct process *p, bool fresh);
/* Accepts the WebSocket, reports the error and closes: these clients see a refusal no other way. */
void cf_refuse_socket(struct http_request *rq, int code, const char *text);
/* cols and rows of the query where they are valid sizes; else unchanged. */
void cf_query_size(const struct http_request *rq, int64_t *cols, int64_t *rows);
/* cf_pty.c: the terminal of this session, started if it has none. */
void cf_pty_session(struct http_request *rq, const char *session);
/* A terminal for this connection alone, terminated with it. */
void cf_pty_alone(struct http_request *rq, const char *group);

/* Handlers of plain routes. */
void cf_api(struct http_request *rq); /* cf_api.c: everything under /api/ */
void cf_api_write(struct http_request *rq);
void cf_mux(struct http_request *rq); /* cf_mux.c */
void cf_pty(struct http_request *rq);
void cf_terminal(struct http_request *rq);
void cf_bridge_create(struct http_request *rq);
void cf_bridge_delete(struct http_request *rq);
void cf_bridge_running(struct http_request *rq);
void cf_bridge_exec(struct http_request *rq);
void cf_bridge_pty(struct http_request *rq);
void cf_bridge_session_create(struct http_request *rq);
void cf_bridge_session_delete(struct http_request *rq);
void cf_bridge_file_get(struct http_request *rq);
void cf_bridge_file_put(struct http_request *rq);

#endif
