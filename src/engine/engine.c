/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - creates the engine, handles messages from the keeper, terminates all processes. Layer:
 * engine.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/spawn/adopt.h"
#include "engine/spawn/keeper_channel.h"

void engine_options_default(struct engine_options *o)
{
    *o = (struct engine_options){
        .max_processes = LIMIT_PROCESSES,
        .max_viewers = LIMIT_VIEWERS,
        .journal_bytes = LIMIT_JOURNAL_BYTES,
        .journal_memory_bytes = LIMIT_JOURNAL_MEMORY_BYTES,
        .history_disk_bytes = LIMIT_HISTORY_DISK_BYTES,
        .retain_count = LIMIT_RETAINED,
        .retain_ms = LIMIT_RETAIN_MS,
        .event_log_bytes = LIMIT_EVENT_LOG_BYTES,
    };
}

size_t engine_state_bytes(const struct engine_options *o)
{
    return shared_bytes(o->event_log_bytes);
}

/* --- from the keeper ------------------------------------------------------------- */

static void engine_on_exited(void *arg, const struct k_exited *m)
{
    struct engine *e = arg;
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->entry == m->entry) {
            exit_on_reaped(p, m);
            return;
        }
    }
}

static void engine_on_stop(void *arg, uint32_t grace_ms)
{
    struct engine *e = arg;

    if (e->hooks.on_stop != NULL)
        e->hooks.on_stop(e->hooks.arg, grace_ms);
}

static void engine_on_retire(void *arg)
{
    struct engine *e = arg;

    e->retiring = true;
    if (e->hooks.on_retire != NULL)
        e->hooks.on_retire(e->hooks.arg);
}

static void engine_on_credentials(void *arg, const struct k_credentials *m, int *fd)
{
    struct engine *e = arg;

    if (e->hooks.on_credentials != NULL)
        e->hooks.on_credentials(e->hooks.arg, m->req, m->error, m->error == 0 ? *fd : -1);
}

static const struct keeper_channel_ops channel_ops = {
    .on_exited = engine_on_exited,
    .on_stop = engine_on_stop,
    .on_retire = engine_on_retire,
    .on_credentials = engine_on_credentials,
};

/* --- life ----------------------------------------------------------------------------- */

struct engine *engine_new(struct loop *loop, const struct keeper_boot *boot,
                          const struct engine_options *o)
{
    struct engine *e = hf_xalloc(sizeof *e);

    e->loop = loop;
    e->options = *o;
    e->generation = boot->generation;
    e->has_cgroup = boot->has_cgroup;
    list_init(&e->processes);
    list_init(&e->exited);
    list_init(&e->sessions);
    spawn_spare_init(e);
    /* Twice the number of processes that can be known at once keeps the chains short. */
    e->by_id_size = 2 * (o->max_processes + o->retain_count) + 1;
    e->by_id = hf_xalloc(e->by_id_size * sizeof(struct process *));
    if (shared_map(&e->state, boot->state_fd, o->event_log_bytes) < 0) {
        log_error("the shared state has an incompatible version");
        free(e->by_id);
        free(e);
        return NULL;
    }
    e->events.state = &e->state;
    e->events.loop = loop;
    list_init(&e->events.subscribers);
    spin_init(&e->spin);
    e->channel = keeper_channel_new(loop, boot->channel_fd, &channel_ops, e);
    e->exact = io_count_sync();
    if (!e->exact)
        log_warn("this kernel does not count the worker's reads; after a crash, binary output "
                 "may lose its last byte");
    adopt_all(e, boot);
    return e;
}

void engine_free(struct engine *e)
{
    if (e == NULL)
        return;
    sessions_free(e);
    while (!list_is_empty(&e->processes)) {
        struct process *p = list_entry(e->processes.next, struct process, link);
        if (!list_is_empty(&p->exited_link))
            list_remove(&p->exited_link);
        registry_remove(e, p);
    }
    keeper_channel_free(e->channel);
    spawn_spare_fini(e);
    buf_fini(&e->filtered);
    task_cancel(&e->events.wake);
    task_cancel(&e->trim);
    task_cancel(&e->ended);
    timer_close(e->retention);
    ports_free(e);
    if (e->exact) {
        struct io_count now = io_counted();
        e->state.head->final_read_bytes = now.read_bytes;
        e->state.head->final_written_bytes = now.written_bytes;
    }
    shared_unmap(&e->state);
    free(e->by_id);
    free(e);
}

void engine_ready(struct engine *e)
{
    struct k_simple m = {.type = K_READY};

    keeper_channel_send(e->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

bool engine_is_announced(const struct engine *e)
{
    return e->state.head->announced != 0;
}

void engine_set_announced(struct engine *e)
{
    e->state.head->announced = 1;
}

int engine_request_upgrade(struct engine *e)
{
    struct k_simple m = {.type = K_UPGRADE};

    return keeper_channel_send(e->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

int engine_request_reload(struct engine *e, uint32_t req, int64_t grace_ms)
{
    struct k_reload m = {.type = K_RELOAD,
                         .req = req,
                         .grace_ms = grace_ms < 0 ? K_GRACE_UNSET : (uint64_t)grace_ms};

    return keeper_channel_send(e->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

void engine_set_hooks(struct engine *e, const struct engine_hooks *hooks)
{
    e->hooks = *hooks;
}

/* --- terminating all processes ----------------------------------------------------------- */

/* Deferred, so that everything that follows from the last exit runs first, such as the end of its
 * session. */
static void end_all_check(struct engine *e)
{
    if (e->ends_open == 0)
        loop_defer(e->loop, &e->ended);
}

static void end_all_on_one(void *arg, struct process *p, const struct survivors *s)
{
    struct engine *e = arg;
    size_t i;

    for (i = 0; i < s->count; i++)
        log_warn("%s: could not kill process %d (%.16s)", p->rec.head->id, (int)s->list[i].pid,
                 s->list[i].comm);
    e->ends_open--;
    end_all_check(e);
}

void engine_terminate_all(struct engine *e, uint32_t grace_ms, task_fn *done, void *arg)
{
    struct list *it, *tmp;

    e->stopping = true;
    e->ended.fn = done; /* set only these two: an earlier call may have queued the task */
    e->ended.arg = arg;
    /* Exited processes too: the children they left behind are killed with the daemon. */
    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->entry == 0)
            continue;
        e->ends_open++;
        process_terminate(p, grace_ms, "shutdown", end_all_on_one, e);
    }
    end_all_check(e);
}

/* --- accessors ------------------------------------------------------------------------------- */

struct events *engine_events(struct engine *e)
{
    return &e->events;
}

struct loop *engine_loop(struct engine *e)
{
    return e->loop;
}

const struct engine_options *engine_options(const struct engine *e)
{
    return &e->options;
}

void engine_stats(const struct engine *e, struct engine_stats *out)
{
    const struct shared_head *h = e->state.head;

    *out = (struct engine_stats){
        .running = e->running,
        .starting = e->starting,
        .exited = e->retained,
        .viewers = e->viewers,
        .spawned_total = h->spawned_total,
        .spawn_failed_total = h->spawn_failed_total,
        .exited_total = h->exited_total,
        .output_bytes_total = h->output_bytes_total,
        .input_bytes_total = h->input_bytes_total,
        .used_user_us = h->used_user_us,
        .used_system_us = h->used_system_us,
        .used_in_blocks = h->used_in_blocks,
        .used_out_blocks = h->used_out_blocks,
        .journal_bytes = e->ring_bytes,
        .history_bytes = e->disk_bytes,
        .last_activity_wall_ms = h->last_activity_wall_ms,
        .generation = e->generation,
        .has_cgroup = e->has_cgroup,
        .exact_recovery = e->exact,
    };
}
