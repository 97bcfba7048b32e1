/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_abort.c - aborts a command of a session but keeps its shell
 *
 * To abort a command (time-out, or its client has disconnected), everything that the shell started
 * since the command began gets TERM, and the shell is signalled to skip the rest of the command.
 * KILL follows. If that does not help, the shell itself is killed. Background jobs of earlier
 * commands are recognised by their age, which the kernel counts in ticks of 10 ms. So the next
 * command does not start in the same tick in which such a job was started. Layer: engine.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/session/session_own.h"
#include "engine/session/session_script.h"
#include "engine/spawn/keeper_channel.h"

uint64_t session_ticks_now(void)
{
    struct timespec t;
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000u;
}

static void signal_on_reply(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct session *s = arg;

    (void)len, (void)fds, (void)fd_count;
    if (packet == NULL)
        return; /* the sessions are already freed */
    s->signals_open--;
    session_step_later(s);
}

static void send_signal(struct session *s, int signum, enum k_target target, uint64_t since_ticks)
{
    struct k_signal m = {.type = K_SIGNAL,
                         .entry = s->shell->entry,
                         .signum = signum,
                         .target = (uint32_t)target,
                         .since_ticks = since_ticks};

    if (!shell_is_alive(s))
        return;
    if (keeper_channel_send(s->engine->channel, &m, sizeof m, NULL, 0, NULL, 0, signal_on_reply,
                            s) == 0)
        s->signals_open++;
}

/* Signal the shell first: it must know before its child dies, or it would run the rest of the
 * command. */
static void cut_step(struct session_run *r)
{
    struct session *s = r->session;
    uint64_t now = clock_mono_ms(), kill_at = r->cut_at_ms + (uint64_t)r->begin.grace_ms;
    uint64_t wait = r->cut_wait_ms;

    if (now >= kill_at + KILL_VERIFY_MS) {
        send_signal(s, SIGKILL, K_LEADER, 0);
        return;
    }
    send_signal(s, SESSION_CUT_SIGNAL, K_LEADER, 0);
    if (now < kill_at) {
        /* Each process gets it once: first those that run now, then those started later. */
        send_signal(s, SIGTERM, K_RECENT, r->cut_ticks);
        send_signal(s, SIGCONT, K_RECENT, r->cut_ticks);
        r->cut_ticks = session_ticks_now();
        wait = wait < kill_at - now ? wait : kill_at - now;
    } else {
        send_signal(s, SIGKILL, K_RECENT, r->begin.since_ticks);
    }
    r->cut_wait_ms = wait * 2 < SESSION_CUT_MAX_MS ? wait * 2 : SESSION_CUT_MAX_MS;
    timer_start(r->timer, wait > 0 ? wait : 1);
}

void session_run_cut(struct session_run *r, enum exit_kind kind, const char *by)
{
    if (r->cut_kind != EXIT_NONE || r->reported || r->exited)
        return;
    r->cut_kind = kind;
    r->cut_by = by;
    r->cut_at_ms = clock_mono_ms();
    r->cut_wait_ms = SESSION_CUT_MIN_MS;
    r->cut_ticks = r->begin.since_ticks;
    cut_step(r);
}

static void run_on_timer(struct timer *t, void *arg)
{
    struct session_run *r = arg;

    (void)t;
    if (r->reported || r->exited)
        return;
    if (r->cut_kind == EXIT_NONE)
        session_run_cut(r, EXIT_TIMED_OUT, "timeout");
    else
        cut_step(r);
}

void session_run_arm(struct session_run *r)
{
    uint64_t now = clock_mono_ms(), at = r->begin.timeout_at_ms;

    r->timer = timer_new(r->session->engine->loop, run_on_timer, r);
    if (at != 0)
        timer_start(r->timer, at > now ? at - now : 0);
}
