/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_shutdown.c - shuts the daemon down
 *
 * The keeper requests that the worker terminate all processes. If the worker cannot, the keeper
 * does it itself. Layer: keeper.
 */
#include <signal.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"
#include "keeper/tree.h"

#define SHUTDOWN_WORKER_MS 3000   /* beyond the grace period: to notify clients and record exits */
#define SHUTDOWN_KILL_POLL_MS 20  /* between two checks for what SIGKILL has left */
#define SHUTDOWN_TERM_POLL_MS 100 /* between two checks for processes without SIGTERM */

/* As init, signals every process, no matter who started it. */
static void shutdown_signal(struct keeper *k, int signum)
{
    (void)tree_signal_every(k, signum, signum == SIGTERM ? &k->shutdown.term : NULL);
    if (k->deposit.vault_pid == 1 || k->pid == 1)
        (void)kill(-1, signum);
}

static void shutdown_kill(struct keeper *k)
{
    worker_kill(k, NULL);
    shutdown_signal(k, SIGKILL);
    k->shutdown.phase = SHUTDOWN_KILL;
    k->shutdown.deadline_ms = clock_mono_ms() + KILL_VERIFY_MS;
}

static void shutdown_term(struct keeper *k, const char *why)
{
    worker_kill(k, why);
    log_info("terminating all processes");
    shutdown_signal(k, SIGTERM);
    k->shutdown.phase = SHUTDOWN_TERM;
    k->shutdown.deadline_ms = clock_mono_ms() + k->options->grace_ms;
}

static void shutdown_request(struct keeper *k)
{
    struct k_stop m = {.type = K_STOP, .grace_ms = k->options->grace_ms};
    int rc;

    k->shutdown.phase = SHUTDOWN_REQUESTED;
    k->shutdown.deadline_ms = clock_mono_ms() + k->options->grace_ms + SHUTDOWN_WORKER_MS;
    rc = channel_send(&k->worker.channel, &m, sizeof m, NULL, 0);
    if (rc < 0)
        worker_kill_for_channel(k, rc);
}

/* A worker that is leaving for an upgrade exits without a request. */
static void shutdown_start(struct keeper *k)
{
    bool retiring = k->upgrade.phase == UPGRADE_RETIRE;

    upgrade_cancel(k);
    reload_cancel(k);
    if (k->worker.pid > 0 && !retiring)
        shutdown_request(k);
    else
        shutdown_term(k, NULL);
}

void keeper_shutdown_begin(struct keeper *k)
{
    switch (k->shutdown.phase) {
    case SHUTDOWN_NONE:
        log_info("stopping");
        shutdown_start(k);
        break;
    case SHUTDOWN_REQUESTED:
    case SHUTDOWN_TERM:
        log_info("stopping immediately");
        shutdown_kill(k);
        break;
    case SHUTDOWN_KILL:
    case SHUTDOWN_DONE:
    case SHUTDOWN_LEFT: break;
    }
}

static void shutdown_finish(struct keeper *k, size_t alive)
{
    if (alive > 0)
        log_error("%zu processes could not be terminated", alive);
    k->shutdown.code = alive > 0;
    k->shutdown.phase = SHUTDOWN_DONE;
}

/* Sends SIGKILL at every check: a process may have forked just before. A child whose start was
 * given up is in no table, and uses our memory until it is dead. */
static void shutdown_step_kill(struct keeper *k, uint64_t now_ms)
{
    size_t alive = tree_signal_every(k, SIGKILL, NULL);
    bool gone = alive == 0 && k->worker.pid == 0 && k->spawns.count == 0;

    if (gone || now_ms >= k->shutdown.deadline_ms)
        shutdown_finish(k, alive);
}

void keeper_shutdown_step(struct keeper *k, uint64_t now_ms)
{
    bool late = now_ms >= k->shutdown.deadline_ms;

    switch (k->shutdown.phase) {
    case SHUTDOWN_REQUESTED:
        if (k->worker.pid == 0 && k->shutdown.orderly)
            shutdown_kill(k);
        else if (k->worker.pid == 0 || late)
            shutdown_term(k, "it did not exit in time");
        break;
    case SHUTDOWN_TERM:
        /* Retries: the environment of a process in the middle of an exec does not identify it. */
        if (late || tree_signal_every(k, SIGTERM, &k->shutdown.term) == 0)
            shutdown_kill(k);
        break;
    case SHUTDOWN_KILL: shutdown_step_kill(k, now_ms); break;
    case SHUTDOWN_NONE:
    case SHUTDOWN_LEFT:
    case SHUTDOWN_DONE: break;
    }
}

uint64_t keeper_shutdown_deadline(const struct keeper *k)
{
    switch (k->shutdown.phase) {
    case SHUTDOWN_REQUESTED: return k->shutdown.deadline_ms;
    case SHUTDOWN_TERM: {
        uint64_t next = clock_mono_ms() + SHUTDOWN_TERM_POLL_MS;

        return next < k->shutdown.deadline_ms ? next : k->shutdown.deadline_ms;
    }
    case SHUTDOWN_KILL: return clock_mono_ms() + SHUTDOWN_KILL_POLL_MS;
    default: return DEADLINE_NONE;
    }
}
