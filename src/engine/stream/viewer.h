/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer.h - someone who watches: a cursor into the journal and a way to send
 *
 * The engine pushes: after each burst of output, and whenever viewer_pump() is
 * called because the transport has room again, it calls the ops below in order:
 * gap (if bytes were missed), bytes, replay_done once, and exited after the
 * last byte. Nothing is queued per viewer; one that is not ready is passed over
 * and catches up later from the ring. What was there before a viewer came, or came while it was not
 * ready, is heavy work (base/work.h): it is pushed as far as this turn has time, and goes on in the next.
 *
 * Pace: the process waits for the readers that keep up (for what they have got, where their connection can tell), and for lossless ones until it is to be
 * dropped or the daemon ends (those who are `patient`: for VIEWER_STALL_MS). One that
 * takes nothing for VIEWER_PATIENCE_MS while the ring is full for its sake stops
 * counting until it has caught up, so the slow hold nobody; the fastest of
 * all gets VIEWER_STALL_MS, so that somebody who is there misses nothing.
 *
 * Who only watches is no reader (`never_holds`), however the process is delivered: it gets all as long as
 * it keeps up by itself, and else a gap. A `guest` came with the role `watch` or by a link: besides,
 * whether it is there or not means nothing for the process. Owned by the connection. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_VIEWER_H
#define HF_ENGINE_STREAM_VIEWER_H

#include "engine/process.h"

struct viewer;

#define VIEWER_PATIENCE_MS 1000
#define VIEWER_STALL_MS 10000
#define VIEWER_ACK_WINDOW_BYTES (512 * 1024)
#define VIEWER_OPEN_CHAR_MS 1000 /* then half a character is given as it is */

/* What one may do, as the transport decided. */
enum viewer_role { VIEWER_WATCH = 1, VIEWER_TYPE, VIEWER_OWN };
const char *viewer_role_name(enum viewer_role r); /* "watch" */

/* SINCE_SCREEN, and SINCE_DEFAULT of a terminal: a snapshot, then what follows. Without the
 * ops for snapshots it is the last 64 KiB. */
enum since_kind { SINCE_DEFAULT, SINCE_OFFSET, SINCE_LAST, SINCE_NOW, SINCE_SCREEN };

struct viewer_options {
    enum since_kind since;
    uint64_t offset;  /* SINCE_OFFSET: first byte; SINCE_LAST: how many bytes */
    bool internal;    /* run, wait: not counted or listed, does not matter for on_detach */
    bool lossless;    /* holds the process (also when the process was made so) */
    bool patient;     /* and lossless: until it has taken nothing for VIEWER_STALL_MS */
    bool never_holds; /* output never waits for it, lossless or not: it gets a gap */
    bool heavy;       /* what it does with bytes takes long: new output waits for time, too */
    bool guest;       /* came with the role `watch` or by a link; implies never_holds */
    bool ack;         /* sends at most VIEWER_ACK_WINDOW_BYTES beyond viewer_ack() */
    bool read_only;
    enum viewer_role role; /* 0: VIEWER_WATCH */
    const char *client;    /* stable id, or NULL; it belongs to the principal (client_id.h) */
    const char *principal; /* who brings it; NULL: the owner */
    const char *name;      /* as it called itself, else its address; for the list */
    int64_t rows, cols;    /* this viewer's window; 0: none */
    int only_stream;       /* -1: all; else enum stream: others are skipped in silence */
    size_t slice_bytes; /* at most so many at once, for a platform's frames; 0: as many as usual */
    /*
     * Each slice is a whole run of the journal, with its number, and ends with a whole character
     * unless the rest of it does not come for a while. `offset` of SINCE_OFFSET is a number then,
     * one that is held.
     */
    bool runs;
    /*
     * A terminal shows the bytes and answers the queries in them. Those in what is replayed are
     * blanked, and new ones too unless it is this terminal that answers (term_query.h). Who may type is
     * taken for one, unless it says that it wants the bytes as they are.
     */
    bool terminal, verbatim;
};

enum notice_kind {
    NOTICE_SIZE,
    NOTICE_VIEWERS,
    NOTICE_TITLE,
    NOTICE_DELETED,
    NOTICE_LEASE,         /* by: what happened to it */
    NOTICE_LEASE_REQUEST, /* to its holder; by: who would like it */
};
struct viewer_notice {
    enum notice_kind kind;
    uint16_t rows, cols;
    const char *by;
    const struct viewer *from; /* engine's own: `by` is how each viewer may call this one */
};

struct viewer_ops {
    /* Is there room? False: the viewer is passed over until viewer_pump(). */
    bool (*ready)(void *arg);
    /* Send these bytes (all of them: what does not fit is yours to hold). */
    void (*bytes)(void *arg, const struct slice *s);
    /*
     * How many bytes were sent so far, in the connection's own count, and how many of them its peer has certainly
     * got. `sent` also asks the peer to confirm them, where the protocol has a way; call
     * viewer_pump() when that comes. Both NULL: what was sent is taken for received.
     */
    uint64_t (*sent)(void *arg);
    uint64_t (*confirmed)(void *arg);
    bool by_kernel; /* it is the peer's kernel that confirms: its program may have read less */
    void (*gap)(void *arg, uint64_t from, uint64_t to); /* [from, to) is gone */
    void (*replay_done)(void *arg, uint64_t offset);    /* NULL: not wanted */
    /* What follows a snapshot of `len` bytes is the output from this offset on. After a gap
     * too. Both NULL: not wanted. */
    void (*snapshot)(void *arg, uint64_t offset, size_t len);
    void (*snapshot_bytes)(void *arg, const char *bytes, size_t len);
    void (*exited)(void *arg, const struct exit_record *x);   /* after the last byte; once */
    void (*notice)(void *arg, const struct viewer_notice *n); /* NULL: not wanted */
};

/* For the daemon itself: every byte from an offset on, for which the process waits. */
static inline struct viewer_options viewer_own(uint64_t from)
{
    return (struct viewer_options){
        .since = SINCE_OFFSET,
        .offset = from,
        .internal = true,
        .lossless = true,
        .read_only = true,
        .only_stream = -1,
    };
}

/* The same on behalf of a client, who may stop reading: after VIEWER_STALL_MS it is waited for no more. */
static inline struct viewer_options viewer_own_client(uint64_t from)
{
    struct viewer_options o = viewer_own(from);

    o.patient = true;
    return o;
}

/* 0, or too_many_viewers, or range_not_satisfiable for an offset beyond the output. No op is
 * called before viewer_attach() has returned; the first pump comes in the same turn. */
int viewer_attach(struct process *p, const struct viewer_options *o, const struct viewer_ops *ops,
                  void *arg, struct viewer **out, struct hf_error *err);
void viewer_detach(struct viewer *v); /* NULL is fine; safe inside its own ops */
/* It is about to go for good, so output need not wait for its return. One that is detached without this was
 * cut, and may claim what it has missed for LIMIT_CLAIM_MS. */
void viewer_leave(struct viewer *v);
void viewer_pump(struct viewer *v); /* the transport has room again */
void viewer_ack(struct viewer *v, uint64_t offset);
int viewer_resize(struct viewer *v, int64_t rows, int64_t cols,
                  struct hf_error *err);        /* through the size policy */
uint64_t viewer_offset(const struct viewer *v); /* next byte it will get */
uint64_t viewer_replay_until(const struct viewer *v);
struct process *viewer_process(const struct viewer *v);
bool viewer_has_client(const struct viewer *v, const char *principal, const char *client);
/* For hello and `viewers`: writes [{"client","name","role","read_only","rows","cols","since"}…] as
 * `reader` may see it: client ids of other grants are replaced by what client_shown() gives. */
void process_write_viewers(struct process *p, const struct viewer *reader, struct json_out *o);
size_t process_viewer_count(const struct process *p);

#endif
