/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_own.h - private parts of a session, for the session*.c files. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_OWN_H
#define HF_ENGINE_SESSION_SESSION_OWN_H

#include "engine/process_own.h"
#include "engine/session/session.h"

/* Length of a tick of /proc/PID/stat; a process that starts a tick later has a later start time. */
#define SESSION_TICK_MS 10
/* The first interval at which the signals of an abort are repeated. */
#define SESSION_CUT_MIN_MS 20
#define SESSION_CUT_MAX_MS 500
/* A command put ahead should be quick, but a file system may hang. */
#define SESSION_AHEAD_MS 20000

/*
 * A command in progress: it waits in the session's queue, then it is the session's current one. It
 * ends when the shell reports its end and everything that was in the pipes by then is read, or when
 * the shell has exited. The session owns it. The caller has a handle until `done` was called or it
 * has left.
 */
struct session_run {
    struct session *session;
    struct list link;     /* in session.queue while it waits */
    session_run_fn *done; /* NULL: the caller has left */
    session_began_fn *began;
    void *arg;
    char *command, *name;
    void *input; /* NULL: none */
    size_t input_len;
    bool typed, echo;
    enum process_source source;
    int64_t timeout_ms, grace_ms;
    session_ahead_fn *ahead; /* NULL: none, or already called */

    /* while it runs */
    struct viewer *viewer;
    struct headtail log, all, out, err;
    struct session_begin begin;
    struct timer *timer; /* the time-out, then the steps of an abort */
    uint64_t cut_at_ms, cut_wait_ms, cut_ticks;
    enum exit_kind cut_kind; /* EXIT_NONE: not being aborted */
    const char *cut_by;

    /* when it has ended */
    bool reported, exited;
    struct exit_record exit;
    uint64_t drain_to[2]; /* counts of output_has_read() */
    char *cwd;
    bool shell_lost; /* it ran in a new shell because the previous one had exited by itself */
};

struct session {
    struct engine *engine;
    struct list link;
    char *id;
    struct session_spec spec; /* strings and variables are owned by the session */
    struct spec_env *env;
    char *shell_name; /* the one that was found */
    uint32_t shell_number;
    int script; /* version its shell runs: SESSION_SCRIPT_VERSION, or that of an older daemon */
    int64_t created_wall_ms;

    /* referenced; its session field points back. NULL until the first one runs */
    struct process *shell;
    struct watch *side;
    bool side_skip; /* skip the rest of an oversized report, up to its NUL */
    struct exit_waiter exit_waiter;
    bool starting;   /* a shell is being started */
    bool shell_lost; /* it exited while no command ran; not reported yet */

    struct session_run *current;
    struct list queue; /* struct session_run */
    size_t queued;
    struct task step; /* runs session_step() at the end of the turn */
    unsigned signals_open;
    struct timer *pause; /* until the next tick: see session_abort.c */
    char job[24];        /* last background job that the shell reported */
    char *cwd;           /* the shell's; NULL: unknown */

    session_done_fn *created; /* for the creator, until the first shell runs */
    void *created_arg;
    bool listed;

    /* deletion */
    bool deleting;
    session_end_fn *deleted;
    void *deleted_arg;
    size_t ends_open, ended;
    struct survivors survivors;
};

#define DELETING_SESSION 2 /* record_head.deleting: the shell is deleted with its session */

/* session.c */
struct session *session_new(struct engine *e, const char *id);
struct session *session_lookup(struct engine *e, const char *id); /* including hidden ones */
void session_set_env(struct session *s, const struct spec_env *env, size_t count); /* copies */
void session_step_later(struct session *s);
void session_notify(struct session *s, const char *type, const struct session_run *r);

/* session_shell.c */
int shell_start(struct session *s, struct hf_error *err);
void shell_attach(struct session *s, struct process *p); /* makes it the session's shell */
void shell_detach(struct session *s);
/* the session's definition has changed */
int shell_redefine(struct session *s, struct hf_error *err);
bool shell_is_alive(const struct session *s);
void shell_read(struct session *s); /* reads its reports */
void shell_read_on(struct session *s);

/* session_run.c */
void run_put_ahead(struct session *s);
void run_start(struct session *s);
void run_resume(struct session *s, const struct session_command *c);
void run_report(struct session_run *r, int status, const char *cwd, size_t cwd_len);
void run_refuse(struct session_run *r, const struct hf_error *err);
void run_free(struct session_run *r);
bool run_is_over(const struct session_run *r);
void run_finish(struct session_run *r);

/* session_abort.c */
uint64_t session_ticks_now(void);            /* in the unit of process start times */
void session_run_arm(struct session_run *r); /* its time-out */
void session_run_cut(struct session_run *r, enum exit_kind kind, const char *by);

static inline struct session_log *shell_log(const struct process *p)
{
    return (struct session_log *)(void *)p->rec.extra;
}

#endif
