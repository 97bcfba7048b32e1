/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b.h - E2B's envd and as much of its control API as its SDK needs for one sandbox
 *
 * Facts: docs/dialects/e2b.md. The daemon is the one sandbox. Processes are selected by pid or tag,
 * and all of the engine's processes are visible. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_H
#define HF_DIALECTS_E2B_E2B_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/machine_load.h"
#include "engine/users.h"

extern const struct dialect e2b_dialect;

/* The SDK unlocks features by this version, that of the envd whose behaviour this is. */
#define E2B_ENVD_VERSION "0.6.13"
#define E2B_ID_BYTES 64

/* Set by /init and the control API; see e2b_sandbox.c. */
struct e2b_sandbox {
    char id[E2B_ID_BYTES];
    json_t *env, *metadata; /* objects of strings */
    char *user, *workdir;   /* defaults of processes; NULL: none set */
    char *template;
    int64_t started_ms, init_ms; /* init_ms: time stamp of the last /init */
    bool killed;
};

struct e2b {
    struct dialect_base base;
    struct list notes;    /* e2b_list.c: the variables that processes were started with */
    struct list watchers; /* e2b_watcher.c */
    struct e2b_sandbox sandbox;
    struct machine_cpu load; /* at the last request of metrics; e2b_metrics.c */
};

static inline struct e2b *e2b_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* e2b.c: plain routes reply {"code":404,"message":"…"} */
void e2b_plain_error(struct http_request *rq, int status, const char *message);
void e2b_error(struct http_request *rq, const struct hf_error *err); /* any error of ours */
/* False: the sandbox was killed, and the request has been replied to as E2B's proxy does then. */
bool e2b_is_there(struct http_request *rq);

/* e2b_sandbox.c */
void e2b_sandbox_init(struct e2b_sandbox *s);
void e2b_sandbox_fini(struct e2b_sandbox *s);
/* Call after a change. 0, or -ENOSPC: it is too large, and the sandbox is unchanged. */
int e2b_sandbox_save(struct e2b *e);
void e2b_sandbox_load(struct e2b *e);
void e2b_sandbox_set_env(struct e2b_sandbox *s, json_t *env); /* takes ownership */
/* A copy of an object of strings without NUL; NULL: not such an object, or too large. */
json_t *e2b_strings(const json_t *object);
/*
 * The same for variables: also NULL for an invalid name, because no process could be started with
 * it.
 */
json_t *e2b_variables(const json_t *object);
#define E2B_VARIABLES_REFUSED                                                                      \
    "envVars must be an object of strings; a name is not empty and has no '='"
/*
 * The user that a request names by "Authorization: Basic", or the default; 0, or err. *given: it is
 * not the daemon's own user, so the process must switch to it.
 */
int e2b_user(const struct http_request *rq, struct user *u, bool *given, struct hf_error *err);
/* The same for a request whose header names nobody, or may not. */
int e2b_default_user(const struct e2b *e, struct user *u, bool *given, struct hf_error *err);
int e2b_user_named(const struct e2b *e, const char *name, struct user *u, bool *given,
                   struct hf_error *err);
/*
 * Makes `path` absolute, without "." and "..", and without duplicate '/'; "~" and relative paths
 * are below the user's home. False: it is too long.
 */
bool e2b_path(const struct user *u, const char *path, char *out, size_t size);

/* e2b_control_api.c. False: the path does not name the sandbox, and 404 has been sent. */
bool e2b_sandbox_is_ours(struct http_request *rq);
void e2b_write_detail(struct json_out *o, const struct e2b_sandbox *s); /* as listed */

/* e2b_envd_routes.c */
int e2b_cpu_count(void);

/* e2b_list.c */
void e2b_note(struct e2b *e, struct process *p, const json_t *envs, const char *cwd);
void e2b_notes_free(struct e2b *e);

/* handlers */
void e2b_start(struct http_request *rq);
void e2b_connect(struct http_request *rq);
void e2b_list(struct http_request *rq);
void e2b_send_input(struct http_request *rq);
void e2b_stream_input(struct http_request *rq);
void e2b_close_stdin(struct http_request *rq);
void e2b_update(struct http_request *rq);
void e2b_send_signal(struct http_request *rq);
void e2b_fs_stat(struct http_request *rq);
void e2b_fs_list(struct http_request *rq);
void e2b_fs_mkdir(struct http_request *rq);
void e2b_fs_move(struct http_request *rq);
void e2b_fs_remove(struct http_request *rq);
void e2b_watch_dir(struct http_request *rq);
void e2b_create_watcher(struct http_request *rq);
void e2b_get_watcher_events(struct http_request *rq);
void e2b_remove_watcher(struct http_request *rq);
void e2b_files_get(struct http_request *rq);
void e2b_files_post(struct http_request *rq);
void e2b_files_compose(struct http_request *rq);
void e2b_health(struct http_request *rq);
void e2b_metrics(struct http_request *rq);
void e2b_envs(struct http_request *rq);
void e2b_init(struct http_request *rq);
void e2b_sandbox_create(struct http_request *rq);
void e2b_sandbox_connect(struct http_request *rq);
void e2b_sandbox_get(struct http_request *rq);
void e2b_sandbox_list(struct http_request *rq);
void e2b_sandbox_list_v1(struct http_request *rq);
void e2b_sandbox_metrics(struct http_request *rq);
void e2b_sandbox_resume(struct http_request *rq);
void e2b_sandbox_unsupported(struct http_request *rq);
void e2b_snapshot_list(struct http_request *rq);
void e2b_unsupported(struct http_request *rq);
void e2b_sandbox_timeout(struct http_request *rq);
void e2b_sandbox_kill(struct http_request *rq);

#endif
