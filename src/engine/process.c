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
#include "engine/engine_own.h"

/* Runs for what was added in this turn: new viewers, and waiters for an exit that has already
 * happened. */
static void process_on_pump(void *arg)
{
    struct process *p = arg;

    process_ref(p);
    viewers_pump(p);
    if (!process_is_running(p))
        exit_run_waiters(p);
    process_unref(p);
}

struct process *process_new(struct engine *e)
{
    struct process *p = hf_xalloc(sizeof *p);

    p->engine = e;
    p->refs = 1;
    p->rec.fd = -1;
    p->side_fd = p->tty_fd = p->in_fd = p->out_fd[0] = p->out_fd[1] = -1;
    p->retain_ms = e->options.retain_ms;
    p->active_ms = clock_mono_ms();
    list_init(&p->link);
    list_init(&p->exited_link);
    list_init(&p->exit_waiters);
    list_init(&p->end_waiters);
    list_init(&p->input_waiters);
    list_init(&p->viewers);
    list_init(&p->shares);
    p->pump.fn = process_on_pump;
    p->pump.arg = p;
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
    assert(list_is_empty(&p->viewers) && !p->in_table);
    output_close(p);
    input_close(p);
    io_close(&p->side_fd);
    task_cancel(&p->pump);
    task_cancel(&p->input_room);
    timer_close(p->stall);
    timer_close(p->tty_retry);
    timer_close(p->flood);
    timer_close(p->drain);
    kill_tree_free(p);
    timer_close(p->deadline);
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

bool process_is_running(const struct process *p)
{
    return atomic_load_explicit(&p->rec.head->exit_set, memory_order_relaxed) == 0;
}

void process_touch(struct process *p)
{
    p->active_ms = clock_mono_ms();
    p->engine->state.head->last_activity_wall_ms = clock_wall_ms();
}

void process_updated(struct process *p)
{
    events_append(&p->engine->events, "process.updated", p, NULL);
}

/* --- patch ------------------------------------------------------------------ */

static void replace(char **member, const char *value)
{
    if (value == NULL)
        return;
    free(*member);
    *member = value[0] != '\0' ? hf_xstrdup(value) : NULL;
}

static int check_patch(struct process *p, const struct process_patch *patch, struct hf_error *err)
{
    struct process *other;

    if (patch->label != NULL && strlen(patch->label) > LIMIT_LABEL_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "label", "label is longer than %d bytes",
                             LIMIT_LABEL_BYTES);
    if (patch->title != NULL && strlen(patch->title) > LIMIT_LABEL_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "title", "title is longer than %d bytes",
                             LIMIT_LABEL_BYTES);
    if (patch->metadata_json != NULL && strlen(patch->metadata_json) > LIMIT_METADATA_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "metadata", "metadata is larger than %d bytes",
                             LIMIT_METADATA_BYTES);
    if (patch->tag == NULL || patch->tag[0] == '\0')
        return 0;
    if (strlen(patch->tag) > LIMIT_TAG_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "tag", "tag is longer than %d bytes",
                             LIMIT_TAG_BYTES);
    other = registry_find_tag(p->engine, patch->tag, true);
    if (other != NULL && other != p && process_is_running(p))
        return hf_fail_field(err, HF_E_tag_in_use, "tag",
                             "tag '%s' belongs to the running process %s", patch->tag,
                             other->rec.head->id);
    return 0;
}

int process_patch(struct process *p, const struct process_patch *patch, struct hf_error *err)
{
    struct viewer_notice n = {.kind = NOTICE_TITLE};
    int rc = check_patch(p, patch, err);

    if (rc < 0)
        return rc;
    replace(&p->label, patch->label);
    replace(&p->tag, patch->tag);
    replace(&p->title, patch->title);
    replace(&p->metadata_json, patch->metadata_json);
    if (patch->set_retain)
        p->retain_ms = patch->retain_ms;
    if (patch->set_size_policy)
        p->size_policy = patch->size_policy;
    rc = meta_store(p, err);
    if (patch->set_retain)
        retention_change(p);
    if (patch->title != NULL)
        viewers_notice(p, &n);
    if (patch->set_size_policy)
        size_settle(p);
    process_updated(p);
    return rc;
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
    if (p->reaped && target != TARGET_TREE)
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

/* --- waiting and forgetting ----------------------------------------------------- */

void process_wait_exit(struct process *p, struct exit_waiter *w)
{
    list_append(&p->exit_waiters, &w->link);
    if (!process_is_running(p))
        loop_defer(p->engine->loop, &p->pump);
}

void exit_waiter_cancel(struct exit_waiter *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

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
