/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_receive.c - handles output and messages received from the daemon
 *
 * Layer: cli.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/client/attach_own.h"
#include "cli/client/client_print.h"
#include "cli/client/user_terminal.h"

void attach_end(struct attach *a, int code)
{
    if (a->done)
        return;
    a->done = true;
    a->code = code;
}

void attach_fail(struct attach *a, const char *what, const char *detail)
{
    user_terminal_restore();
    attach_end(a, command_complain(a->call, CLI_NO_DAEMON, "%s%s", what, detail));
}

/* --- messages of the client -------------------------------------------------------------- */

/* In full-screen mode, use the last line, where the message does not scroll the screen. */
static void put_line(const struct attach *a, const char *text, struct buf *out)
{
    if (a->guarded && screen_guard_is_full_screen(&a->guard))
        buf_printf(out, "\0337\033[999;1H\033[0;7mholdfast: %s\033[0m\033[K\0338", text);
    else if (user_terminal_is_raw())
        buf_printf(out, "\r\nholdfast: %s\r\n", text);
    else
        buf_printf(out, "holdfast: %s\n", text);
}

void attach_say(struct attach *a, const char *fmt, ...)
{
    char text[400];
    struct buf line = {0};
    va_list ap;

    if (a->o->quiet)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_line(a, text, &line);
    sink_put(&a->sinks[1], buf_data(&line), line.len);
    /* This is not process output, so it must not be in the count of unwritten bytes. */
    sink_drain(&a->sinks[1]);
    buf_fini(&line);
}

/* --- bytes -------------------------------------------------------------------------------- */

/* Restores the terminal if a catchable signal kills us. */
static void prepare_farewell(const struct attach *a)
{
    struct screen_guard copy = a->guard;
    struct buf out = {0};

    screen_guard_reset(&copy, &out);
    user_terminal_set_farewell(out.len > 0 ? buf_data(&out) : "", out.len);
    buf_fini(&out);
}

static void deliver(struct attach *a, const char *bytes, size_t len)
{
    bool silent = a->stream == 0 ? a->o->no_stdout : a->o->no_stderr;

    if (silent)
        return;
    if (!a->guarded) {
        sink_put(&a->sinks[a->stream], bytes, len);
        return;
    }
    screen_guard_feed(&a->guard, bytes, len, &a->sinks[0].buf);
    prepare_farewell(a);
}

void attach_take_bytes(struct attach *a, const char *bytes, size_t len)
{
    size_t n = a->snapshot_left < len ? (size_t)a->snapshot_left : len;

    deliver(a, bytes, len);
    a->snapshot_left -= n;
    a->at += len - n;
}

/* --- messages ------------------------------------------------------------------------------- */

static void on_back(struct attach *a)
{
    uint64_t away = clock_mono_ms() - a->down_ms;

    a->down_ms = 0;
    a->reported_down = false;
    attach_say(a, "reconnected after %.1f s; nothing was lost", (double)away / 1000);
    if (a->guarded && screen_guard_is_full_screen(&a->guard))
        attach_send_signal(a, "WINCH",
                           "foreground"); /* a full-screen program redraws over our message */
}

static void on_hello(struct attach *a, struct attach_conn *l, const json_t *m)
{
    l->up = true;
    l->tries = 0;
    if (l->input && a->o->input)
        unsent_input_on_hello(&a->typed, (uint64_t)request_json_number(m, "input_offset"));
    if (!l->output)
        return;
    a->snapshot_left = 0;
    if (!a->placed) {
        a->at = a->acked = (uint64_t)request_json_number(m, "offset");
        a->placed = true;
        /* The owner has just started the process, so its terminal queries are for us. */
        a->guard.replaying = a->guarded && !a->o->owner;
    }
    if (a->down_ms != 0)
        on_back(a);
}

static void on_gap(struct attach *a, const json_t *m)
{
    uint64_t from = (uint64_t)request_json_number(m, "from"),
             to = (uint64_t)request_json_number(m, "to");

    a->at = a->acked = to;
    /* A snapshot follows: its screen is all that a terminal can still show. */
    if (!a->guarded || a->o->as_written)
        attach_say(a, "%llu bytes of output (%llu to %llu) are no longer kept",
                   (unsigned long long)(to - from), (unsigned long long)from,
                   (unsigned long long)to);
}

static void on_exit_message(struct attach *a, const json_t *m)
{
    const json_t *code = json_object_get(m, "exit_code");

    a->taps[0].ended = true;
    if (json_is_integer(code)) {
        attach_end(a, a->o->zero_exit ? CLI_OK : (int)json_integer_value(code));
        return;
    }
    attach_fail(a, "the process has ended, but its exit status is unknown", "");
}

static void on_error(struct attach *a, const json_t *m)
{
    const char *code = request_json_text(m, "code");

    if (strcmp(code, "stdin_closed") == 0 || strcmp(code, "not_running") == 0)
        unsent_input_stop(&a->typed);
    else if (a->pipe_broke_ms == 0)
        attach_say(a, "%s (%s)", request_json_text(m, "detail"), code);
}

static void on_replay_done(struct attach *a)
{
    /* as_written replays terminal queries, too; our terminal must never answer those. */
    a->guard.replaying = a->guarded && a->o->as_written;
    if (a->o->stop_at_replay)
        attach_end(a, CLI_OK);
}

static void on_snapshot(struct attach *a, const json_t *m)
{
    a->snapshot_left = (uint64_t)request_json_number(m, "bytes");
    a->at = a->acked = (uint64_t)request_json_number(m, "offset");
    /* A snapshot draws the whole screen: clear ours first. */
    if (a->guarded)
        sink_put(&a->sinks[0], "\033[H\033[2J", 7);
}

void attach_take_message(struct attach *a, struct attach_conn *l, const char *text, size_t len)
{
    json_auto_t *m = json_parse(text, len, NULL);
    const char *type = request_json_text(m, "type");

    if (strcmp(type, "hello") == 0)
        on_hello(a, l, m);
    else if (strcmp(type, "input_ack") == 0)
        unsent_input_on_ack(&a->typed, (uint64_t)request_json_number(m, "offset"));
    else if (strcmp(type, "error") == 0)
        on_error(a, m);
    else if (strcmp(type, "exit") == 0 && !l->output)
        l->ended = true;
    else if (!l->output)
        return;
    else if (strcmp(type, "stream") == 0)
        a->stream = strcmp(request_json_text(m, "name"), "stderr") == 0;
    else if (strcmp(type, "gap") == 0)
        on_gap(a, m);
    else if (strcmp(type, "snapshot") == 0)
        on_snapshot(a, m);
    else if (strcmp(type, "replay_done") == 0)
        on_replay_done(a);
    else if (strcmp(type, "exit") == 0)
        on_exit_message(a, m);
}

/* --- the other side closes ------------------------------------------------------------------- */

/* Why the connection will not be reopened; NULL: it may be. */
static const char *final_reason(const struct attach *a, int code)
{
    switch (code) {
    case 4404:
        return a->placed ? "the process no longer exists: the daemon was restarted"
                         : "no such process; holdfast ps -a lists them";
    case 4401: return "the token was replaced; attach again with the new one";
    case 4410: return "this link has expired or was revoked; request a new one";
    default: return NULL;
    }
}

void attach_take_close(struct attach *a, struct attach_conn *l, const struct wsock_item *item)
{
    const char *final = final_reason(a, item->code);
    char reason[160];

    snprintf(reason, sizeof reason, "%.*s (%d)", (int)item->len, item->bytes, item->code);
    if (l->ended || a->left) {
        attach_conn_lost(a, l);
        if (a->left)
            attach_end(a, CLI_OK);
    } else if (final != NULL) {
        attach_fail(a, final, "");
    } else if (item->code == WS_CODE_POLICY || item->code == WS_CODE_INTERNAL ||
               (item->code == WS_CODE_NORMAL && l->output)) {
        attach_fail(a, "the daemon closed the connection: ", reason);
    } else {
        attach_conn_lost(a, l);
    }
}
