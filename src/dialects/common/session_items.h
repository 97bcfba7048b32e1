/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_items.h - what ran in a session, in order: commands and processes
 *
 * Bounded in the number of items and in bytes of output; the oldest are left out and counted.
 * Everything is borrowed until the next return to the loop. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SESSION_ITEMS_H
#define HF_DIALECTS_COMMON_SESSION_ITEMS_H

#include "engine/session/session.h"

struct session_item {
    struct process *process;        /* NULL: a command of the shell */
    struct session_command command; /* for a process only the members that both have, filled in */
    char *text;                     /* for a process: its command and arguments; malloc'd */
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
