/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb.h - OpenSandbox: execd as its clients know it, and the SDK's calls to the control plane
 *
 * Facts: docs/dialects/opensandbox.md. A command is a process, with the process's id. A bash
 * session is the engine's session. A PTY session is a tag, under which one process after the other
 * runs (osb_pty.h). Everything that outlives a connection is in their records. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_H
#define HF_DIALECTS_OPENSANDBOX_OSB_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/machine_load.h"

extern const struct dialect opensandbox_dialect;

#define OSB_PORT 44772
#define OSB_PREFIX "/dialects/opensandbox"
#define OSB_JSON "application/json; charset=utf-8"
#define OSB_TEXT "text/plain; charset=utf-8"

struct osb {
    struct dialect_base base;
    struct list terminals;   /* struct osb_terminal: open or being opened */
    struct machine_cpu load; /* the last sample; osb_metrics.c */
    int64_t began_wall_ms;
    struct buf env; /* variables for what the current request starts; osb_env.c */
};

static inline struct osb *osb_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* --- osb_reply.c ---------------------------------------------------------------- */
/* {"code","message"} */
void osb_refuse(struct http_request *rq, int status, const char *code, const char *message);
/* The same, and ends the call. */
void osb_call_refuse(struct call *c, int status, const char *code, const char *message);
/* Any error of ours, in execd's format. */
void osb_error(struct http_request *rq, const struct hf_error *err);
bool osb_is_open(struct http_request *rq); /* false: shutting down; replied */

/* A body; none is the same as {}. NULL: replied. */
json_t *osb_body(struct http_request *rq);

/* By id, tag or pid: a process that any dialect has started. NULL and no_such_process. */
struct process *osb_find(const struct http_request *rq, const char *id, struct hf_error *err);
struct process *osb_process(struct http_request *rq); /* the one in the path; NULL: replied */
/* Is the metadata's "opensandbox" this word? */
bool osb_is(const struct process_view *v, const char *kind);
const char *osb_shell(void); /* "bash" if installed, else "sh" */
/* How a process ended, in Go's wording: "exit status 3", "signal: killed"; false: it succeeded. */
#define OSB_END_BYTES 64
bool osb_end_words(const struct exit_record *x, char *out);

/* --- handlers ------------------------------------------------------------------ */
void osb_command_post(struct http_request *rq);
void osb_command_get(struct http_request *rq);
void osb_command_delete(struct http_request *rq);
void osb_command_status(struct http_request *rq);
void osb_command_logs(struct http_request *rq);
void osb_command_resume(struct http_request *rq);
void osb_session_post(struct http_request *rq);
void osb_session_run(struct http_request *rq);
void osb_session_delete(struct http_request *rq);
void osb_pty_post(struct http_request *rq);
void osb_pty_get(struct http_request *rq);
void osb_pty_delete(struct http_request *rq);
void osb_pty_ws(struct http_request *rq);
void osb_terminal(struct http_request *rq);
void osb_metrics(struct http_request *rq);
void osb_metrics_watch(struct http_request *rq);
void osb_files_info(struct http_request *rq);
void osb_files_delete(struct http_request *rq);
void osb_files_permissions(struct http_request *rq);
void osb_files_move(struct http_request *rq);
void osb_files_replace(struct http_request *rq);
void osb_files_search(struct http_request *rq);
void osb_files_download(struct http_request *rq);
void osb_files_upload(struct http_request *rq);
void osb_directories_list(struct http_request *rq);
void osb_directories_post(struct http_request *rq);
void osb_directories_delete(struct http_request *rq);
void osb_sandbox_create(struct http_request *rq);
void osb_sandbox_list(struct http_request *rq);
void osb_sandbox_get(struct http_request *rq);
void osb_sandbox_patch(struct http_request *rq);
void osb_sandbox_delete(struct http_request *rq);
void osb_sandbox_endpoint(struct http_request *rq);
void osb_lifecycle_metrics(struct http_request *rq);

#endif
