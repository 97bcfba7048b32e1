/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_own.h - private parts of the engine and the process, for the files of this folder
 *
 * Layer: engine.
 */
#ifndef HF_ENGINE_ENGINE_OWN_H
#define HF_ENGINE_ENGINE_OWN_H

#include "base/list.h"
#include "base/loop.h"
#include "base/spin.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/journal/journal_own.h"
#include "engine/journal/record.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/lease.h"
#include "engine/stream/receipt.h"
#include "engine/stream/share.h"
#include "engine/stream/viewer.h"
#include "engine/worker_shared.h"
#include "term/tracker.h"

#define PROCESS_ID_LEN 25 /* "proc_" and 20 characters */

struct events {
    struct shared *state; /* borrowed */
    struct loop *loop;
    struct list subscribers;
    struct task wake;
};

struct engine {
    struct loop *loop;
    struct engine_options options;
    struct engine_hooks hooks;
    struct shared state;
    struct events events;
    struct keeper_channel *channel;
    struct spin spin;
    int siding[2];          /* siding.h; -1: none */
    struct list processes;  /* struct process.link, newest first */
    struct list exited;     /* struct process.exited_link, oldest exit first */
    struct process **by_id; /* open hash table; see registry.c */
    size_t by_id_size;
    size_t running, starting, retained;
    uint64_t ring_bytes; /* all rings in memory */
    uint64_t disk_bytes; /* all rings in files */
    /* Created ahead while a child is being started, or recycled from forgotten processes. */
    struct record spares[RECORD_SPARES];
    size_t spare_count;
    bool spares_wanted;         /* one was used since the timer was started */
    struct timer *spares_timer; /* frees all but one when none is used */
    struct task spare_task;
    size_t viewers;
    struct buf filtered; /* a slice without queries, while it is sent; see viewer_screen.c */
    share_end_fn *share_end;
    void *share_end_arg;
    struct list sessions; /* struct session, newest first */
    size_t session_count;
    struct timer *retention;
    struct task trim; /* removes exited processes beyond the limit, once their exits are reported */
    int64_t retention_due_ms; /* wall clock */
    struct ports *ports;      /* NULL until a port is watched */
    uint32_t generation;
    bool has_cgroup, exact, stopping;
    /* another worker takes over; connections close, but no viewer counts as having left */
    bool retiring;
    /* engine_terminate_all */
    size_t ends_open;
    struct task ended;
};

/* See lease.h. Held without a holder: its client may still come back. */
struct lease {
    bool held;
    struct viewer *holder;
    char *client, *name;
    enum viewer_role role;
    int64_t since_ms;
    struct timer *grace;
};

/* How far the termination of a process has come. */
enum end_phase { END_NONE, END_TERM, END_KILL, END_DONE };

/*
 * A process is alive in two senses: the child runs (until the keeper reports it as reaped), and its
 * output is open (until end of file). The exit record is made when the child has exited and its
 * output was read as far as EXIT_QUIET_MS and EXIT_DRAIN_MAX_MS require. Only then is the process
 * "exited" for clients.
 */
struct process {
    struct engine *engine;
    struct list link, exited_link;
    struct process *hash_next;
    unsigned refs;
    bool in_table;
    struct record rec;
    struct journal journal;
    uint32_t entry; /* the keeper's number; 0 while starting */
    pid_t pid;

    /* copies of the current metadata half, see process_meta.c */
    char *command, *cwd, *tag, *label, *session_id, *title, *metadata_json;
    char *idempotency_key, *request_hash;
    char *session_json;      /* set for a session's shell; NULL: none */
    struct session *session; /* the session that holds it as its shell; NULL: none */
    char **args;
    size_t arg_count;
    enum process_source source;
    bool helper; /* see spec.h */
    enum size_policy size_policy;
    int64_t retain_ms;

    /* output */
    int tty_fd, out_fd[2], in_fd; /* out_fd: stdout, stderr; in_fd: pipe or the tty */
    int side_fd;                  /* a session's shell sends its reports here; -1: none */
    uint64_t read_bytes[2];       /* from out_fd, by this worker */
    struct watch *tty_watch, *out_watch[2], *in_watch;
    bool held; /* reading is paused so that viewers can catch up */
    uint64_t held_since_ms;
    uint32_t hold_poll_ms; /* delay until the next check whether viewers received more */
    bool pipe_grown[2];
    struct timer *stall;
    struct timer *flood;                  /* detects the end of a flood; NULL: none so far */
    uint64_t flood_bytes, flood_since_ms; /* see flood.h */
    struct timer *tty_retry; /* no process has the terminal open, but one may open it again */
    unsigned tty_retry_ms;
    struct task pump; /* for viewers attached in this turn */

    /* exit */
    bool reaped, draining;
    int status;
    bool oom;
    int64_t reaped_wall_ms;
    uint64_t drain_until_ms, drained_next;
    uint64_t drained_bytes[2]; /* since it was reaped; [1] is standard error */
    uint8_t dry;               /* K_FD_* bits: found empty after the child was reaped */
    struct timer *drain;
    struct list exit_waiters;

    /* termination */
    enum end_phase end_phase;
    struct list end_waiters;
    struct timer *end_timer;
    uint64_t end_verify_until_ms, end_kill_at_ms;
    uint32_t end_wait_ms;
    bool survey_open;

    /* time-outs: one timer for the next of timeout, idle and detach */
    struct timer *deadline;
    uint64_t active_ms; /* monotonic, last input or output */

    /* input */
    struct list input_waiters;
    struct task input_room; /* deferred notice for a waiter that found room at once */
    bool in_blocked;        /* the fd is full: waiting until it is writable */
    bool forgotten;         /* the keeper was notified, or will be */
    bool typed;             /* a key was written, and nothing has been read since */
    bool in_closed;

    struct tty_activity *attention; /* terminals only */
    struct tracker tracker;         /* likewise; always on */
    struct screen *screen;          /* NULL: not built, or dropped */
    struct query_replies
        *answers;            /* replies to queries while no viewer is attached; NULL: none yet */
    struct viewer *answerer; /* the viewer whose terminal replies to queries; NULL: we do */
    /* links, see share.c */
    struct list shares;
    struct timer *share_timer;

    /* viewers */
    struct list viewers;
    struct list *pump_next; /* where the walk over them resumes */
    bool pumping, pump_again;
    size_t viewer_count; /* without internal ones */
    size_t guest_count;  /* how many of them are guests */
    struct viewer *size_owner;
    char *size_owner_client;         /* of the owner that left last */
    uint64_t size_turn, size_called; /* number of the last size change, and of the last by a call */
    uint64_t size_ms;                /* loop clock of the last change; 0: none */
    uint64_t size_leave_ms;          /* until then, an owner that left may come back */
    struct timer *size_timer;
    struct lease lease;
    bool seen_viewer;
};

struct viewer {
    struct process *process;
    struct list link;
    const struct viewer_ops *ops;
    void *arg;
    uint64_t at;  /* the cursor: next byte to send */
    uint64_t run; /* the next run, for viewers that want whole runs */
    uint64_t replay_until;
    uint64_t end; /* attached after the exit: where the output ended then; else 0 */
    uint64_t acked;
    struct receipt receipt; /* for connections that confirm delivery; see viewer_hold.c */
    uint64_t from;          /* where it started */
    uint64_t moved_ms;      /* loop clock when it last accepted data */
    char *client;           /* its key (client_id.h); NULL: none */
    char *client_id;        /* as the client sent it */
    char *name;
    bool owner; /* has the role `own`, whatever role it requested here */
    uint16_t rows, cols;
    uint64_t sized; /* turn of its last change */
    int8_t only_stream;
    size_t slice_bytes;
    enum viewer_role role;
    int64_t since_ms; /* wall clock */
    bool internal, lossless, patient, never_holds, guest, heavy, ack, read_only, terminal, runs;
    bool replayed, exited, dead, pumping, stalled, leaving;
    bool resumes;            /* resumes from an offset, and no claim was found for it */
    bool open_char_over;     /* waited long enough for the rest of a character */
    struct timer *open_char; /* NULL: never had to wait for one */
    size_t pumped;           /* bytes sent in this pump, plus a charge for each step */
    struct task work;        /* resumes pumping when there is time again */

    /* see viewer_screen.c */
    uint64_t quiet_until;        /* queries before this offset are not for it */
    struct query_filter *filter; /* NULL: nothing filtered yet */
    bool snapshot_due;
    uint64_t snapshot_until; /* the screen must reach this offset first; 0: not requested yet */
    struct buf snapshot;     /* being sent */
};

/* registry.c */
void registry_add(struct engine *e, struct process *p);
void registry_remove(struct engine *e, struct process *p);
struct process *registry_find(struct engine *e, const char *id);
struct process *registry_find_tag(struct engine *e, const char *tag, bool living_only);
/* retention.c */
void retention_add(struct engine *e, struct process *p);
void retention_run(struct engine *e);
void retention_trim(struct engine *e); /* down to the retention limit */
void spawn_spare_init(struct engine *e);
void spawn_spare_fini(struct engine *e);
void spawn_spare_offer(struct engine *e, struct record *r); /* always takes ownership */
void retention_change(struct process *p);                   /* its retain_ms has changed */
/* Drops the oldest exited records until `need` more bytes of ring fit, in memory or on disk. False
 * if that is not possible. */
bool retention_make_room(struct engine *e, uint64_t need, bool on_disk);

/* process.c */
struct process *process_new(struct engine *e);
void process_touch(struct process *p);   /* records activity */
void process_updated(struct process *p); /* appends the event */

/* process_meta.c */
int meta_store(struct process *p, struct hf_error *err);
int meta_load(struct process *p);
void meta_free(struct process *p);

/* process_output.c */
void output_start(struct process *p);  /* watches the open descriptors */
void output_update(struct process *p); /* pauses or resumes reading, by the viewers' cursors */
bool output_is_open(const struct process *p);
bool output_is_dry(const struct process *p);
void output_read_rest(struct process *p); /* reads until EAGAIN, end of file or a pause */
void output_close(struct process *p);
void output_interest(struct process *p); /* in_blocked changed */

/* process_exit.c */
void exit_on_reaped(struct process *p, int status, bool oom, int64_t at_wall_ms);
void exit_check(struct process *p); /* after output was read or ended */
void exit_report(struct process *p);
void exit_run_waiters(struct process *p);
void exit_lost(struct process *p); /* the exit status cannot be obtained; we never invent one */

/* kill_tree.c */
void kill_tree_on_exit(struct process *p);
bool kill_tree_is_running(const struct process *p); /* its tree is being terminated */
void kill_tree_free(struct process *p);
void kill_deadline_arm(struct process *p);
void kill_deadline_on_detach(struct process *p);
void kill_deadline_on_attach(struct process *p);
void kill_deadline_on_crash(struct process *p);

/* session.c */
struct session;
void sessions_adopt(struct engine *e); /* from the shells that the last worker left */
void sessions_free(struct engine *e);

/* process_input.c */
/* Puts all bytes into a queue that no one else writes to. False: no room. */
bool input_put(struct process *p, const void *bytes, size_t len);
/* room for client input; the daemon's own input may fill the queue further */
size_t input_room(const struct process *p);
uint64_t input_put_offset(const struct process *p); /* offset of the next byte put */
void input_start(struct process *p);
void input_flush(struct process *p);
void input_close(struct process *p);
void input_wake(struct process *p);
void input_recover(struct process *p);

/* viewer.c */
#define VIEWER_LABEL_BYTES 130
/* The name under which this viewer sees a client; reader NULL: the name for everyone. */
const char *viewer_client_for(const struct process *p, const char *key, const struct viewer *reader,
                              char label[VIEWER_LABEL_BYTES]);
size_t viewers_members(const struct process *p); /* neither internal nor guests */
void viewers_pump(struct process *p);
void viewers_notice(struct process *p, const struct viewer_notice *n);
void viewers_drop(struct process *p); /* the process is being deleted */
void viewers_mark_stalled(struct process *p, uint64_t held_ms);
/* The lowest offset that must not be overwritten yet; the end of the output if none. */
uint64_t viewers_hold(struct process *p);

/* viewer_screen.c: what a viewer with a terminal receives besides plain bytes. */
void viewer_screen_attach(struct viewer *v, const struct viewer_options *o);
void viewer_screen_free(struct viewer *v);
/* Sends the next part of a snapshot: 1 sent, 0 later, -1 no snapshot is due. */
int viewer_screen_step(struct viewer *v);
bool viewer_has_time(struct viewer *v); /* for heavy work; false: it pumps again later */
/* How many of the next bytes may be sent in one piece, and those bytes without the queries that are
 * not for this viewer. */
size_t viewer_screen_most(const struct viewer *v);
void viewer_screen_filter(struct viewer *v, struct slice *s);
void viewer_answerer_left(struct process *p, const struct viewer *v);
void viewer_answerer_typed(struct viewer *v);

/* screen.c */
void screen_terminal_fed(struct process *p, size_t len); /* len bytes were just read from it */
void screen_terminal_resized(struct process *p);
void screen_terminal_recover(struct process *p);
void screen_free(struct process *p);

/* query_reply.c */
void query_reply_request(struct process *p, const struct query *q, const struct modes *m);
void query_reply_free(struct process *p);

/* tty_activity.c */
void tty_activity_start(struct process *p);
void tty_activity_output(struct process *p);   /* the journal has grown */
void tty_activity_input(struct process *p);    /* something was typed */
void tty_activity_activity(struct process *p); /* any other change that may affect the result */
void tty_activity_stop(struct process *p);
void tty_activity_free(struct process *p);
const char *tty_activity_cwd(const struct process *p); /* its current directory, or NULL */

/* ports.c */
void ports_free(struct engine *e);
/* share.c */
void share_arm(struct process *p);
void share_free_all(struct process *p);
void share_write(const struct process *p, struct json_out *o); /* for the metadata */
void share_load(struct process *p, const json_t *links);       /* NULL: none */
/* viewer_hold.c */
/* Request a receipt after this fraction of the ring is sent; the rest covers what is in flight
 * until the receipt arrives. */
#define VIEWER_HOLD_RECEIPT_PART 4
#define VIEWER_HOLD_UNREAD_PART                                                                    \
    4 /* ring / this is kept for a peer of which only the kernel confirms receipt */
uint64_t viewer_hold_has(const struct viewer *v);   /* everything before this offset has arrived */
uint64_t viewer_hold_needs(const struct viewer *v); /* the first byte that it may still request */
void viewer_hold_sent(struct viewer *v); /* bytes were sent to it: a receipt may be due */
/* Checks what has arrived at its viewers. `ask`: the caller waits for that, so request a receipt
 * from all of them. */
void viewer_hold_confirm(struct process *p, bool ask);
void viewer_hold_note(struct process *p); /* the viewers, or what they are owed, have changed */
uint64_t viewer_hold_hold(const struct process *p,
                          uint64_t hold); /* lowered if a client is awaited */
/* when the next claim expires; 0: no claims */
uint64_t viewer_hold_next_end(const struct process *p);
void viewer_hold_first(struct process *p);                 /* the process was just started */
void viewer_hold_attached(struct viewer *v, bool resumes); /* it resumes after its offset */
void viewer_hold_cut(struct viewer *v);                    /* it is no longer in the list */
void viewer_hold_on_crash(struct process *p);

/* lease.c */
int lease_check(const struct process *p, const struct viewer *v, struct hf_error *err);
void lease_on_attach(struct viewer *v);
void lease_on_detach(struct viewer *v);
void lease_fini(struct process *p);
void lease_write(const struct process *p, struct json_out *o); /* for the metadata */
void lease_load(struct process *p, const json_t *o);           /* NULL: none */

/* process_size.c */
void size_viewer(struct viewer *v, uint16_t rows, uint16_t cols);
void size_settle(struct process *p); /* something changed: resize now or soon */
void size_on_detach(struct viewer *v);
void size_fini(struct process *p);

#endif
