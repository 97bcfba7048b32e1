/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_terminal.h - WebSockets on a process, in execd's frames
 *
 * Out: 01 stdout, 02 stderr, 03 and a 64-bit offset in front of bytes whose place the
 * client cannot know by counting; JSON for the rest. In: 00 and input, or JSON. One client holds a
 * session and may type; others watch, or take it over. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_TERMINAL_H
#define HF_DIALECTS_OPENSANDBOX_OSB_TERMINAL_H

#include "dialects/common/console.h"
#include "dialects/opensandbox/osb_pty.h"
#include "term/term_query.h"

struct osb_terminal {
    struct list link; /* in osb->terminals */
    struct osb *osb;
    struct http_request *rq; /* while it is being opened; NULL: gone, or open */
    struct console *console; /* NULL: not open yet */
    char *key;               /* whose it is: the session's tag, or the process's id */
    char *id;                /* what the client knows it by; NULL: the process's id */
    bool viewer;             /* watches only, and gets offsets with everything */
    bool live;               /* the replay is over */
    bool jumped;             /* bytes were missed: the next frame has an offset */
    bool end_unseen;         /* nobody knows the process before the client is told its id */
    bool removed;            /* the session was deleted before its shell had started */
    uint64_t since;          /* in the session's offsets */
    uint64_t base;           /* the session's offset of the process's first byte */
    unsigned refusals;       /* of one who may not type */
    bool in_frame, typing;   /* of a binary frame */
    /* for what earlier lives have left, while that is sent */
    struct query_filter *filter;
};

/* osb_terminal.c */
struct osb_terminal *osb_terminal_new(struct http_request *rq, const char *key);
void osb_terminal_free(struct osb_terminal *t);
struct osb_terminal *osb_terminal_holder(struct osb *o, const char *key); /* NULL: nobody */
void osb_terminal_take_over(struct osb_terminal *t);
/* Answers 101 and attaches; takes t. */
void osb_terminal_open(struct osb_terminal *t, struct process *p);
/* A spawn_done_fn that opens the terminal `arg`. */
void osb_terminal_on_spawned(void *arg, struct process *p, const struct hf_error *err);

/* osb_terminal_start.c */
void osb_terminal_command(struct http_request *rq); /* GET /command */

#endif
