/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_own.h - the session's insides, for the session*.c files. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_OWN_H
#define HF_ENGINE_SESSION_SESSION_OWN_H

#include "engine/engine_own.h"
#include "engine/session/session.h"

/* Ticks of /proc/PID/stat are this long; whoever starts later has a later one. */
#define SESSION_TICK_MS 10
/* How often a command that is to be given up is told so, at first. */
#define SESSION_CUT_MIN_MS 20
#define SESSION_CUT_MAX_MS 500
/* What is put in front of a command is never long at work; a file system may not answer. */
#define SESSION_AHEAD_MS 20000

/*
 * A command on its way: it waits in the session's queue, then it is the
 * session's current one. It ends when the shell reports it and everything is
 * read that was in the pipes by then, or when the shell has exited. The session owns it; who
 * asked for it has a handle until `done` was called or it has left.
 */
struct session_run {
    struct session *session;
    struct list link;     /* in session.queue while it waits */
    session_run_fn *done; /* NULL: who asked has gone */
    session_began_fn *began;
    void *arg;
    char *command, *name;
    void *input; /* NULL: none */
    size_t input_len;
    bool typed, echo;
    enum process_source source;
    int64_t timeout_ms, grace_ms;
    session_ahead_fn *ahead; /* NULL: nothing, or it was asked already */

    /* while it runs */
    struct viewer *viewer;
    struct headtail log, all, out, err;
    struct session_begin begin;
    struct timer *timer; /* the time-out, then the steps of giving up */
    uint64_t cut_at_ms, cut_wait_ms, cut_ticks;
    enum exit_kind cut_kind; /* EXIT_NONE: it is not to be given up */
    const char *cut_by;

    /* when it has ended */
    bool reported, exited;
    struct exit_record exit;
    uint64_t drain_to[2]; /* of process.read_bytes */
    char *cwd;
    bool shell_lost; /* it ran in a shell that was new, without its doing */
};

struct session {
    struct engine *engine;
    struct list link;
    char *id;
    struct session_spec spec; /* strings and variables are the session's own */
    struct spec_env *env;
    char *shell_name; /* that was found */
    uint32_t shell_number;
    int script; /* which one its shell runs: SESSION_SCRIPT_VERSION, or that of an older daemon */
    int64_t created_wall_ms;

    struct process *shell; /* referenced; its session field points back. NULL until the first */
    struct watch *side;
    bool side_skip; /* what comes belongs to a report that was too long, up to its NUL */
    struct exit_waiter exit_waiter;
    bool starting;   /* a shell is being started */
    bool shell_lost; /* it exited while no command ran, and nobody was told yet */

    struct session_run *current;
    struct list queue; /* struct session_run */
    size_t queued;
    struct task step; /* what is next, at the end of the turn */
    unsigned signals_open;
    struct timer *pause; /* until the next tick: see session_run.c */
    char job[24];        /* last background job that the shell told of */
    char *cwd;           /* the shell's; NULL: unknown */

    session_done_fn *created; /* who made it, until the first shell is there */
    void *created_arg;
    bool listed;

    /* the end */
    bool deleting;
    session_end_fn *deleted;
    void *deleted_arg;
    size_t ends_open, ended;
    struct survivors survivors;
};

#define DELETING_SESSION 2 /* record_head.deleting: the shell goes with its session */

/* session.c */
struct session *session_new(struct engine *e, const char *id);
struct session *session_lookup(struct engine *e, const char *id); /* hidden ones too */
void session_set_env(struct session *s, const struct spec_env *env, size_t count); /* copies */
void session_step_later(struct session *s);
void session_tell(struct session *s, const char *type, const struct session_run *r);

/* session_shell.c */
int shell_start(struct session *s, struct hf_error *err);
void shell_attach(struct session *s, struct process *p); /* becomes the session's */
void shell_detach(struct session *s);
int shell_redefine(struct session *s, struct hf_error *err); /* what the session is has changed */
bool shell_is_alive(const struct session *s);
void shell_read(struct session *s); /* what it has reported */
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

/* session_abort.c: giving a command up */
uint64_t session_ticks_now(void);            /* as process start times are counted */
void session_run_arm(struct session_run *r); /* its time-out */
void session_run_cut(struct session_run *r, enum exit_kind kind, const char *by);

static inline struct session_log *shell_log(const struct process *p)
{
    return (struct session_log *)(void *)p->rec.extra;
}

#endif
