/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_items.h - what was done in a session, in order: commands and processes
 *
 * Bounded: at most so many items and so many bytes of output; the oldest are
 * left out and counted. Everything is borrowed until the next return to the
 * loop. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SESSION_SESSION_ITEMS_H
#define HF_DIALECTS_NATIVE_SESSION_SESSION_ITEMS_H

#include "engine/session/session.h"

struct session_item {
    struct process *process;        /* NULL: a command of the shell */
    struct session_command command; /* of a process only what both have, put together */
    char *text;                     /* of a process: its command and arguments; malloc'd */
};

struct session_items {
    struct session_item *list; /* oldest first */
    size_t count;
    uint64_t dropped;
};

void session_items_collect(struct session_items *all, struct engine *e, struct session *s,
                           size_t limit);
void session_items_fini(struct session_items *all);

#endif
