/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_output.c - reads the terminal or the pipes into the journal
 *
 * Viewers get the output in the same turn. It is sent as soon as it is read; in a flood a few reads
 * are gathered into one frame, and the reader polls briefly before it sleeps (spin.h). Layer:
 * engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "engine/engine_own.h"
#include "engine/stream/flood.h"
#include "engine/stream/siding.h"

#define TURN_BYTES (512 * 1024) /* then it is other descriptors' turn */
/* More than a pipe or a terminal can buffer: even if something still writes into it, the child's
 * own output has been read by then. */
#define DRAIN_BYTES (2 * 1024 * 1024)
#define TTY_SMALL_BYTES 1024 /* a read below the terminal's buffer size: it is empty now */
#define PIPE_READ_BYTES (256 * 1024)
#define PIPE_GATHER_BYTES (256 * 1024)
#define GATHER_BYTES (128 * 1024) /* read from a flooding terminal before sending */
#define PIPE_GROWN_BYTES (1024 * 1024)
#define TTY_RETRY_MIN_MS 10
#define TTY_RETRY_MAX_MS 1000

static const uint8_t out_bit[2] = {K_FD_STDOUT, K_FD_STDERR};

static bool stream_is_dry(const struct process *p, int fd, uint8_t bit)
{
    return fd < 0 || (p->dry & bit) || p->drained_bytes[bit == K_FD_STDERR] >= DRAIN_BYTES;
}

/* Has everything been read that existed when the child was reaped? */
bool output_is_dry(const struct process *p)
{
    return stream_is_dry(p, p->tty_fd, K_FD_TTY) && stream_is_dry(p, p->out_fd[0], K_FD_STDOUT) &&
           stream_is_dry(p, p->out_fd[1], K_FD_STDERR);
}

/* Bookkeeping for one burst; `empty`: it ended because nothing was left. */
static void burst_done(struct process *p, size_t total, uint8_t bit, bool empty)
{
    if (p->reaped && empty)
        p->dry |= bit;
    if (total == 0)
        return;
    spin_burst(&p->engine->spin, p, total);
    flood_add(p, total);
    if (p->reaped)
        p->drained_bytes[bit == K_FD_STDERR] += total;
    p->engine->state.head->output_bytes_total += total;
    process_touch(p);
    if (p->typed) { /* a program at the other end replies to this with the next key */
        p->typed = false;
        loop_expect(p->engine->loop);
    }
}

bool output_is_open(const struct process *p)
{
    return p->tty_fd >= 0 || p->out_fd[0] >= 0 || p->out_fd[1] >= 0;
}

/* The one place that decides what the loop watches for this process's output. */
void output_interest(struct process *p)
{
    int read = p->held ? 0 : LOOP_READ;
    int i;

    if (p->tty_watch != NULL) {
        bool away = p->tty_retry != NULL && timer_is_active(p->tty_retry);
        watch_set(p->tty_watch, (away ? 0 : read) | (p->in_blocked && !away ? LOOP_WRITE : 0));
    }
    for (i = 0; i < 2; i++)
        if (p->out_watch[i] != NULL)
            watch_set(p->out_watch[i], read);
}

static void drop_keeper_copy(struct process *p, uint32_t which)
{
    struct k_close m = {.type = K_CLOSE, .entry = p->entry, .which = which};

    keeper_channel_send_later(p->engine->channel, &m, sizeof m);
}

static void tty_close(struct process *p, bool notify_keeper)
{
    if (p->tty_fd < 0)
        return;
    watch_close(p->tty_watch);
    p->tty_watch = NULL;
    if (p->in_fd == p->tty_fd)
        p->in_fd = -1;
    io_close(&p->tty_fd);
    if (notify_keeper)
        drop_keeper_copy(p, K_FD_TTY);
}

static void pipe_close(struct process *p, int i, bool notify_keeper)
{
    if (p->out_fd[i] < 0)
        return;
    watch_close(p->out_watch[i]);
    p->out_watch[i] = NULL;
    io_close(&p->out_fd[i]);
    if (notify_keeper)
        drop_keeper_copy(p, out_bit[i]);
}

void output_close(struct process *p)
{
    tty_close(p, false);
    pipe_close(p, 0, false);
    pipe_close(p, 1, false);
}

/* --- backpressure ------------------------------------------------------------- */

/*
 * Schedules the next check of what the pause waits for. No event reports that TCP has delivered
 * something, so the first check comes soon, and each later one after a longer delay. A claim ends
 * at its own deadline.
 */
static void schedule_recheck(struct process *p)
{
    uint64_t now = clock_mono_ms(), end = viewer_hold_next_end(p), wait = p->hold_poll_ms;

    if (p->hold_poll_ms < VIEWER_PATIENCE_MS)
        p->hold_poll_ms *= 2;
    if (wait > VIEWER_PATIENCE_MS)
        wait = VIEWER_PATIENCE_MS;
    if (end > now && end - now < wait)
        wait = end - now;
    timer_start(p->stall, wait);
}

static void stall_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    uint64_t held_ms = clock_mono_ms() - p->held_since_ms;

    (void)t;
    if (!p->held)
        return;
    process_ref(p); /* resuming may end the process and free the record */
    if (held_ms >= VIEWER_PATIENCE_MS)
        viewers_mark_stalled(p, held_ms);
    output_update(p);
    if (p->held)
        schedule_recheck(p);
    process_unref(p);
}

static void pause_output(struct process *p)
{
    if (p->held)
        return;
    p->held = true;
    p->held_since_ms = clock_mono_ms();
    if (p->stall == NULL)
        p->stall = timer_new(p->engine->loop, stall_on_timer, p);
    p->hold_poll_ms = 1;
    schedule_recheck(p);
    output_interest(p);
}

/* How much may be read, after checking what viewers have received. */
static size_t room_confirmed(struct process *p, bool ask)
{
    viewer_hold_confirm(p, ask);
    return journal_room(&p->journal, viewers_hold(p));
}

/* How much may be read now; pumps once if that is nothing. */
static size_t room_now(struct process *p)
{
    size_t room = journal_room(&p->journal, viewers_hold(p));

    if (room < p->rec.head->ring_bytes / VIEWER_HOLD_RECEIPT_PART)
        room = room_confirmed(p, false);
    if (room == 0) {
        viewers_pump(p);
        room = room_confirmed(p, true);
    }
    if (room == 0)
        pause_output(p);
    return room;
}

void output_update(struct process *p)
{
    if (!p->held || room_confirmed(p, true) == 0)
        return;
    p->held = false;
    timer_stop(p->stall);
    output_interest(p);
    if (p->reaped)
        exit_check(p);
}

/* --- terminal -------------------------------------------------------------------- */

static void tty_on_event(struct watch *w, int events, void *arg);

static void tty_on_retry(struct timer *t, void *arg)
{
    struct process *p = arg;

    (void)t;
    output_interest(p);
}

/* EIO: nobody has the terminal open. If the child was reaped, that is the end. A live child has
 * closed its terminal and may open it again, so retry from time to time. */
static void tty_on_hangup(struct process *p)
{
    if (p->reaped) {
        tty_close(p, true);
        return;
    }
    if (p->tty_retry == NULL)
        p->tty_retry = timer_new(p->engine->loop, tty_on_retry, p);
    p->tty_retry_ms = p->tty_retry_ms == 0 ? TTY_RETRY_MIN_MS : p->tty_retry_ms * 2;
    if (p->tty_retry_ms > TTY_RETRY_MAX_MS)
        p->tty_retry_ms = TTY_RETRY_MAX_MS;
    timer_start(p->tty_retry, p->tty_retry_ms);
    output_interest(p);
}

/*
 * In a flood: is there something to read, now or within the time that polling is worth? Uses
 * FIONREAD, because a read(2) that finds nothing waits in the kernel for the tty's worker, and that
 * is exactly the sleep to avoid.
 */
static bool flood_has_more(struct process *p, int fd, int enough)
{
    struct spin *s = &p->engine->spin;
    uint64_t now, until;
    int there = 0;

    if (ioctl(fd, FIONREAD, &there) < 0 || there >= enough)
        return true;
    now = clock_mono_ns();
    until = now + spin_budget_ns(s, p, now);
    if (until == now)
        return false;
    while (now < until && ioctl(fd, FIONREAD, &there) == 0 && there < enough)
        now = clock_mono_ns();
    spin_result(s, there >= enough, now);
    return there > 0;
}

struct burst {
    size_t total, unsent;
};

static bool tty_took(struct process *p, struct burst *b, size_t n)
{
    p->tty_retry_ms = 0;
    tty_activity_output(p);
    screen_terminal_fed(p, n);
    b->total += n;
    b->unsent += n;
    if (b->unsent >= GATHER_BYTES) {
        viewers_pump(p);
        b->unsent = 0;
    }
    if (p->reaped)
        return b->total < DRAIN_BYTES;
    if (b->total >= TURN_BYTES)
        return false;
    return spin_in_flood(&p->engine->spin, p) ? flood_has_more(p, p->tty_fd, 1)
                                              : n >= TTY_SMALL_BYTES;
}

static void tty_burst(struct process *p)
{
    struct burst b = {0};
    size_t room;
    bool more = true, empty = false;

    while (more && p->tty_fd >= 0 && (room = room_now(p)) > 0) {
        ssize_t n = journal_read(&p->journal, p->tty_fd, STREAM_TTY, room);
        if (n > 0) {
            more = tty_took(p, &b, (size_t)n);
        } else if (n == -EAGAIN) {
            empty = true;
            more = false;
        } else {
            tty_on_hangup(p);
            more = false;
        }
    }
    burst_done(p, b.total, K_FD_TTY, empty);
}

static void tty_on_event(struct watch *w, int events, void *arg)
{
    struct process *p = arg;

    (void)w;
    process_ref(p);
    if ((events & LOOP_WRITE) && p->in_blocked)
        input_flush(p);
    if ((events & LOOP_READ) && !p->held)
        tty_burst(p);
    viewers_pump(p);
    if (p->reaped)
        exit_check(p);
    process_unref(p);
}

/* --- pipes --------------------------------------------------------------------------- */

/* A full read means a flood: let the writer run further ahead. */
static void pipe_grow(struct process *p, int i)
{
    if (p->pipe_grown[i])
        return;
    p->pipe_grown[i] = true;
    fcntl(p->out_fd[i], F_SETPIPE_SZ, PIPE_GROWN_BYTES);
}

/*
 * Sends what was read. True: read more in this turn. In a flood it is worth waiting until a large
 * piece has gathered, since every wake-up of either side costs as much as copying about 50 KiB.
 */
static bool pipe_took(struct process *p, int i, size_t n, size_t want, size_t *unsent)
{
    bool flood = spin_in_flood(&p->engine->spin, p);

    *unsent += n;
    if (n >= 64 * 1024)
        pipe_grow(p, i);
    if (!flood || *unsent >= PIPE_GATHER_BYTES) {
        viewers_pump(p);
        *unsent = 0;
    }
    if (p->reaped || n == want)
        return true;
    return flood && flood_has_more(p, p->out_fd[i], PIPE_GATHER_BYTES);
}

/* Sets *want to the size of the request. */
static ssize_t pipe_read(struct process *p, int i, enum stream stream, size_t *want)
{
    bool flood = p->pipe_grown[i] && !p->reaped && spin_in_flood(&p->engine->spin, p);
    size_t most = flood ? SIDING_BYTES : PIPE_READ_BYTES;

    if (*want > most)
        *want = most;
    return flood ? siding_read(p, p->out_fd[i], stream, *want)
                 : journal_read(&p->journal, p->out_fd[i], stream, *want);
}

static void pipe_burst(struct process *p, int i)
{
    enum stream stream = i == 0 ? STREAM_STDOUT : STREAM_STDERR;
    size_t total = 0, unsent = 0, room, most = p->reaped ? DRAIN_BYTES : TURN_BYTES;
    bool more = true, empty = false;

    while (more && p->out_fd[i] >= 0 && total < most && (room = room_now(p)) > 0) {
        size_t want = room;
        ssize_t n = pipe_read(p, i, stream, &want);
        if (n > 0) {
            total += (size_t)n;
            p->read_bytes[i] += (size_t)n;
            more = pipe_took(p, i, (size_t)n, want, &unsent);
        } else {
            empty = n == -EAGAIN;
            more = false;
            if (!empty)
                pipe_close(p, i, true);
        }
    }
    if (unsent > 0)
        viewers_pump(p);
    burst_done(p, total, out_bit[i], empty);
}

static void pipe_on_event(struct watch *w, int events, void *arg)
{
    struct process *p = arg;
    int i = w == p->out_watch[0] ? 0 : 1;

    (void)events;
    if (p->held)
        return;
    process_ref(p);
    pipe_burst(p, i);
    if (p->reaped)
        exit_check(p);
    process_unref(p);
}

/* --- terminal and pipes ------------------------------------------------------------------ */

/* Without room nothing is read, but a pipe that is empty still counts as read to its end. */
static void mark_empty_pipes(struct process *p)
{
    for (int i = 0; i < 2; i++) {
        int there = 0;

        if (p->out_fd[i] >= 0 && ioctl(p->out_fd[i], FIONREAD, &there) == 0 && there == 0)
            p->dry |= out_bit[i];
    }
}

/* The pipe that may still contain output of the child itself comes first: a flood in the other
 * one uses all the room. */
void output_read_rest(struct process *p)
{
    int first = p->reaped && stream_is_dry(p, p->out_fd[0], K_FD_STDOUT) ? 1 : 0;

    if (p->tty_fd >= 0)
        tty_burst(p);
    if (p->out_fd[first] >= 0)
        pipe_burst(p, first);
    if (p->out_fd[!first] >= 0)
        pipe_burst(p, !first);
    if (p->reaped && p->held)
        mark_empty_pipes(p);
    viewers_pump(p);
}

void output_start(struct process *p)
{
    struct loop *l = p->engine->loop;
    int i;

    if (p->tty_fd >= 0)
        p->tty_watch = watch_new(l, p->tty_fd, tty_on_event, p);
    for (i = 0; i < 2; i++)
        if (p->out_fd[i] >= 0)
            p->out_watch[i] = watch_new(l, p->out_fd[i], pipe_on_event, p);
    output_interest(p);
}
