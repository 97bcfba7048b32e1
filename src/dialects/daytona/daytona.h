/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daytona.h - Daytona's toolbox process API, and as much of its control plane as a client needs
 *
 * Facts: docs/dialects/daytona.md. Sessions are the engine's, so every session of the daemon is
 * visible here. A command's id is its name in the session's log. A PTY is a terminal of the daemon:
 * its id is in its metadata, and terminals created elsewhere use the daemon's own id.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_DAYTONA_DAYTONA_H
#define HF_DIALECTS_DAYTONA_DAYTONA_H

#include <limits.h>

#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/machine_load.h"
#include "dialects/daytona/dt_decode.h"
#include "engine/events.h"
#include "engine/session/session.h"

extern const struct dialect daytona_dialect;

#define DT_SANDBOX "local"
#define DT_METADATA "{\"via\":\"daytona\"}"

struct dt {
    struct dialect_base base;
    struct list runs;    /* struct dt_run: commands that this worker has accepted */
    struct list follows; /* struct dt_follow */
    struct list tickets;
    size_t ticket_count;
    struct event_subscriber events;
    char cwd[PATH_MAX];
    struct machine_cpu load; /* at the last request of metrics; dt_metrics.c */
};

static inline struct dt *dt_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* daytona.c: an error with a status and code of its own, or with http_reply_error() any of ours. */
void dt_fail(struct http_request *rq, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The members of such an error, for one inside a reply. */
struct dt_error {
    int status;
    const char *code, *message; /* code NULL: none */
    const char *path, *method;  /* of the request */
};
void dt_put_error(struct json_out *o, const struct dt_error *e);

/* daytona.c: what requests have in common. NULL or false: the request has been replied to. */
/* Decodes the body. Call dt_request_fini() in either case. */
bool dt_request(struct http_request *rq, enum dt_body kind, struct dt_request *a);
struct session *dt_session(struct http_request *rq);
bool dt_upgrade_ok(struct http_request *rq); /* is the handshake valid? */
/* The subprotocol to accept from those offered; NULL: none. */
const char *dt_protocol(const struct http_request *rq, char out[DT_PROTOCOL_BYTES]);
enum dt_split dt_split_of(const struct http_request *rq);
/* An empty object removes the note. `what` names the contents in an error. */
int dt_note_set(struct engine *e, const char *name, const json_t *object, const char *what,
                struct hf_error *err);

/* dt_env.c: variables set by POST /env; those of the request follow. Free with free(). */
struct spec_env *dt_env(struct dt *dt, const struct spec_env *own, size_t count, size_t *out_count,
                        json_t **keep);
void dt_env_update(struct http_request *rq);
/* Adds variables to them; NULL: none. */
int dt_env_keep(struct dt *dt, const json_t *set, struct hf_error *err);
/* {"NAME":"value"}: those that are set; the caller owns it. */
json_t *dt_env_set(struct dt *dt);

/* dt_one_shot.c */
void dt_execute(struct http_request *rq);
void dt_code_run(struct http_request *rq);

/* dt_session.c */
void dt_session_create(struct http_request *rq);
void dt_session_list(struct http_request *rq);
void dt_session_get(struct http_request *rq);
void dt_session_delete(struct http_request *rq);
void dt_entrypoint(struct http_request *rq);

/* dt_command.c: a command of a session, started or still queued in this worker. */
struct dt_command {
    struct session *session;
    char id[SESSION_NAME_MAX + 1];
    bool begun;
    struct session_command log;  /* if started; borrowed until the next return to the loop */
    const struct dt_run *queued; /* else */
};
bool dt_command_find(struct dt *dt, const char *session, const char *id, struct dt_command *out);
bool dt_command(struct http_request *rq,
                struct dt_command *out); /* false: the request has been replied to */
void dt_commands_write(struct json_out *o, struct dt *dt, struct session *s);
void dt_command_get(struct http_request *rq);
void dt_input(struct http_request *rq);

/* dt_run.c: POST …/exec */
struct dt_run {
    struct call call;        /* its rq is NULL once the reply is sent */
    struct list link;        /* in dt.runs */
    struct session_run *run; /* NULL: it has ended, or did not start */
    char id[SESSION_NAME_MAX + 1];
    char *session, *command;
    bool async, echo, begun;
    bool promised; /* the reply was sent before it started */
};
void dt_run(struct http_request *rq);
void dt_runs_recall(struct dt *dt); /* what was queued in the last worker */

/* dt_logs.c */
void dt_logs(struct http_request *rq);
/* "output", "stdout" and "stderr" of the range [from, to) of a process's journal. */
void dt_output_write(struct json_out *o, struct dt *dt, const struct session_command *c,
                     enum dt_split split);

/* dt_follow.c */
void dt_follow(struct http_request *rq, const struct dt_command *c);
void dt_follows_check(struct dt *dt); /* something happened to sessions */

/* dt_pty.c, dt_terminal.c */
struct process *dt_pty_find(struct dt *dt, const char *id);
void dt_pty_list(struct http_request *rq);
void dt_pty_get(struct http_request *rq);
void dt_pty_delete(struct http_request *rq);
void dt_pty_resize(struct http_request *rq);
void dt_pty_create(struct http_request *rq);
void dt_pty_create_connect(struct http_request *rq);
void dt_pty_connect(struct http_request *rq);
void dt_pty_attach(struct http_request *rq, struct process *p);
void dt_pty_refuse(struct http_request *rq, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* dt_file.c, dt_file_get.c, dt_file_put.c */
void dt_file_list(struct http_request *rq);
void dt_file_info(struct http_request *rq);
void dt_file_folder(struct http_request *rq);
void dt_file_delete(struct http_request *rq);
void dt_file_move(struct http_request *rq);
void dt_file_permissions(struct http_request *rq);
void dt_file_download(struct http_request *rq);
void dt_file_bulk_download(struct http_request *rq);
void dt_file_bulk_upload(struct http_request *rq);
void dt_file_find(struct http_request *rq);
void dt_file_search(struct http_request *rq);
void dt_file_no_replace(struct http_request *rq);

/* dt_sandbox.c, dt_socket.c, dt_ticket.c */
void dt_sandbox_create(struct http_request *rq);
void dt_sandbox_get(struct http_request *rq);
void dt_sandbox_list(struct http_request *rq);
void dt_sandbox_paginated(struct http_request *rq);
void dt_sandbox_labels(struct http_request *rq);
void dt_sandbox_running(struct http_request *rq);
void dt_sandbox_activity(struct http_request *rq);
void dt_sandbox_refuse(struct http_request *rq);
void dt_sandbox_refuse_port(struct http_request *rq);
void dt_sandbox_refuse_history(struct http_request *rq);
void dt_refuse_config(struct http_request *rq);
void dt_metrics(struct http_request *rq); /* dt_metrics.c */
void dt_sandbox_delete(struct http_request *rq);
void dt_sandbox_proxy_url(struct http_request *rq);
void dt_sandbox_preview(struct http_request *rq);
void dt_socket(struct http_request *rq);
void dt_ticket_new(struct http_request *rq, char out[DT_TICKET_BYTES]);
enum role dt_ticket_role(const struct http_request *rq, struct auth_grant *g);
void dt_tickets_free(struct dt *dt);

#endif
