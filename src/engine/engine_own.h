/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_own.h - the engine's and the process's insides, for the files of this folder
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
    struct keeper_channel *line;
    struct spin spin;
    int siding[2];          /* siding.h; -1: none */
    struct list processes;  /* struct process.link, newest first */
    struct list exited;     /* struct process.exited_link, oldest exit first */
    struct process **by_id; /* open hash table; see registry.c */
    size_t by_id_size;
    size_t running, starting, retained;
    uint64_t ring_bytes; /* of all rings in memory */
    uint64_t disk_bytes; /* of those in files */
    /* Made ahead, while a child is on its way, or left by processes that are forgotten. */
    struct record spares[RECORD_SPARES];
    size_t spare_count;
    bool spares_wanted;         /* one was taken since the timer was started */
    struct timer *spares_timer; /* lets go of all but one when nobody wants them */
    struct task spare_task;
    size_t viewers;
    struct buf filtered; /* a slice without queries, while it is sent; see viewer_screen.c */
    share_end_fn *share_end;
    void *share_end_arg;
    struct list sessions; /* struct session, newest first */
    size_t session_count;
    struct timer *retention;
    struct task trim;         /* more exited ones than are kept, whose exit is still to be told */
    int64_t retention_due_ms; /* wall clock */
    struct ports *ports;      /* NULL until somebody waits for one */
    uint32_t generation;
    bool has_cgroup, exact, stopping;
    bool retiring; /* another worker takes over; connections end, and nobody has left */
    /* engine_end_all */
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

/* Where a process is on its way out. */
enum end_phase { END_NONE, END_TERM, END_KILL, END_DONE };

/*
 * A process is alive in two senses: the child runs (until the keeper says it
 * was reaped), and its output is open (until end of file). The exit record
 * is made when the child is gone and its output has been read as far as EXIT_QUIET_MS
 * and EXIT_DRAIN_MAX_MS ask for; only then is the process "exited" for anyone outside.
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

    /* copies of the metadata half that is current, see process_meta.c */
    char *command, *cwd, *tag, *label, *session_id, *title, *metadata_json;
    char *idempotency_key, *request_hash;
    char *session_json;      /* a session's shell; NULL: none */
    struct session *session; /* whose shell it is now, which holds it; NULL: none */
    char **args;
    size_t arg_count;
    enum process_source source;
    bool helper; /* see spec.h */
    enum size_policy size_policy;
    int64_t retain_ms;

    /* output */
    int tty_fd, out_fd[2], in_fd; /* out_fd: stdout, stderr; in_fd: pipe or the tty */
    int side_fd;                  /* a session's shell: what it reports through; -1: none */
    uint64_t read_bytes[2];       /* from out_fd, by this worker */
    struct watch *tty_watch, *out_watch[2], *in_watch;
    bool held; /* not read because viewers must catch up */
    uint64_t held_since_ms;
    uint32_t hold_look_ms; /* then it is looked again whether more has arrived */
    bool pipe_grown[2];
    struct timer *stall;
    struct timer *flood;                  /* is it over? NULL: there was none yet */
    uint64_t flood_bytes, flood_since_ms; /* see flood.h */
    struct timer *tty_retry;              /* nobody has the terminal open, but somebody may again */
    unsigned tty_retry_ms;
    struct task pump; /* viewers that were attached in this turn */

    /* exit */
    bool reaped, draining;
    int status;
    bool oom;
    int64_t reaped_wall_ms;
    uint64_t drain_until_ms, drained_next;
    uint64_t drained_bytes[2]; /* since it was reaped; the second is standard error */
    uint8_t dry;               /* K_FD_* bits: found empty after the child was reaped */
    struct timer *drain;
    struct list exit_waiters;

    /* end */
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
    struct task input_room; /* somebody asked for room while there was some */
    bool in_blocked;        /* fd takes nothing now: waiting for it */
    bool forgotten;         /* the keeper was told, or will be */
    bool typed;             /* a key was written, and nothing was read since */
    bool in_closed;

    struct tty_activity *attention; /* terminals only */
    struct tracker tracker;         /* likewise; always on */
    struct screen *screen;          /* NULL: not built, or dropped */
    struct answers *answers;        /* to queries, while nobody watches; NULL: none yet */
    struct viewer *answerer;        /* whose terminal answers queries; NULL: ours */
    /* links, see share.c */
    struct list shares;
    struct timer *share_timer;

    /* viewers */
    struct list viewers;
    struct list *pump_next; /* where the walk over them goes on */
    bool pumping, pump_again;
    size_t viewer_count; /* those that are not internal */
    size_t guest_count;  /* and of them, guests */
    struct viewer *size_owner;
    char *size_owner_client;         /* of the one that left last */
    uint64_t size_turn, size_called; /* changes of windows and calls are numbered */
    uint64_t size_ms;                /* the loop's clock, of the last change; 0: none */
    uint64_t size_leave_ms;          /* until then who left may come back */
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
    uint64_t run; /* and, where whole runs are wanted, the next one */
    uint64_t replay_until;
    uint64_t end; /* it came after the exit: what there was then; else 0 */
    uint64_t acked;
    struct receipt receipt; /* where the connection can tell; see viewer_hold.c */
    uint64_t from;          /* where it began */
    uint64_t moved_ms;      /* the loop's clock, when it last took something */
    char *client;           /* its key (client_id.h); NULL: none */
    char *client_id;        /* as it was given */
    char *name;
    bool owner; /* came with the role `own`, whatever it asked for here */
    uint16_t rows, cols;
    uint64_t sized; /* turn of its last change */
    int8_t only_stream;
    size_t slice_bytes;
    enum viewer_role role;
    int64_t since_ms; /* wall clock */
    bool internal, lossless, patient, never_holds, guest, heavy, ack, read_only, terminal, runs;
    bool replayed, exited, dead, pumping, stalled, leaving;
    bool resumes;        /* it asked for what follows an offset, and no claim was found for it */
    bool open_char_over; /* the rest of a character was waited for long enough */
    struct timer *open_char; /* NULL: nobody ever waited for one */
    size_t pumped;           /* bytes of this pump, and some for each step */
    struct task work;        /* goes on pumping when there is time again */

    /* see viewer_screen.c */
    uint64_t quiet_until;        /* queries in front of this are not for it */
    struct query_filter *filter; /* NULL: nothing was filtered yet */
    bool snapshot_due;
    uint64_t snapshot_until; /* the screen has to be as far as this for it; 0: not asked yet */
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
void retention_trim(struct engine *e); /* to as many as are kept */
void spawn_spare_init(struct engine *e);
void spawn_spare_fini(struct engine *e);
void spawn_spare_offer(struct engine *e, struct record *r); /* takes it in any case */
void retention_change(struct process *p);                   /* its retain_ms is another */
/* Drops the oldest exited records until `need` more bytes of ring fit, in memory or on disk;
 * false if that is not possible. */
bool retention_make_room(struct engine *e, uint64_t need, bool on_disk);

/* process.c */
struct process *process_new(struct engine *e);
void process_touch(struct process *p);   /* activity */
void process_updated(struct process *p); /* event */

/* process_meta.c */
int meta_store(struct process *p, struct hf_error *err);
int meta_load(struct process *p);
void meta_free(struct process *p);

/* process_output.c */
void output_start(struct process *p);  /* watches what is open */
void output_update(struct process *p); /* hold or go on, by the viewers' cursors */
bool output_is_open(const struct process *p);
bool output_is_dry(const struct process *p);
void output_read_rest(struct process *p); /* all that is there now, until EAGAIN, end or hold */
void output_close(struct process *p);
void output_interest(struct process *p); /* in_blocked changed */

/* process_exit.c */
void exit_on_reaped(struct process *p, int status, bool oom, int64_t at_wall_ms);
void exit_check(struct process *p); /* after output moved or ended */
void exit_tell(struct process *p);
void exit_run_waiters(struct process *p);
void exit_lost(struct process *p); /* never invented: the kernel's answer is not to be had */

/* kill_tree.c */
void kill_tree_on_exit(struct process *p);
bool kill_tree_is_running(const struct process *p); /* its tree is being ended */
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
/* All of it, into a queue that nobody else writes to; false: no room. */
bool input_put(struct process *p, const void *bytes, size_t len);
size_t input_room(const struct process *p);         /* bytes that others than the daemon may put */
uint64_t input_put_offset(const struct process *p); /* where the next byte put will be */
void input_start(struct process *p);
void input_flush(struct process *p);
void input_close(struct process *p);
void input_wake(struct process *p);
void input_recover(struct process *p);

/* viewer.c */
#define VIEWER_LABEL_BYTES 130
/* How a client is called towards this viewer; reader NULL: towards everybody. */
const char *viewer_client_for(const struct process *p, const char *key, const struct viewer *reader,
                              char label[VIEWER_LABEL_BYTES]);
size_t viewers_members(const struct process *p); /* those that count: neither internal nor guests */
void viewers_pump(struct process *p);
void viewers_notice(struct process *p, const struct viewer_notice *n);
void viewers_drop(struct process *p); /* the process is deleted */
void viewers_mark_stalled(struct process *p, uint64_t held_ms);
/* What must not be overwritten yet; the end of the output if nothing. */
uint64_t viewers_hold(struct process *p);

/* viewer_screen.c: what a viewer with a terminal gets beside plain bytes. */
void viewer_screen_attach(struct viewer *v, const struct viewer_options *o);
void viewer_screen_free(struct viewer *v);
/* Something of a snapshot is due: 1 sent, 0 later, -1 nothing of the kind. */
int viewer_screen_step(struct viewer *v);
bool viewer_has_time(struct viewer *v); /* for heavy work; false: it pumps again when there is */
/* How much of the next bytes may go in one piece, and the bytes themselves without the
 * queries that are not for this viewer. */
size_t viewer_screen_most(const struct viewer *v);
void viewer_screen_filter(struct viewer *v, struct slice *s);
void viewer_answerer_left(struct process *p, const struct viewer *v);
void viewer_answerer_typed(struct viewer *v);

/* screen.c */
void screen_terminal_fed(struct process *p, size_t len); /* so much was just read of it */
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
void tty_activity_activity(struct process *p); /* anything else that may change what is known */
void tty_activity_stop(struct process *p);
void tty_activity_free(struct process *p);
const char *tty_activity_cwd(const struct process *p); /* where it stands now, or NULL */

/* ports.c */
void ports_free(struct engine *e);
/* share.c */
void share_arm(struct process *p);
void share_free_all(struct process *p);
void share_write(const struct process *p, struct json_out *o); /* for the metadata */
void share_load(struct process *p, const json_t *links);       /* NULL: none */
/* viewer_hold.c */
/* A receipt is asked for after so much of the ring: the rest of it is what may be on its way meanwhile. */
#define AWAIT_RECEIPT_PART 4
#define AWAIT_UNREAD_PART                                                                          \
    4 /* and so much behind it is kept for a peer whose kernel alone gives receipts */
uint64_t viewer_hold_has(const struct viewer *v);   /* all in front of this has arrived */
uint64_t viewer_hold_needs(const struct viewer *v); /* the first byte that it may still ask for */
void viewer_hold_sent(struct viewer *v); /* something was sent to it: a receipt may be due */
/* Looks what has arrived at its viewers. `ask`: it waits for that, so a receipt is due for all. */
void viewer_hold_confirm(struct process *p, bool ask);
void viewer_hold_note(struct process *p); /* what they are owed has changed, or who they are */
uint64_t viewer_hold_hold(const struct process *p,
                          uint64_t hold);               /* lowered if a client is awaited */
uint64_t viewer_hold_next_end(const struct process *p); /* of a claim; 0: there is none */
void viewer_hold_first(struct process *p);              /* it has just been started */
void viewer_hold_attached(struct viewer *v,
                          bool resumes); /* it asked for what follows its offset */
void viewer_hold_cut(struct viewer *v);  /* it is no longer in the list */
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
void size_settle(struct process *p); /* something changed: now or soon */
void size_on_detach(struct viewer *v);
void size_fini(struct process *p);

#endif
