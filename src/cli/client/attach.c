/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c - the loop that connects the user's standard streams to a process
 *
 * One poll(2) over signals, standard input, the two sinks and the connections. Layer: cli.
 */
#include "cli/client/attach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/signals.h"
#include "cli/client/attach_own.h"
#include "cli/client/user_terminal.h"

#define OUTPUT_MOST_BYTES (1024 * 1024) /* unwritten output at which we stop reading */
#define STDIN_READ_BYTES (64 * 1024)
#define LEAVE_MS 2000
#define PIPE_MS 1000          /* for the process to react to SIGPIPE */
#define INTERRUPTS_TO_LEAVE 3 /* then we leave without it, as docker does */

enum { POLL_SIGNAL, POLL_STDIN, POLL_STDOUT, POLL_STDERR, POLL_TAPS, POLL_COUNT = POLL_TAPS + 2 };

/* --- leaving ---------------------------------------------------------------------------- */

/* Sends a detach message, so that the daemon does not wait for us to reconnect. */
static void leave(struct attach *a)
{
    struct attach_conn *l = &a->taps[0];

    if (l->up) {
        attach_conn_send_json(l, "{\"type\":\"detach\"}");
        client_conn_flush_all(&l->ws.wire, LEAVE_MS);
    }
    a->left = true;
    attach_end(a, CLI_OK);
}

/* The terminal hung up, or we are about to die: a process that ends with us is notified, and what
 * ignores that is terminated by on_detach. */
static void leave_after(struct attach *a, int signum)
{
    if (a->o->ends && a->taps[0].up)
        attach_send_signal(a, signal_name(signum), "group");
    leave(a);
}

static void leave_by_signal(struct attach *a, int signum)
{
    leave_after(a, signum);
    user_terminal_die_of(signum);
}

/* --- signals ------------------------------------------------------------------------------ */

static void pass_signal_on(struct attach *a, int signum)
{
    bool polite = signum == SIGINT || signum == SIGTERM;

    if (polite && (++a->interrupts >= INTERRUPTS_TO_LEAVE || !a->taps[0].up))
        leave_by_signal(a, signum);
    attach_send_signal(a, signal_name(signum), "group");
}

static void on_continue(struct attach *a)
{
    if (user_terminal_is_raw())
        user_terminal_raw_again();
    attach_send_size(a);
}

static void on_signal(struct attach *a, int signum)
{
    switch (signum) {
    case SIGWINCH: attach_send_size(a); break;
    case SIGCONT: on_continue(a); break;
    case SIGTSTP:
        user_terminal_stop_self();
        on_continue(a);
        break;
    default:
        if (a->o->owner && !a->o->raw)
            pass_signal_on(a, signum);
        else
            leave_by_signal(a, signum);
    }
}

/* --- standard input -------------------------------------------------------------------------- */

static bool means_leave(const struct attach *a, const char *bytes, size_t len)
{
    return a->o->read_only && (memchr(bytes, 'q', len) != NULL || memchr(bytes, 3, len) != NULL);
}

static void on_stdin(struct attach *a)
{
    char bytes[STDIN_READ_BYTES];
    ssize_t n = hf_read(STDIN_FILENO, bytes, sizeof bytes);
    struct buf typed = {0};
    bool leaving;

    if (n == -EAGAIN)
        return;
    if (n <= 0) {
        a->typed.over = true;
        a->typed.eof_wanted = !a->o->pty; /* a terminal has no end of file */
        if (a->o->raw) {                  /* our terminal hung up */
            attach_send_input(a);
            leave_after(a, SIGHUP);
        }
        return;
    }
    leaving = means_leave(a, bytes, (size_t)n);
    if (a->o->raw)
        leaving = detach_keys_feed(&a->keys, bytes, (size_t)n, &typed) || leaving;
    else
        buf_put(&typed, bytes, (size_t)n);
    if (!a->o->read_only && typed.len > 0)
        unsent_input_put(&a->typed, buf_data(&typed), typed.len);
    buf_fini(&typed);
    if (leaving) {
        attach_send_input(a);
        leave(a);
    }
}

/* --- standard output ----------------------------------------------------------------------- */

/*
 * The reader of our output has closed it. A local command would get SIGPIPE at its next write;
 * for a remote one we send the signal.
 */
static void on_broken_pipe(struct attach *a)
{
    if (!a->o->owner) {
        leave(a);
        user_terminal_die_of(SIGPIPE);
    }
    if (a->pipe_broke_ms == 0) {
        a->pipe_broke_ms = clock_mono_ms();
        attach_send_signal(a, "PIPE", "group");
    }
}

/* The process ignored SIGPIPE: terminate it, whether or not we see it end. */
static void end_deaf_process(struct attach *a)
{
    struct fetch_request remove = {.method = "DELETE"};
    struct hf_error err;
    struct fetch_reply r;
    struct buf path = {0};

    leave(a); /* so that it does not block on our reading */
    if (a->o->ends)
        user_terminal_die_of(SIGPIPE);
    buf_printf(&path, "/v1/processes/%s", a->o->id);
    remove.path = buf_cstr(&path);
    if (fetch_call(&a->call->place, &remove, &r, &err) == 0)
        fetch_reply_fini(&r);
    buf_fini(&path);
    user_terminal_die_of(SIGPIPE);
}

static void on_sink(struct attach *a, int i)
{
    int rc = sink_flush(&a->sinks[i]);

    if (rc == -EPIPE)
        on_broken_pipe(a);
    else if (rc < 0 && rc != -EAGAIN && !a->done)
        leave(a); /* finish() reports the error */
}

/* --- the loop ------------------------------------------------------------------------------ */

static void want(struct pollfd *p, int fd, short events)
{
    *p = (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void set_interest(struct attach *a, struct pollfd *p)
{
    size_t waiting = a->sinks[0].buf.len + a->sinks[1].buf.len;
    bool may_read = a->ack || waiting < OUTPUT_MOST_BYTES;
    bool reads_stdin =
        (a->o->input || (a->o->read_only && a->o->raw)) && unsent_input_has_room(&a->typed);
    int i;

    want(&p[POLL_SIGNAL], a->signal_fd, POLLIN);
    want(&p[POLL_STDIN], STDIN_FILENO, reads_stdin ? POLLIN : 0);
    for (i = 0; i < 2; i++)
        want(&p[POLL_STDOUT + i], a->sinks[i].fd, a->sinks[i].buf.len > 0 ? POLLOUT : 0);
    for (i = 0; i < 2; i++) {
        struct client_conn *w = &a->taps[i].ws.wire;
        short events = (short)((may_read ? POLLIN : 0) | (w->out.len > 0 ? POLLOUT : 0));

        if (!may_read)
            attach_conn_is_heard(&a->taps[i]); /* silent because we stopped reading */
        want(&p[POLL_TAPS + i], w->fd, i < a->tap_count && w->fd >= 0 ? events : 0);
    }
}

static void turn(struct attach *a, const struct pollfd *p)
{
    int i, signum;

    while (p[POLL_SIGNAL].revents != 0 && (signum = user_terminal_next_signal(a->signal_fd)) != 0)
        on_signal(a, signum);
    if (p[POLL_STDIN].revents != 0 && !a->done)
        on_stdin(a);
    for (i = 0; i < a->tap_count && !a->done; i++)
        if (p[POLL_TAPS + i].revents & (POLLIN | POLLHUP | POLLERR))
            attach_conn_receive(a, &a->taps[i]);
    /* Write without another poll: most of the time there is room. */
    for (i = 0; i < 2; i++)
        if (a->sinks[i].buf.len > 0)
            on_sink(a, i);
}

/* Sends whatever is due before each wait, also after a reconnect. */
static void send_pending(struct attach *a)
{
    int i, rc;

    attach_send_ack(a);
    attach_send_input(a);
    for (i = 0; i < a->tap_count; i++) {
        rc = a->taps[i].ws.wire.fd >= 0 ? client_conn_flush(&a->taps[i].ws.wire) : 0;
        if (rc < 0 && rc != -EAGAIN)
            attach_conn_lost(a, &a->taps[i]);
    }
}

static int timeout_of(const struct attach *a)
{
    int ms = attach_conns_timeout_ms(a);

    return a->pipe_broke_ms != 0 && (ms < 0 || ms > PIPE_MS) ? PIPE_MS : ms;
}

static void loop(struct attach *a)
{
    struct pollfd p[POLL_COUNT];

    while (!a->done) {
        attach_conns_maintain(a);
        if (a->done)
            break;
        send_pending(a);
        set_interest(a, p);
        if (poll(p, POLL_COUNT, timeout_of(a)) < 0 && errno != EINTR)
            break;
        turn(a, p);
        if (a->pipe_broke_ms != 0 && clock_mono_ms() - a->pipe_broke_ms >= PIPE_MS)
            end_deaf_process(a);
    }
}

/* --- beginning and end --------------------------------------------------------------------- */

static int prepare(struct attach *a)
{
    const char *keys = a->o->detach_keys != NULL ? a->o->detach_keys : DETACH_KEYS_DEFAULT;
    bool split = a->o->input && !a->o->pty;

    if (!detach_keys_parse(&a->keys, keys))
        return command_complain(
            a->call, CLI_USAGE,
            "--detach-keys must be a list such as ctrl-p,ctrl-q or ctrl-a,d; '' disables it");
    a->taps[0] = (struct attach_conn){.ws.wire.fd = -1, .output = true, .input = !split};
    a->taps[1] = (struct attach_conn){.ws.wire.fd = -1, .input = true};
    a->tap_count = split ? 2 : 1;
    a->ack = !a->o->pty || !a->o->input;
    a->guarded = a->o->pty && isatty(STDOUT_FILENO);
    sink_open(&a->sinks[0], STDOUT_FILENO);
    sink_open(&a->sinks[1], STDERR_FILENO);
    a->signal_fd = user_terminal_signals();
    if (a->signal_fd < 0)
        return command_complain(a->call, CLI_FAILED, "signals: %s", strerror(-a->signal_fd));
    return 0;
}

static void drain_sinks(struct attach *a)
{
    int i;

    for (i = 0; i < 2; i++)
        if (sink_drain(&a->sinks[i]) == -EPIPE)
            a->pipe_broke_ms = 1;
}

/* If output could not be written, we fail even if the process succeeded. */
static void report_unwritten(struct attach *a)
{
    int i;

    for (i = 0; i < 2; i++) {
        int failed = a->sinks[i].failed;

        if (failed == 0 || failed == -EPIPE)
            continue;
        command_complain(a->call, CLI_FAILED, "cannot write: %s", strerror(-failed));
        a->code = a->code != CLI_OK ? a->code : CLI_FAILED;
    }
}

/* Writes everything that was received, then restores the terminal. */
static void finish(struct attach *a)
{
    int i;

    if (a->taps[0].up && !a->taps[0].ended && !a->left) {
        client_ws_send_close(&a->taps[0].ws, WS_CODE_NORMAL);
        client_conn_flush(&a->taps[0].ws.wire);
    }
    if (a->guarded)
        screen_guard_reset(&a->guard, &a->sinks[0].buf);
    if (!user_terminal_is_raw())
        user_terminal_signals_default();
    drain_sinks(a);
    user_terminal_set_farewell("", 0);
    user_terminal_restore();
    report_unwritten(a);
    for (i = 0; i < 2; i++) {
        client_ws_close(&a->taps[i].ws);
        sink_close(&a->sinks[i]);
    }
    unsent_input_fini(&a->typed);
    io_close(&a->signal_fd);
    if (a->pipe_broke_ms != 0)
        user_terminal_die_of(SIGPIPE);
}

int attach_run(const struct client_call *call, const struct attach_options *o)
{
    struct attach a = {.call = call, .o = o, .signal_fd = -1};
    int rc = prepare(&a);

    if (rc == 0)
        rc = attach_conn_open_first(&a);
    if (rc == 0 && o->raw && user_terminal_raw(!o->pty) < 0)
        rc = command_complain(call, CLI_FAILED, "cannot set the terminal to raw mode: %s",
                              strerror(errno));
    if (rc == 0)
        loop(&a);
    finish(&a);
    if (rc != 0)
        return rc;
    if (a.left && o->raw && !o->read_only && !o->ends)
        fprintf(stderr, "\nholdfast: detached; the process is still running: holdfast attach %s\n",
                o->id);
    return a.code;
}
