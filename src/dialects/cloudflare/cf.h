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
    struct list starts;  /* terminals of sessions that are being started; cf_pty.c */
    struct buf frame;    /* the envelope of a reply or event in base.scratch */
};

static inline struct cf *cf_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* The process with this id, "pid:N" or tag; NULL if none. */
struct process *cf_find(struct cf *cf, const char *id);

/* Handlers of plain routes. */
void cf_api(struct http_request *rq);      /* cf_api.c: everything under /api/ */
void cf_mux(struct http_request *rq);      /* cf_mux.c */
void cf_pty(struct http_request *rq);      /* cf_pty.c */
void cf_terminal(struct http_request *rq); /* cf_terminal.c */
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
