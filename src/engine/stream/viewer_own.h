/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_own.h - one viewer, for the files of this folder
 *
 * Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_VIEWER_OWN_H
#define HF_ENGINE_STREAM_VIEWER_OWN_H

#include "engine/process_own.h"
#include "engine/stream/receipt.h"
#include "engine/stream/viewer.h"

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

#define VIEWER_LABEL_BYTES 130
/* The name under which this viewer sees a client; reader NULL: the name for everyone. */
const char *viewer_client_for(const struct process *p, const char *key, const struct viewer *reader,
                              char label[VIEWER_LABEL_BYTES]);

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
bool viewer_answerer_exists(const struct process *p);
void viewer_answerer_left(struct process *p, const struct viewer *v);
void viewer_answerer_typed(struct viewer *v);

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

#endif
