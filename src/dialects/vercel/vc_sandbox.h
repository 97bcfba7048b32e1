/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_sandbox.h - sandboxes by name, each with its current session
 *
 * All of them are this one machine: a name is a label on the commands that are started under it, so
 * that stopping a sandbox terminates only those. A session lasts from one stop to the next, and
 * each has a new id. They are stored in the daemon's notes, so they outlive the worker, but not the
 * daemon. One of them always exists. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VC_SANDBOX_H
#define HF_DIALECTS_VERCEL_VC_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "dialects/vercel/vc_decode.h"
#include "dialects/vercel/vercel_limits.h"

struct engine;

#define BOX_LOCAL "local"
#define BOX_SESSION_BYTES 28 /* "sbx_" and 24 characters */

struct vc_sandbox {
    char name[LIMIT_VERCEL_NAME_BYTES + 1];
    char session[BOX_SESSION_BYTES + 1];
    int64_t created_ms, began_ms, changed_ms; /* began: the session */
    int64_t timeout_ms;
    int64_t usual_ms; /* the timeout of the next session */
    bool stopped;
    json_t *env, *tags; /* NULL: none */
    /* The session before this one, which somebody may still name; "": none. */
    char last[BOX_SESSION_BYTES + 1];
    int64_t last_began_ms, last_ended_ms;
};

/* Pointers to a box are valid until the next one is created or removed. */
struct boxes {
    struct engine *engine;
    struct vc_sandbox *list; /* room for LIMIT_VERCEL_SANDBOXES; NULL: not used yet */
    size_t count;
};

void vc_sandboxes_init(struct boxes *all, struct engine *e); /* as the previous worker had them */
void vc_sandboxes_fini(struct boxes *all);

struct vc_sandbox *vc_sandbox_named(struct boxes *all, const char *name); /* NULL: none */
struct vc_sandbox *vc_sandbox_of_session(struct boxes *all,
                                         const char *session); /* its current session; or NULL */
/* Fills *out with the sandbox as it was in its current or its last session, without env and tags.
 * False: no sandbox has had it. */
bool vc_sandbox_at_session(const struct boxes *all, const char *session, struct vc_sandbox *out);
bool vc_sandbox_is_session_id(const char *text); /* has the format of one */

/* NULL: err. The name must not exist. */
struct vc_sandbox *vc_sandbox_new(struct boxes *all, const struct vc_create *request,
                                  struct hf_error *err);
/* Changes what the request has; 0, or a negative errno with err and nothing is changed. */
int vc_sandbox_change(struct boxes *all, struct vc_sandbox *b, const struct vc_create *request,
                      struct hf_error *err);
void vc_sandbox_stop(struct boxes *all, struct vc_sandbox *b);
void vc_sandbox_resume(struct boxes *all, struct vc_sandbox *b); /* starts a new session */
void vc_sandbox_extend(struct boxes *all, struct vc_sandbox *b, int64_t ms);
void vc_sandbox_remove(struct boxes *all, struct vc_sandbox *b);
/* As reported to clients: never shorter than it has lasted, because nothing ends it. */
int64_t vc_sandbox_timeout_ms(const struct vc_sandbox *b);

#endif
