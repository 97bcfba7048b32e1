/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly.h - exec of Fly.io's machines and of its sprites, as their own clients speak it
 *
 * Facts: docs/dialects/fly.md. One daemon is one machine, FLY_MACHINE, in an app of any name, and
 * one sprite of any name. A machine's exec is a request whose reply comes at the end; a sprite's is
 * a session that clients attach to. Both are processes of the daemon with the daemon's ids, so
 * every session call accepts any process. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_H
#define HF_DIALECTS_FLY_FLY_H

#include "dialects/common/dialect_base.h"
#include "dialects/fly/fly_decode.h"

extern const struct dialect fly_dialect;

#define FLY_MACHINE "local"

struct fly {
    struct dialect_base base;
    int64_t created_ms; /* of the machine: when the first worker started */
    size_t waits;       /* requests that wait for an exit or a state */
};

static inline struct fly *fly_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* fly.c: replies */
void fly_add_process_header(struct http_request *rq, struct process *p); /* by a header */
/*
 * The daemon shuts down, the process stays: no 503 if it runs, or the client would request it
 * again.
 */
void fly_error_draining(struct http_request *rq, struct process *p);

/* fly.c: decoding. NULL or false: the request has been replied to. */
bool fly_machine(struct http_request *rq);
struct process *fly_session(struct http_request *rq, const char *id);
/* Is there room for one more request that waits? Call before starting anything. */
bool fly_admit(struct http_request *rq);

/* fly_sessions.c */
void fly_command_line(const struct process_view *v,
                      struct buf *out);         /* words, separated by blanks */
bool fly_is_mine(const struct process_view *v); /* started by this dialect */
/*
 * The exit code of a shell for a command that could not be started, and its message; 0: it is
 * another error.
 */
int fly_exit_of(const struct hf_error *err);
void fly_put_reason(struct buf *out, const struct hf_error *err);

/* fly_session.c */
void fly_sprite_decode(struct sprite_request *a, const struct http_request *rq, bool tty,
                       struct hf_error *err); /* err->code: invalid */

/* handlers */
void fly_app_get(struct http_request *rq);
void fly_machine_list(struct http_request *rq);
void fly_machine_get(struct http_request *rq);
void fly_machine_exec(struct http_request *rq);
void fly_machine_ps(struct http_request *rq);
void fly_machine_signal(struct http_request *rq);
void fly_machine_wait(struct http_request *rq);
void fly_machine_start(struct http_request *rq);

/* fly_files.c: a file of this sprite */
void fly_fs_read(struct http_request *rq);
void fly_fs_write(struct http_request *rq);
void fly_fs_list(struct http_request *rq);
void fly_fs_delete(struct http_request *rq);
void fly_fs_rename(struct http_request *rq);
void fly_fs_copy(struct http_request *rq);
void fly_fs_chmod(struct http_request *rq);
void fly_fs_chown(struct http_request *rq);
void fly_fs_watch(struct http_request *rq); /* fly_watch.c */

/* fly_unsupported.c: 501 with the reason */
void fly_machine_unsupported(struct http_request *rq);
void fly_app_unsupported(struct http_request *rq);
void fly_sprite_unsupported(struct http_request *rq);

void fly_sprite_delete(struct http_request *rq);
void fly_sprite_list(struct http_request *rq);
void fly_sprite_create(struct http_request *rq);
void fly_sprite_get(struct http_request *rq);
void fly_sprite_exec(struct http_request *rq); /* GET: a list, or a WebSocket for a new session */
void fly_sprite_attach(struct http_request *rq);
void fly_sprite_run(struct http_request *rq);
void fly_sprite_kill(struct http_request *rq);
void fly_session_list(struct http_request *rq);

#endif
