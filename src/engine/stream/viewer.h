/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer.h - one reader of a process's output: a cursor into the journal and a way to send
 *
 * The engine pushes. After each burst of output, and whenever the transport has room again and
 * calls viewer_pump(), the engine calls the ops below in order: gap (if bytes were missed), bytes,
 * replay_done once, and exited after the last byte. Nothing is queued per viewer: a viewer that is
 * not ready is skipped and catches up later from the ring. Output from before the viewer attached,
 * or from while it was not ready, is heavy work (base/work.h): each turn pushes as much of it as it
 * has time for, and the next turn continues.
 *
 * Backpressure: the process waits for readers that keep up, measured by what they have received
 * where their connection reports that. It waits for lossless readers until the process is to be
 * deleted or the daemon shuts down; for `patient` ones, VIEWER_STALL_MS. A reader that accepts
 * nothing for VIEWER_PATIENCE_MS while it keeps the ring full stops counting until it has caught
 * up, so slow readers delay nobody. The fastest of all gets VIEWER_STALL_MS, so that at least one
 * live reader misses nothing.
 *
 * A viewer that only watches (`never_holds`) exerts no backpressure, whatever the process's
 * delivery mode: it gets everything while it keeps up, and a gap otherwise. A `guest` attached with
 * the role `watch` or by a link; in addition, its presence does not affect the process's lifetime.
 * Owned by the connection. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_VIEWER_H
#define HF_ENGINE_STREAM_VIEWER_H

#include "engine/process.h"

struct viewer;

#define VIEWER_PATIENCE_MS 1000
#define VIEWER_STALL_MS 10000
#define VIEWER_ACK_WINDOW_BYTES (512 * 1024)
#define VIEWER_OPEN_CHAR_MS 1000 /* then an incomplete character is delivered as it is */

/* What a viewer may do, as decided by the transport. */
enum viewer_role { VIEWER_WATCH = 1, VIEWER_TYPE, VIEWER_OWN };
const char *viewer_role_name(enum viewer_role r); /* "watch" */

/* SINCE_SCREEN, and SINCE_DEFAULT of a terminal: a snapshot, then what follows. Without the
 * ops for snapshots it is the last 64 KiB. */
enum since_kind { SINCE_DEFAULT, SINCE_OFFSET, SINCE_LAST, SINCE_NOW, SINCE_SCREEN };

struct viewer_options {
    enum since_kind since;
    uint64_t offset;  /* SINCE_OFFSET: first byte; SINCE_LAST: number of bytes */
    bool internal;    /* run, wait: not counted or listed, ignored by on_detach */
    bool lossless;    /* the process waits for it (also set by the process's own delivery mode) */
    bool patient;     /* with lossless: until it has accepted nothing for VIEWER_STALL_MS */
    bool never_holds; /* output never waits for it, lossless or not: it gets a gap instead */
    bool heavy;       /* processing its bytes is slow: new output counts as heavy work, too */
    bool guest;       /* attached with the role `watch` or by a link; implies never_holds */
    bool ack;         /* sends at most VIEWER_ACK_WINDOW_BYTES beyond viewer_ack() */
    bool read_only;
    enum viewer_role role; /* 0: VIEWER_WATCH */
    const char *client;    /* stable id, or NULL; it belongs to the principal (client_id.h) */
    const char *principal; /* the grant it belongs to; NULL: the owner */
    const char *name;      /* the name it chose, else its address; for the list */
    int64_t rows, cols;    /* this viewer's window; 0: none */
    int only_stream;       /* -1: all; else enum stream: the others are skipped silently */
    size_t slice_bytes;    /* largest slice, for a platform's frames; 0: the default */
    /*
     * Each slice is a whole, numbered run of the journal. It ends with a complete character, unless
     * the rest of that character does not arrive for a while. `offset` of SINCE_OFFSET is then the
     * number of a run that is still in the journal.
     */
    bool runs;
    /*
     * A terminal displays the bytes and replies to the queries in them. Queries in replayed output
     * are blanked, and so are new ones unless this terminal is the one that replies (term_query.h).
     * A viewer that may type counts as a terminal unless it sets `verbatim` to get the raw bytes.
     */
    bool terminal, verbatim;
};

enum notice_kind {
    NOTICE_SIZE,
    NOTICE_VIEWERS,
    NOTICE_TITLE,
    NOTICE_DELETED,
    NOTICE_LEASE,         /* by: what happened to it */
    NOTICE_LEASE_REQUEST, /* to its holder; by: the viewer that requests it */
};
struct viewer_notice {
    enum notice_kind kind;
    uint16_t rows, cols;
    const char *by;
    const struct viewer *from; /* engine internal: `by` is set per viewer to the name it may see */
};

struct viewer_ops {
    /* Is there room? False: the viewer is skipped until viewer_pump(). NULL: there always is. */
    bool (*ready)(void *arg);
    /* Send these bytes. The callee must buffer whatever does not fit. */
    void (*bytes)(void *arg, const struct slice *s);
    /*
     * The number of bytes sent so far, in the connection's own count, and how many of them the peer
     * has certainly received. `sent` also requests a confirmation from the peer where the protocol
     * can; call viewer_pump() when it arrives. Both NULL: bytes count as received when sent.
     */
    uint64_t (*sent)(void *arg);
    uint64_t (*confirmed)(void *arg);
    bool by_kernel; /* the peer's kernel confirms: its program may have read less */
    void (*gap)(void *arg, uint64_t from, uint64_t to); /* [from, to) was overwritten */
    void (*replay_done)(void *arg, uint64_t offset);    /* NULL: not wanted */
    /* After a snapshot of `len` bytes, output continues at this offset. Also sent after a gap.
     * Both NULL: not wanted. */
    void (*snapshot)(void *arg, uint64_t offset, size_t len);
    void (*snapshot_bytes)(void *arg, const char *bytes, size_t len);
    void (*exited)(void *arg, const struct exit_record *x);   /* after the last byte; once */
    void (*notice)(void *arg, const struct viewer_notice *n); /* NULL: not wanted */
};

/* For the daemon itself: every byte from an offset on. The process waits for this reader. */
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

/* The same on behalf of a client that may stop reading: the process waits at most
 * VIEWER_STALL_MS. */
static inline struct viewer_options viewer_own_client(uint64_t from)
{
    struct viewer_options o = viewer_own(from);

    o.patient = true;
    return o;
}

/* 0, too_many_viewers, or range_not_satisfiable for an offset beyond the output. No op is called
 * before viewer_attach() returns; the first pump follows in the same turn. */
int viewer_attach(struct process *p, const struct viewer_options *o, const struct viewer_ops *ops,
                  void *arg, struct viewer **out, struct hf_error *err);
void viewer_detach(struct viewer *v); /* NULL is fine; safe inside its own ops */
/*
 * The viewer is about to disconnect for good, so output need not wait for its return. A viewer that
 * is detached without this call was cut off and may claim what it missed for LIMIT_CLAIM_MS.
 */
void viewer_leave(struct viewer *v);
void viewer_pump(struct viewer *v); /* the transport has room again */
void viewer_ack(struct viewer *v, uint64_t offset);
int viewer_resize(struct viewer *v, int64_t rows, int64_t cols,
                  struct hf_error *err);        /* through the size policy */
uint64_t viewer_offset(const struct viewer *v); /* next byte it will get */
uint64_t viewer_replay_until(const struct viewer *v);
struct process *viewer_process(const struct viewer *v);
bool viewer_has_client(const struct viewer *v, const char *principal, const char *client);
/*
 * For hello and `viewers`: writes [{"client","name","role","read_only","rows","cols","since"}…] as
 * `reader` may see it: client ids of other grants are replaced by the output of client_shown().
 */
void process_write_viewers(struct process *p, const struct viewer *reader, struct json_out *o);
size_t process_viewer_count(const struct process *p);

#endif
