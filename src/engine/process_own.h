/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_own.h - one process, for the files of the engine
 *
 * A process is alive in two senses: the child runs (until the keeper reports it as reaped), and its
 * output is open (until end of file). The exit record is made when the child has exited and its
 * output was read as far as EXIT_QUIET_MS and EXIT_DRAIN_MAX_MS require. Only then is the process
 * "exited" for clients.
 *
 * Its mechanisms are parts of the struct. Each part is defined in a private header of its own and
 * touched only by the files that the comment behind the member names (`make style` checks that);
 * the others call that header's functions. Layer: engine.
 */
#ifndef HF_ENGINE_PROCESS_OWN_H
#define HF_ENGINE_PROCESS_OWN_H

#include "engine/engine_own.h"
#include "engine/journal/journal_own.h"
#include "engine/process_meta_own.h"
#include "engine/spawn/kill_deadline_own.h"
#include "engine/spawn/kill_tree_own.h"
#include "engine/spawn/process_exit_own.h"
#include "engine/stream/flood.h"
#include "engine/stream/lease_own.h"
#include "engine/stream/process_input_own.h"
#include "engine/stream/process_output_own.h"
#include "engine/stream/process_pace_own.h"
#include "engine/stream/process_size_own.h"
#include "engine/stream/share_own.h"
#include "engine/stream/viewers_own.h"
#include "term/tracker.h"

struct process {
    struct engine *engine;
    struct list link, exited_link;
    struct process *hash_next;
    unsigned refs;
    bool in_table;
    bool forgotten; /* the keeper was notified, or will be */
    struct record rec;
    struct journal journal;
    uint32_t entry; /* the keeper's number; 0 while starting */
    pid_t pid;
    int side_fd;             /* a session's shell sends its reports here; -1: none */
    struct session *session; /* the session that holds it as its shell; NULL: none */

    struct process_meta meta;         /* everywhere */
    struct process_output output;     /* process_output.c */
    struct process_pace pace;         /* process_pace.c */
    struct process_flood flood;       /* flood.c */
    struct process_input input;       /* process_input.c */
    struct process_exit exit;         /* process_exit.c */
    struct process_end end;           /* kill_tree.c */
    struct process_deadline deadline; /* kill_deadline.c */
    struct process_viewers viewers;   /* viewer.c */
    struct process_size size;         /* process_size.c */
    struct lease lease;               /* lease.c */
    struct process_links links;       /* share.c */

    /* terminals only */
    struct tty_activity *tty_activity; /* tty_activity.c */
    struct tracker tracker;            /* screen.c */
    struct screen *screen;             /* screen.c: NULL: not built, or dropped */
    struct query_replies *replies;     /* query_reply.c: NULL: none yet */
    struct viewer *answerer; /* viewer_screen.c: its terminal replies to queries; NULL: we do */
};

struct process *process_new(struct engine *e);
void process_touch(struct process *p);   /* records activity */
void process_updated(struct process *p); /* appends the event */

#endif
