/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_shutdown.c - the way out: the worker is asked to end everything, and if it
 * cannot, the keeper does it. Layer: keeper.
 */
#include <signal.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"
#include "keeper/tree.h"

#define ENDING_WORKER_MS 3000 /* beyond the grace: clients are told, exits are written down */
#define ENDING_LOOK_MS 20     /* between two looks at what SIGKILL has left */
#define ENDING_OBEY_MS 100    /* between two looks at who has not heard of the end yet */

/* Init ends whatever there is, whoever started it. */
static void ending_signal(struct keeper *k, int signum)
{
    (void)tree_signal_every(k, signum, signum == SIGTERM ? &k->ending.farewell : NULL);
    if (k->deposit.vault_pid == 1 || k->pid == 1)
        (void)kill(-1, signum);
}

static void ending_kill(struct keeper *k)
{
    worker_kill(k, NULL);
    ending_signal(k, SIGKILL);
    k->ending.phase = ENDING_KILL;
    k->ending.deadline_ms = clock_mono_ms() + KILL_VERIFY_MS;
}

static void ending_term(struct keeper *k, const char *why)
{
    worker_kill(k, why);
    log_info("ending all processes");
    ending_signal(k, SIGTERM);
    k->ending.phase = ENDING_TERM;
    k->ending.deadline_ms = clock_mono_ms() + k->options->grace_ms;
}

static void ending_ask(struct keeper *k)
{
    struct k_stop m = {.type = K_STOP, .grace_ms = k->options->grace_ms};
    int rc;

    k->ending.phase = ENDING_ASKED;
    k->ending.deadline_ms = clock_mono_ms() + k->options->grace_ms + ENDING_WORKER_MS;
    rc = channel_send(&k->worker.link, &m, sizeof m, NULL, 0);
    if (rc < 0)
        worker_kill_for_link(k, rc);
}

/* A worker that is on its way out for an upgrade ends without asking anybody to. */
static void ending_first(struct keeper *k)
{
    bool retiring = k->upgrade.phase == UPGRADE_RETIRE;

    upgrade_cancel(k);
    reload_cancel(k);
    if (k->worker.pid > 0 && !retiring)
        ending_ask(k);
    else
        ending_term(k, NULL);
}

void keeper_shutdown_begin(struct keeper *k)
{
    switch (k->ending.phase) {
    case ENDING_NOT:
        log_info("stopping");
        ending_first(k);
        break;
    case ENDING_ASKED:
    case ENDING_TERM:
        log_info("stopping at once");
        ending_kill(k);
        break;
    case ENDING_KILL:
    case ENDING_DONE:
    case ENDING_LEFT: break;
    }
}

static void ending_finish(struct keeper *k, size_t alive)
{
    if (alive > 0)
        log_error("%zu processes could not be ended", alive);
    k->ending.code = alive > 0;
    k->ending.phase = ENDING_DONE;
}

/* SIGKILL goes out at every look: somebody may have forked just then. */
static void ending_step_kill(struct keeper *k, uint64_t now_ms)
{
    size_t alive = tree_signal_every(k, SIGKILL, NULL);

    if ((alive == 0 && k->worker.pid == 0) || now_ms >= k->ending.deadline_ms)
        ending_finish(k, alive);
}

void keeper_shutdown_step(struct keeper *k, uint64_t now_ms)
{
    bool late = now_ms >= k->ending.deadline_ms;

    switch (k->ending.phase) {
    case ENDING_ASKED:
        if (k->worker.pid == 0 && k->ending.orderly)
            ending_kill(k);
        else if (k->worker.pid == 0 || late)
            ending_term(k, "it does not end");
        break;
    case ENDING_TERM:
        /* A process in the middle of an exec cannot be told from others' by its environment. */
        if (late || tree_signal_every(k, SIGTERM, &k->ending.farewell) == 0)
            ending_kill(k);
        break;
    case ENDING_KILL: ending_step_kill(k, now_ms); break;
    case ENDING_NOT:
    case ENDING_LEFT:
    case ENDING_DONE: break;
    }
}

uint64_t keeper_shutdown_deadline(const struct keeper *k)
{
    switch (k->ending.phase) {
    case ENDING_ASKED: return k->ending.deadline_ms;
    case ENDING_TERM: {
        uint64_t look = clock_mono_ms() + ENDING_OBEY_MS;

        return look < k->ending.deadline_ms ? look : k->ending.deadline_ms;
    }
    case ENDING_KILL: return clock_mono_ms() + ENDING_LOOK_MS;
    default: return DEADLINE_NONE;
    }
}
