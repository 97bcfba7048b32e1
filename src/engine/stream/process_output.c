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
#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/flood.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/siding.h"
#include "engine/stream/tty_activity_own.h"

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

void output_init(struct process *p)
{
    output_accept(p, -1, -1, -1);
}

void output_accept(struct process *p, int tty_fd, int stdout_fd, int stderr_fd)
{
    p->output.tty_fd = tty_fd;
    p->output.fd[0] = stdout_fd;
    p->output.fd[1] = stderr_fd;
}

int output_tty(const struct process *p)
{
    return p->output.tty_fd;
}

uint64_t output_written(const struct process *p, int i)
{
    int there = 0;

    if (p->output.fd[i] < 0 || ioctl(p->output.fd[i], FIONREAD, &there) < 0)
        return p->output.read_bytes[i];
    return p->output.read_bytes[i] + (uint64_t)there;
}

bool output_has_read(const struct process *p, int i, uint64_t bytes)
{
    return p->output.fd[i] < 0 || p->output.read_bytes[i] >= bytes;
}

static bool stream_is_dry(const struct process *p, int fd, uint8_t bit)
{
    return fd < 0 || (p->output.dry & bit) ||
           p->output.drained_bytes[bit == K_FD_STDERR] >= DRAIN_BYTES;
}

/* Has everything been read that existed when the child was reaped? */
bool output_is_dry(const struct process *p)
{
    return stream_is_dry(p, p->output.tty_fd, K_FD_TTY) &&
           stream_is_dry(p, p->output.fd[0], K_FD_STDOUT) &&
           stream_is_dry(p, p->output.fd[1], K_FD_STDERR);
}

/* Bookkeeping for one burst; `empty`: it ended because nothing was left. */
static void burst_done(struct process *p, size_t total, uint8_t bit, bool empty)
{
    if (exit_is_reaped(p) && empty)
        p->output.dry |= bit;
    if (total == 0)
        return;
    spin_burst(&p->engine->spin, p, total);
    flood_add(p, total);
    if (exit_is_reaped(p))
        p->output.drained_bytes[bit == K_FD_STDERR] += total;
    p->engine->state.head->output_bytes_total += total;
    process_touch(p);
    if (input_was_typed(p)) /* a program at the other end replies to this with the next key */
        loop_expect(p->engine->loop);
}

bool output_is_open(const struct process *p)
{
    return p->output.tty_fd >= 0 || p->output.fd[0] >= 0 || p->output.fd[1] >= 0;
}

/* The one place that decides what the loop watches for this process's output. */
void output_interest(struct process *p)
{
    int read = pace_is_paused(p) ? 0 : LOOP_READ;
    int i;

    if (p->output.tty_watch != NULL) {
        bool away = p->output.tty_retry != NULL && timer_is_active(p->output.tty_retry);
        watch_set(p->output.tty_watch,
                  (away ? 0 : read) | (input_is_blocked(p) && !away ? LOOP_WRITE : 0));
    }
    for (i = 0; i < 2; i++)
        if (p->output.watch[i] != NULL)
            watch_set(p->output.watch[i], read);
}

static void drop_keeper_copy(struct process *p, uint32_t which)
{
    struct k_close m = {.type = K_CLOSE, .entry = p->entry, .which = which};

    keeper_channel_send_later(p->engine->channel, &m, sizeof m);
}

static void tty_close(struct process *p, bool notify_keeper)
{
    if (p->output.tty_fd < 0)
        return;
    watch_close(p->output.tty_watch);
    p->output.tty_watch = NULL;
    input_on_tty_closed(p);
    io_close(&p->output.tty_fd);
    if (notify_keeper)
        drop_keeper_copy(p, K_FD_TTY);
}

static void pipe_close(struct process *p, int i, bool notify_keeper)
{
    if (p->output.fd[i] < 0)
        return;
    watch_close(p->output.watch[i]);
    p->output.watch[i] = NULL;
    io_close(&p->output.fd[i]);
    if (notify_keeper)
        drop_keeper_copy(p, out_bit[i]);
}

void output_close(struct process *p)
{
    tty_close(p, false);
    pipe_close(p, 0, false);
    pipe_close(p, 1, false);
}

void output_fini(struct process *p)
{
    output_close(p);
    timer_close(p->output.tty_retry);
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
    if (exit_is_reaped(p)) {
        tty_close(p, true);
        return;
    }
    if (p->output.tty_retry == NULL)
        p->output.tty_retry = timer_new(p->engine->loop, tty_on_retry, p);
    p->output.tty_retry_ms =
        p->output.tty_retry_ms == 0 ? TTY_RETRY_MIN_MS : p->output.tty_retry_ms * 2;
    if (p->output.tty_retry_ms > TTY_RETRY_MAX_MS)
        p->output.tty_retry_ms = TTY_RETRY_MAX_MS;
    timer_start(p->output.tty_retry, p->output.tty_retry_ms);
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
    p->output.tty_retry_ms = 0;
    tty_activity_output(p);
    screen_terminal_fed(p, n);
    b->total += n;
    b->unsent += n;
    if (b->unsent >= GATHER_BYTES) {
        viewers_pump(p);
        b->unsent = 0;
    }
    if (exit_is_reaped(p))
        return b->total < DRAIN_BYTES;
    if (b->total >= TURN_BYTES)
        return false;
    return spin_in_flood(&p->engine->spin, p) ? flood_has_more(p, p->output.tty_fd, 1)
                                              : n >= TTY_SMALL_BYTES;
}

static void tty_burst(struct process *p)
{
    struct burst b = {0};
    size_t room;
    bool more = true, empty = false;

    while (more && p->output.tty_fd >= 0 && (room = pace_room(p)) > 0) {
        ssize_t n = journal_read(&p->journal, p->output.tty_fd, STREAM_TTY, room);
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
    if ((events & LOOP_WRITE) && input_is_blocked(p))
        input_flush(p);
    if ((events & LOOP_READ) && !pace_is_paused(p))
        tty_burst(p);
    viewers_pump(p);
    if (exit_is_reaped(p))
        exit_check(p);
    process_unref(p);
}

/* --- pipes --------------------------------------------------------------------------- */

/* A full read means a flood: let the writer run further ahead. */
static void pipe_grow(struct process *p, int i)
{
    if (p->output.grown[i])
        return;
    p->output.grown[i] = true;
    fcntl(p->output.fd[i], F_SETPIPE_SZ, PIPE_GROWN_BYTES);
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
    if (exit_is_reaped(p) || n == want)
        return true;
    return flood && flood_has_more(p, p->output.fd[i], PIPE_GATHER_BYTES);
}

/* Sets *want to the size of the request. */
static ssize_t pipe_read(struct process *p, int i, enum stream stream, size_t *want)
{
    bool flood = p->output.grown[i] && !exit_is_reaped(p) && spin_in_flood(&p->engine->spin, p);
    size_t most = flood ? SIDING_BYTES : PIPE_READ_BYTES;

    if (*want > most)
        *want = most;
    return flood ? siding_read(p, p->output.fd[i], stream, *want)
                 : journal_read(&p->journal, p->output.fd[i], stream, *want);
}

static void pipe_burst(struct process *p, int i)
{
    enum stream stream = i == 0 ? STREAM_STDOUT : STREAM_STDERR;
    size_t total = 0, unsent = 0, room, most = exit_is_reaped(p) ? DRAIN_BYTES : TURN_BYTES;
    bool more = true, empty = false;

    while (more && p->output.fd[i] >= 0 && total < most && (room = pace_room(p)) > 0) {
        size_t want = room;
        ssize_t n = pipe_read(p, i, stream, &want);
        if (n > 0) {
            total += (size_t)n;
            p->output.read_bytes[i] += (size_t)n;
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
    int i = w == p->output.watch[0] ? 0 : 1;

    (void)events;
    if (pace_is_paused(p))
        return;
    process_ref(p);
    pipe_burst(p, i);
    if (exit_is_reaped(p))
        exit_check(p);
    process_unref(p);
}

/* --- terminal and pipes ------------------------------------------------------------------ */

/* Without room nothing is read, but a pipe that is empty still counts as read to its end. */
static void mark_empty_pipes(struct process *p)
{
    for (int i = 0; i < 2; i++) {
        int there = 0;

        if (p->output.fd[i] >= 0 && ioctl(p->output.fd[i], FIONREAD, &there) == 0 && there == 0)
            p->output.dry |= out_bit[i];
    }
}

/* The pipe that may still contain output of the child itself comes first: a flood in the other
 * one uses all the room. */
void output_read_rest(struct process *p)
{
    int first = exit_is_reaped(p) && stream_is_dry(p, p->output.fd[0], K_FD_STDOUT) ? 1 : 0;

    if (p->output.tty_fd >= 0)
        tty_burst(p);
    if (p->output.fd[first] >= 0)
        pipe_burst(p, first);
    if (p->output.fd[!first] >= 0)
        pipe_burst(p, !first);
    if (exit_is_reaped(p) && pace_is_paused(p))
        mark_empty_pipes(p);
    viewers_pump(p);
}

void output_start(struct process *p)
{
    struct loop *l = p->engine->loop;
    int i;

    if (p->output.tty_fd >= 0)
        p->output.tty_watch = watch_new(l, p->output.tty_fd, tty_on_event, p);
    for (i = 0; i < 2; i++)
        if (p->output.fd[i] >= 0)
            p->output.watch[i] = watch_new(l, p->output.fd[i], pipe_on_event, p);
    output_interest(p);
}
