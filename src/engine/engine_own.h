/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_own.h - the engine itself, its registry and its retention, for the files of this folder
 *
 * Layer: engine.
 */
#ifndef HF_ENGINE_ENGINE_OWN_H
#define HF_ENGINE_ENGINE_OWN_H

#include "base/list.h"
#include "base/loop.h"
#include "base/spin.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/journal/record.h"
#include "engine/stream/share.h"
#include "engine/worker_shared.h"

#define PROCESS_ID_LEN 25 /* "proc_" and 20 characters */

struct events {
    struct shared *state; /* borrowed */
    struct loop *loop;
    struct list subscribers;
    struct task wake;
};

struct engine {
    struct loop *loop;
    struct engine_options options;
    struct engine_hooks hooks;
    struct shared state;
    struct events events;
    struct keeper_channel *channel;
    struct spin spin;
    int siding[2];          /* siding.h; -1: none */
    struct list processes;  /* struct process.link, newest first */
    struct list exited;     /* struct process.exited_link, oldest exit first */
    struct process **by_id; /* open hash table; see registry.c */
    size_t by_id_size;
    size_t running, starting, retained;
    uint64_t ring_bytes; /* all rings in memory */
    uint64_t disk_bytes; /* all rings in files */
    /* Created ahead while a child is being started, or recycled from forgotten processes. */
    struct record spares[RECORD_SPARES];
    size_t spare_count;
    bool spares_wanted;         /* one was used since the timer was started */
    struct timer *spares_timer; /* frees all but one when none is used */
    struct task spare_task;
    size_t viewers;
    struct buf filtered; /* a slice without queries, while it is sent; see viewer_screen.c */
    share_end_fn *share_end;
    void *share_end_arg;
    struct list sessions; /* struct session, newest first */
    size_t session_count;
    struct timer *retention;
    struct task trim; /* removes exited processes beyond the limit, once their exits are reported */
    int64_t retention_due_ms; /* wall clock */
    struct ports *ports;      /* NULL until a port is watched */
    uint32_t generation;
    bool has_cgroup, exact, stopping;
    /* another worker takes over; connections close, but no viewer counts as having left */
    bool retiring;
    /* engine_terminate_all */
    size_t ends_open;
    struct task ended;
};

/* registry.c */
void registry_add(struct engine *e, struct process *p);
void registry_remove(struct engine *e, struct process *p);
struct process *registry_find(struct engine *e, const char *id);
struct process *registry_find_tag(struct engine *e, const char *tag, bool living_only);
/* retention.c */
void retention_add(struct engine *e, struct process *p);
void retention_run(struct engine *e);
void retention_trim(struct engine *e); /* down to the retention limit */
void spawn_spare_init(struct engine *e);
void spawn_spare_fini(struct engine *e);
void spawn_spare_offer(struct engine *e, struct record *r); /* always takes ownership */
void retention_change(struct process *p);                   /* its retain_ms has changed */
/* Drops the oldest exited records until `need` more bytes of ring fit, in memory or on disk. False
 * if that is not possible. */
bool retention_make_room(struct engine *e, uint64_t need, bool on_disk);

/* session.c */
void sessions_adopt(struct engine *e); /* from the shells that the last worker left */
void sessions_free(struct engine *e);

/* ports.c */
void ports_free(struct engine *e);

#endif
