/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_terminal.h - WebSockets on a process, in execd's frames
 *
 * Out: 01 stdout, 02 stderr, 03 and a 64-bit offset before bytes whose position the client cannot
 * know by counting; JSON for the rest. In: 00 and input, or JSON. Where a connection starts its
 * process, for which execd has no call, a binary frame is only the bytes (`plain`).
 *
 * One client holds a session and may write; others watch, or take it over. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_TERMINAL_H
#define HF_DIALECTS_OPENSANDBOX_OSB_TERMINAL_H

#include "dialects/common/console.h"
#include "dialects/opensandbox/osb_pty.h"
#include "term/term_query.h"

struct osb_terminal {
    struct list link; /* in osb->terminals */
    struct osb *osb;
    struct http_request *rq; /* while it is being opened; NULL: disconnected, or open */
    struct console *console; /* NULL: not open yet */
    char *key;               /* the session's tag, or the process's id */
    char *id;                /* the id that the client uses; NULL: the process's id */
    bool plain;              /* binary frames have no channel */
    bool viewer;             /* watches only, and gets an offset with every frame */
    bool live;               /* the replay has ended */
    bool jumped;             /* bytes were lost: the next frame has an offset */
    bool end_unseen;         /* no client knows the process until this one receives its id */
    bool removed;            /* the session was deleted before its shell had started */
    uint64_t since;          /* in the session's offsets */
    uint64_t base;           /* the session's offset of the process's first byte */
    unsigned refusals;       /* for a client that may not write */
    bool in_frame, typing;   /* of a binary frame */
    /* for the output of earlier lives, while it is being sent */
    struct query_filter *filter;
};

/* osb_terminal.c */
struct osb_terminal *osb_terminal_new(struct http_request *rq, const char *key);
void osb_terminal_free(struct osb_terminal *t);
struct osb_terminal *osb_terminal_holder(struct osb *o, const char *key); /* NULL: none */
void osb_terminal_take_over(struct osb_terminal *t);
/* Replies 101 and attaches; takes ownership of t. */
void osb_terminal_open(struct osb_terminal *t, struct process *p);
/* A spawn_done_fn that opens the terminal `arg`. */
void osb_terminal_on_spawned(void *arg, struct process *p, const struct hf_error *err);

/* osb_terminal_start.c */
void osb_terminal_command(struct http_request *rq); /* GET /command */

#endif
