/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewers_own.h - the part of a process that its viewers are in
 *
 * Only viewer.c touches the struct. Others walk over the list with viewers_each(). Layer:
 * engine.
 */
#ifndef HF_ENGINE_STREAM_VIEWERS_OWN_H
#define HF_ENGINE_STREAM_VIEWERS_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"

struct process;
struct viewer_notice;

struct process_viewers {
    struct list list;  /* struct viewer */
    struct list *next; /* where the walk over them resumes */
    bool pumping, pump_again;
    size_t count;  /* without internal ones */
    size_t guests; /* how many of them are guests */
    struct task pump;
};

/* As list_for_each(). */
#define viewers_each(it, tmp, p) list_for_each (it, tmp, &(p)->viewers.list)

void viewers_init(struct process *p);
void viewers_fini(struct process *p);
/* In this turn, for what was added in it: viewers, and waiters for an exit that has happened. */
void viewers_pump_later(struct process *p);
size_t viewers_members(const struct process *p); /* neither internal nor guests */
void viewers_pump(struct process *p);
void viewers_notice(struct process *p, const struct viewer_notice *n);
void viewers_drop(struct process *p); /* the process is being deleted */
void viewers_mark_stalled(struct process *p, uint64_t held_ms);
/* The lowest offset that must not be overwritten yet; the end of the output if none. */
uint64_t viewers_hold(struct process *p);

#endif
