/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_run.h - a call that runs a command to its end, in a session's shell or as a separate process
 *
 * A struct cf_run is the first member of the handler's own struct, begun with cf_run_kind.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_RUN_H
#define HF_DIALECTS_CLOUDFLARE_CF_RUN_H

#include "dialects/cloudflare/cf_launch.h"
#include "dialects/common/follow.h"
#include "dialects/common/session_follow.h"

/* What the platform reports as the exit status of a command that timed out. */
#define CF_TIMEOUT_CODE 124

struct cf_run;

/* Each may be NULL where a default is in brackets. */
struct cf_run_ops {
    /* Before any output. A run that streams begins its stream here: then output waits for room
     * [nothing]. */
    void (*started)(struct cf_run *r);
    void (*bytes)(struct cf_run *r, const struct slice *s);
    void (*gap)(struct cf_run *r, uint64_t from, uint64_t to); /* [ignored] */
    /* Exactly one of these, unless the call ends before; it ends the call. [call_fail] */
    void (*failed)(struct cf_run *r, const struct hf_error *err);
    void (*done)(struct cf_run *r, const struct session_followed *f);
    void (*drain)(struct call *c);
    void (*release)(struct cf_run *r); /* [nothing] */
    /* Terminate the command [it keeps running]. */
    bool end_if_disconnected, end_if_drained;
};

struct cf_run {
    struct follow follow; /* has the process that runs it, if no session does */
    const struct cf_run_ops *ops;
    struct cf *cf;
    struct cf_want want;            /* a session is being created */
    struct buf line;                /* the command */
    int64_t timeout_ms;             /* its time limit */
    struct session_follow *session; /* the session that runs it */
    struct cf_launch *launch;       /* or a process is being started */
    bool grouped;                   /* it belongs to a session */
    bool attached; /* it ends with its client, even if the worker dies: the viewer counts as one */
};

extern const struct call_kind cf_run_kind;
/* With a session, its shell runs the command; else a separate process does. May end the call before
 * it returns. */
void cf_run_begin(struct cf_run *r, const struct cf_run_ops *ops,
                  const struct cf_launch_request *request);

#endif
