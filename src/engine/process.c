/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - one process: creation, references, patches, signals and removal. Layer: engine.
 */
#include "engine/process.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/tty_activity_own.h"

struct process *process_new(struct engine *e)
{
    struct process *p = hf_xalloc(sizeof *p);

    p->engine = e;
    p->refs = 1;
    p->rec.fd = -1;
    p->side_fd = -1;
    list_init(&p->link);
    list_init(&p->exited_link);
    meta_init(p);
    output_init(p);
    input_init(p);
    exit_init(p);
    kill_tree_init(p);
    kill_deadline_active(p);
    viewers_init(p);
    share_init(p);
    return p;
}

struct process *process_ref(struct process *p)
{
    p->refs++;
    return p;
}

void process_unref(struct process *p)
{
    if (p == NULL || --p->refs > 0)
        return;
    assert(!p->in_table);
    output_fini(p);
    input_fini(p);
    io_close(&p->side_fd);
    viewers_fini(p);
    pace_fini(p);
    flood_fini(p);
    exit_fini(p);
    kill_tree_free(p);
    kill_deadline_fini(p);
    tty_activity_free(p);
    query_reply_free(p);
    screen_free(p);
    size_fini(p);
    meta_free(p);
    if (p->forgotten)
        spawn_spare_offer(p->engine, &p->rec);
    else
        record_fini(&p->rec); /* the next worker needs it unchanged */
    free(p);
}

struct engine *process_engine(struct process *p)
{
    return p->engine;
}

struct journal *process_journal(struct process *p)
{
    return &p->journal;
}

const char *process_id(const struct process *p)
{
    return p->rec.head->id;
}

bool process_has_terminal(const struct process *p)
{
    return p->rec.head->pty;
}

bool process_is_running(const struct process *p)
{
    return atomic_load_explicit(&p->rec.head->exit_set, memory_order_relaxed) == 0;
}

void process_touch(struct process *p)
{
    kill_deadline_active(p);
    p->engine->state.head->last_activity_wall_ms = clock_wall_ms();
}

void process_updated(struct process *p)
{
    events_append(&p->engine->events, "process.updated", p, NULL);
}

/* --- signals ------------------------------------------------------------------ */

struct signal_call {
    signal_done_fn *done;
    void *arg;
    int signum;
};

static void signal_on_reply(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct signal_call *c = arg;
    const struct k_signaled *m = packet;
    struct hf_error err = {0};

    (void)len, (void)fds, (void)fd_count;
    if (c->done != NULL && m != NULL) {
        if (m->error == ESRCH)
            hf_fail(&err, HF_E_not_running, "no process is left to signal");
        else if (m->error != 0)
            hf_fail(&err, HF_E_forbidden, "the kernel refused the signal: %s",
                    hf_errno_name(m->error));
        c->done(c->arg, -m->error, m->error != 0 ? &err : NULL);
    }
    free(c);
}

int process_signal(struct process *p, int signum, enum signal_target target, signal_done_fn *done,
                   void *arg, struct hf_error *err)
{
    struct k_signal m = {
        .type = K_SIGNAL, .entry = p->entry, .signum = signum, .target = (uint32_t)target};
    struct signal_call *c;
    int rc;

    if (p->forgotten) /* the keeper has forgotten it, too */
        return hf_fail(err, HF_E_not_running, "the process has exited and its record was removed");
    if (exit_is_reaped(p) && target != TARGET_TREE)
        return hf_fail(err, HF_E_not_running,
                       "the process has exited; only target 'tree' can still be signalled");
    if (target == TARGET_FOREGROUND && !p->rec.head->pty)
        return hf_fail_field(err, HF_E_not_a_terminal, "target",
                             "only a terminal has a foreground process group; use target 'group'");
    c = hf_xalloc(sizeof *c);
    c->done = done;
    c->arg = arg;
    c->signum = signum;
    rc =
        keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0, signal_on_reply, c);
    if (rc < 0) {
        free(c);
        return hf_fail(err, HF_E_internal, "the keeper cannot be reached");
    }
    return 0;
}

/* --- forgetting --------------------------------------------------------------- */

void process_forget(struct process *p)
{
    struct engine *e = p->engine;
    struct k_simple m = {.type = K_FORGET, .entry = p->entry};

    if (!p->in_table)
        return;
    if (process_is_running(p) || p->session != NULL || kill_tree_is_running(p)) {
        if (!p->rec.head->deleting)
            p->rec.head->deleting = 1; /* dropped as soon as it can be */
        return;
    }
    process_ref(p);
    events_append(&e->events, "process.deleted", p, NULL);
    if (!list_is_empty(&p->exited_link)) {
        list_remove(&p->exited_link);
        e->retained--;
    }
    keeper_channel_send_later(e->channel, &m, sizeof m);
    p->forgotten = true;
    share_free_all(p);
    output_close(p);
    registry_remove(e, p);
    viewers_drop(p);
    process_unref(p);
}
