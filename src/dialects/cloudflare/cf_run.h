/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_run.h - a command run to its end: in a session's shell, or as a separate process.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_RUN_H
#define HF_DIALECTS_CLOUDFLARE_CF_RUN_H

#include "dialects/cloudflare/cf_launch.h"
#include "dialects/common/session_follow.h"

struct cf_run;

struct cf_run_request {
    const char *session; /* the session whose shell runs it; NULL: a separate process, */
    const char *group;   /* that belongs to this session; NULL: to none */
    const char *command;
    const json_t *argv; /* instead of the command */
    const char *cwd;
    const json_t *env;
    int64_t timeout_ms; /* 0: the session's limit, if it has one */
    bool helper;        /* visible to the owner only (spec.h) */
};

/* As in session_follow.h. `started`, `ready` [always] and `gap` [ignored] may be NULL. */
struct cf_run_ops {
    void (*started)(void *arg); /* once, before anything else but `failed` */
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, const struct slice *s);
    void (*gap)(void *arg, uint64_t from, uint64_t to);
    void (*failed)(void *arg, const struct hf_error *err);
    void (*done)(void *arg, const struct session_followed *f);
};

/* May call the ops before it returns; *out is set before that. */
void cf_run(struct cf *cf, const struct cf_run_request *request, const struct cf_run_ops *ops,
            void *arg, struct cf_run **out);
void cf_run_pump(struct cf_run *r);
/* The caller no longer follows it. `end`: terminate what runs as well. */
void cf_run_leave(struct cf_run *r, bool end);

#endif
