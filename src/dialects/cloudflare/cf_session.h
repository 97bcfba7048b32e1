/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_session.h - sessions that are created on demand
 *
 * The platform creates a session at its first use, so several requests may wait for a session that
 * is still being created. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_SESSION_H
#define HF_DIALECTS_CLOUDFLARE_CF_SESSION_H

#include "dialects/cloudflare/cf_request.h"
#include "engine/session/session.h"

/* Embedded by the waiter; starts as {0} with fn and arg. */
struct cf_want {
    struct list link;
    void (*fn)(void *arg, struct session *s, const struct hf_error *err); /* once */
    void *arg;
};

struct cf_session_request {
    const char *id;     /* NULL: any */
    const char *cwd;    /* NULL: the workspace, or the daemon's directory if there is none */
    const json_t *env;  /* an object of strings and nulls, or NULL */
    int64_t timeout_ms; /* time limit of its commands; 0: none */
};

/* The session, created if necessary. fn may run before this returns. */
void cf_session_want(struct cf *cf, const char *id, struct cf_want *w);
/* A new session; session_exists if there is one already. */
void cf_session_make(struct cf *cf, const struct cf_session_request *request, struct cf_want *w);
void cf_want_cancel(struct cf_want *w); /* {0} is fine */

/* An object of strings (null removes) as variables. *out is malloc'd with room for `more`. */
int cf_env(const json_t *env, size_t more, struct spec_env **out, size_t *count,
           struct hf_error *err);
/* The time limit of a command that names none; 0: no limit. */
int64_t cf_session_timeout(const struct session *s);
/* Is this the shell of a session, as opposed to a process that a client started? */
bool cf_is_shell(struct cf *cf, struct process *p);

#endif
