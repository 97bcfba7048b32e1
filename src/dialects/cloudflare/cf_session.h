/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_session.h - sessions that are made when somebody wants one
 *
 * The platform makes a session at its first use, so several requests may want the same that
 * is just being made. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_SESSION_H
#define HF_DIALECTS_CLOUDFLARE_CF_SESSION_H

#include "dialects/cloudflare/cf_call.h"
#include "engine/session/session.h"

/* Embedded by who waits; begins as {0} with fn and arg. */
struct cf_want {
    struct list link;
    void (*fn)(void *arg, struct session *s, const struct hf_error *err); /* once */
    void *arg;
};

struct cf_session_ask {
    const char *id;     /* NULL: any */
    const char *cwd;    /* NULL: the workspace, or where the daemon is if there is none */
    const json_t *env;  /* an object of strings and nulls, or NULL */
    int64_t timeout_ms; /* of its commands; 0: none */
};

/* The session, made if there is none. fn may run before this returns. */
void cf_session_want(struct cf *cf, const char *id, struct cf_want *w);
/* A new one; session_exists if there is one already. */
void cf_session_make(struct cf *cf, const struct cf_session_ask *ask, struct cf_want *w);
void cf_want_cancel(struct cf_want *w); /* {0} is fine */

/* An object of strings (null removes) as variables; *out is malloc'd with room for `more`. */
int cf_env(const json_t *env, size_t more, struct spec_env **out, size_t *count,
           struct hf_error *err);
/* What a command may take when it does not say so itself; 0: no limit. */
int64_t cf_session_timeout(const struct session *s);
/* Is this the shell of a session, and not a process that somebody started? */
bool cf_is_shell(struct cf *cf, struct process *p);

void cf_session_create(struct cf_call *c);
void cf_session_list(struct cf_call *c);
void cf_session_delete(struct cf_call *c);

#endif
