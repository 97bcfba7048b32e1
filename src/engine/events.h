/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - the log of what happened, in order and bounded
 *
 * The log is in shared memory, so it survives the worker. It holds JSON texts with increasing ids.
 * Subscribers are cursors into it, as viewers are into a journal. A text is
 * {"type":"process.exited","time":…,"process":{…}}. The types are process.created, process.updated,
 * process.exited, process.deleted, viewer.joined and viewer.left (these two with the viewer as
 * "detail"). Events of sessions have "session" in place of "process". Layer: engine.
 */
#ifndef HF_ENGINE_EVENTS_H
#define HF_ENGINE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct events;
struct process;

struct event {
    uint64_t id;
    const char *type; /* static */
    const char *json;
    size_t len;
    bool helper; /* of a process that engine_find() hides: for the owner only */
};

uint64_t events_first(const struct events *ev); /* oldest id held */
uint64_t events_next(const struct events *ev);  /* id of the next event; ids start at 1 */
/* The first event with id >= `id`; false if there is none yet. *out is borrowed until control
 * returns to the loop. */
bool events_get(const struct events *ev, uint64_t id, struct event *out);

/* `fn` runs at the end of each turn in which something was appended. */
struct event_subscriber {
    struct list link;
    void (*fn)(void *arg);
    void *arg;
};
void events_subscribe(struct events *ev, struct event_subscriber *s);
void events_unsubscribe(struct event_subscriber *s);

/* for the engine only */
void events_append(struct events *ev, const char *type, struct process *p, const char *extra_json);
void events_append_text(struct events *ev, const char *type, const char *json, size_t len);
/* Whether the log that an earlier worker left is intact. */
struct shared;
bool events_are_sound(struct shared *state);

#endif
