/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio_relay.c - the loop: lines from standard input, messages to standard output. Layer: cli.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cli/client/stdio_own.h"

#define READ_BYTES (64 * 1024)
#define FIRST_MESSAGE_MS 2000

/* --- output ---------------------------------------------------------------------------------- */

/* Between tokens a line end means nothing, and inside a string JSON has none. */
void stdio_print(struct stdio *r, const char *text, size_t len)
{
    size_t at = r->out.len;
    char *p, *end;

    buf_put(&r->out, text, len);
    p = buf_data(&r->out) + at;
    for (end = p + len; p < end; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    buf_putc(&r->out, '\n');
}

void stdio_print_json(struct stdio *r, const json_t *message)
{
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    json_value(&o, message);
    stdio_print(r, buf_data(&text), text.len);
    buf_fini(&text);
}

void stdio_print_error(struct stdio *r, const json_t *id, int number, const char *code,
                       const char *detail)
{
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    json_open(&o, '{');
    json_kstr(&o, "jsonrpc", "2.0");
    json_key(&o, "id");
    if (id != NULL)
        json_value(&o, id);
    else
        json_nil(&o);
    json_kopen(&o, "error", '{');
    json_kint(&o, "code", number);
    json_kstr(&o, "message", detail);
    if (code != NULL && code[0] != '\0') {
        json_kopen(&o, "data", '{');
        json_kstr(&o, "code", code);
        json_close(&o, '}');
    }
    json_close(&o, '}');
    json_close(&o, '}');
    stdio_print(r, buf_data(&text), text.len);
    buf_fini(&text);
}

/* A write of this size does not block once poll() has reported room, so the descriptor, which other
 * processes may share, need not become non-blocking. */
static void write_some(struct stdio *r)
{
    ssize_t n =
        hf_write(STDOUT_FILENO, buf_data(&r->out), r->out.len < PIPE_BUF ? r->out.len : PIPE_BUF);

    if (n > 0)
        buf_drop(&r->out, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        r->broken = true;
}

/* --- input ----------------------------------------------------------------------------------- */

static bool take_cancellation(struct stdio *r, const json_t *message, const char *text, size_t len)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");

    return method != NULL && strcmp(method, "notifications/cancelled") == 0 &&
           stdio_session_cancel(r, json_object_get(params, "requestId"), text, len);
}

static void take_message(struct stdio *r, json_t *message, const char *text, size_t len)
{
    struct stdio_call *c;

    if (take_cancellation(r, message, text, len))
        return;
    if (json_object_get(message, "id") != NULL &&
        (r->calls >= LIMIT_CLIENT_MCP_CALLS || len + r->held > LIMIT_CLIENT_MCP_HELD_BYTES)) {
        stdio_print_error(r, json_object_get(message, "id"), RPC_REFUSED_BY_RELAY, "too_many_waits",
                          "too many calls are under way; wait for some of them or cancel them");
        return;
    }
    c = stdio_call_new(r, STDIO_CLIENT, message, text, len);
    stdio_session_note(c);
}

/* Each message of a batch is sent on its own, and replied to on its own. */
static void take_batch(struct stdio *r, const json_t *batch)
{
    size_t i;
    json_t *message;

    json_array_foreach ((json_t *)batch, i, message) {
        struct buf text = {0};
        struct json_out o;

        json_out_init(&o, &text);
        json_value(&o, message);
        take_message(r, message, buf_data(&text), text.len);
        buf_fini(&text);
    }
}

static void take_line(struct stdio *r, const char *line, size_t len)
{
    struct hf_error err = {0};
    json_auto_t *message = NULL;

    while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
        len--;
    if (len == 0)
        return;
    message = json_parse(line, len, &err);
    if (message == NULL)
        stdio_print_error(r, NULL, RPC_PARSE, NULL, err.detail);
    else if (json_array_size(message) > LIMIT_CLIENT_MCP_BATCH)
        stdio_print_error(r, NULL, RPC_INVALID, NULL, "the batch has too many messages");
    else if (json_is_array(message) && json_array_size(message) > 0)
        take_batch(r, message);
    else
        take_message(r, message, line, len);
}

/* False: the line is too long, and an error was sent. */
static bool check_length(struct stdio *r, size_t len)
{
    if (len <= LIMIT_CLIENT_MCP_LINE_BYTES)
        return true;
    if (!r->skips)
        stdio_print_error(r, NULL, RPC_INVALID, "body_too_large", "the message is too long");
    return false;
}

/* Input that is not read yet waits in its pipe. Requests alone never reach this: one too many is
 * refused, so a cancellation is always read. */
static bool is_full(const struct stdio *r)
{
    return r->out.len >= LIMIT_CLIENT_MCP_OUT_BYTES || r->notes >= LIMIT_CLIENT_MCP_CALLS ||
           r->held > LIMIT_CLIENT_MCP_HELD_BYTES;
}

static void take_lines(struct stdio *r)
{
    char *end;

    r->more = false;
    while (r->in.len > 0 && (end = memchr(buf_data(&r->in), '\n', r->in.len)) != NULL) {
        size_t len = (size_t)(end - buf_data(&r->in));

        if (is_full(r)) {
            r->more = true;
            return;
        }
        if (check_length(r, len) && !r->skips)
            take_line(r, buf_data(&r->in), len);
        r->skips = false;
        buf_drop(&r->in, len + 1);
    }
    if (!check_length(r, r->in.len)) {
        r->skips = true;
        buf_clear(&r->in);
    }
}

static void read_some(struct stdio *r)
{
    ssize_t n;

    if (buf_reserve(&r->in, READ_BYTES) < 0)
        return;
    n = hf_read(STDIN_FILENO, buf_data(&r->in) + r->in.len, READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        r->in.len += (size_t)n;
        take_lines(r);
        return;
    }
    r->at_end = true;
    if (r->in.len > 0 && !r->skips) /* a last line without its end */
        take_line(r, buf_data(&r->in), r->in.len);
    buf_clear(&r->in);
}

/* --- sending --------------------------------------------------------------------------------- */

/* Every message that waits gets the reason. */
static void give_up(struct stdio *r, const char *detail)
{
    while (!list_is_empty(&r->waiting))
        stdio_call_refuse(list_entry(r->waiting.next, struct stdio_call, link), "connection_lost",
                          detail);
}

static void not_sent(struct stdio *r, const struct hf_error *err)
{
    uint64_t now = clock_mono_ms();

    r->why = *err;
    stdio_session_note_trouble(r);
    r->retry_at = now + r->pause_ms;
    r->pause_ms = stdio_longer_pause(r->pause_ms);
}

/* Messages are sent in their order: the one before must have left. */
static bool is_sending(const struct stdio *r)
{
    const struct list *last = r->sent.prev;

    return last != &r->sent && list_entry(last, struct stdio_call, link)->stream.wire.out.len > 0;
}

static struct stdio_call *next_waiting(struct stdio *r)
{
    uint64_t now = clock_mono_ms();
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->waiting) {
        struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (now >= c->retry_at && (r->state != STDIO_OPENING || !stdio_call_needs_session(c)))
            return c;
    }
    return NULL;
}

static void send_waiting(struct stdio *r)
{
    struct hf_error err = {0};
    struct stdio_call *c;

    while (clock_mono_ms() >= r->retry_at && !is_sending(r) && (c = next_waiting(r)) != NULL) {
        if (r->state == STDIO_LOST && stdio_call_needs_session(c)) {
            stdio_session_reopen(r);
            continue;
        }
        if (stdio_call_start(c, &err) < 0) {
            not_sent(r, &err);
            return;
        }
        stdio_call_step(c);
    }
}

static void keep_feed(struct stdio *r)
{
    if (r->feed != NULL || r->feed_at == 0 || clock_mono_ms() < r->feed_at)
        return;
    if (r->state == STDIO_LOST) {
        r->feed_at = 0;
        stdio_session_reopen(r);
    } else if (r->state == STDIO_OPEN) {
        stdio_session_open_feed(r);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

static void step_calls(struct stdio *r)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &r->sent)
        stdio_call_step(list_entry(it, struct stdio_call, link));
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || b < a ? b : a;
}

/* Milliseconds until something is due; -1: nothing is. */
static int due_in(const struct stdio *r, uint64_t end)
{
    uint64_t now = clock_mono_ms(), at = end;
    struct list *it, *tmp;

    if (r->more && !is_full(r))
        return 0;
    if (!list_is_empty(&r->waiting) && r->retry_at > now)
        at = sooner(at, r->retry_at);
    list_for_each (it, tmp, (struct list *)&r->waiting) {
        const struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->retry_at > now)
            at = sooner(at, c->retry_at);
        if (c->trouble_since != 0 && c->trouble_since + STDIO_DOWN_MS > now)
            at = sooner(at, c->trouble_since + STDIO_DOWN_MS);
    }
    list_for_each (it, tmp, (struct list *)&r->sent) {
        const struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->cancel_at != 0)
            at = sooner(at, c->cancel_at);
    }
    if (r->feed == NULL && r->feed_at > now)
        at = sooner(at, r->feed_at);
    return at == 0 ? -1 : at <= now ? 0 : (int)(at - now);
}

static size_t put_polls(const struct stdio *r, struct pollfd *p)
{
    bool room = r->out.len < LIMIT_CLIENT_MCP_OUT_BYTES;
    struct list *it, *tmp;
    size_t n = 3;

    p[0] = (struct pollfd){.fd = r->at_end || r->more || is_full(r) ? -1 : STDIN_FILENO,
                           .events = POLLIN};
    p[1] = (struct pollfd){.fd = STDOUT_FILENO, .events = r->out.len > 0 ? POLLOUT : 0};
    p[2] = (struct pollfd){.fd = r->signals, .events = POLLIN};
    list_for_each (it, tmp, (struct list *)&r->sent) {
        const struct client_conn *w = &list_entry(it, struct stdio_call, link)->stream.wire;

        /* A descriptor without events would still report that the daemon closed it. */
        p[n++] = (struct pollfd){.fd = room || w->out.len > 0 ? w->fd : -1,
                                 .events =
                                     (short)((room ? POLLIN : 0) | (w->out.len > 0 ? POLLOUT : 0))};
    }
    return n;
}

static void take_signal(struct stdio *r)
{
    struct signalfd_siginfo info;

    if (hf_read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        r->stopped = (int)info.ssi_signo;
}

/* One turn, which ends at `end` (0: any time). */
static void turn(struct stdio *r, uint64_t end)
{
    struct pollfd *p = hf_xalloc((r->calls + 3) * sizeof *p);
    size_t n = put_polls(r, p);

    if (poll(p, n, due_in(r, end)) > 0) {
        if (p[1].revents & POLLOUT)
            write_some(r);
        else if (p[1].revents & (POLLERR | POLLHUP | POLLNVAL))
            r->broken = true;
        if (p[0].revents != 0)
            read_some(r);
        if (p[2].revents != 0)
            take_signal(r);
    }
    if (r->more)
        take_lines(r);
    free(p);
    step_calls(r);
    stdio_session_expire(r);
    stdio_session_cancel_again(r);
    keep_feed(r);
    send_waiting(r);
}

static bool wants_reply(const struct list *calls)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, (struct list *)calls) {
        const struct stdio_call *c = list_entry(it, struct stdio_call, link);

        if (c->purpose == STDIO_CLIENT && !stdio_call_is(c, "subscriptions/listen"))
            return true;
    }
    return false;
}

static void relay(struct stdio *r)
{
    uint64_t end;

    while (!r->broken && r->stopped == 0 &&
           !(r->at_end && r->out.len == 0 && !wants_reply(&r->waiting) && !wants_reply(&r->sent)))
        turn(r, 0);
    if (r->broken)
        return; /* calls may be under way, and a client that disconnects does not cancel them */
    stdio_session_close(r);
    end = clock_mono_ms() + STDIO_CLOSE_MS;
    while (!r->broken && r->calls > 0 && clock_mono_ms() < end)
        turn(r, end);
}

static void free_calls(struct list *calls)
{
    while (!list_is_empty(calls))
        stdio_call_free(list_entry(calls->next, struct stdio_call, link));
}

static void relay_init(struct stdio *r, struct client_call *call)
{
    *r = (struct stdio){.call = call,
                        .signals = -1,
                        .pause_ms = STDIO_PAUSE_MS,
                        .feed_pause_ms = STDIO_PAUSE_MS,
                        .uris = json_object()};
    list_init(&r->waiting);
    list_init(&r->sent);
}

static void relay_fini(struct stdio *r)
{
    free_calls(&r->waiting);
    free_calls(&r->sent);
    stdio_session_fini(r);
    buf_fini(&r->in);
    buf_fini(&r->out);
}

/* The signals that ask for an exit, unless they are ignored. */
static void block_signals(struct stdio *r, sigset_t *before)
{
    static const int asks[] = {SIGINT, SIGTERM};
    struct sigaction old;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        if (sigaction(asks[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&set, asks[i]);
    sigprocmask(SIG_BLOCK, &set, before);
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signals < 0)
        sigprocmask(SIG_SETMASK, before, NULL);
}

int stdio_relay_run(struct client_call *call)
{
    sigset_t before;
    struct stdio r;

    relay_init(&r, call);
    block_signals(&r, &before);
    relay(&r);
    relay_fini(&r);
    if (r.signals >= 0)
        close(r.signals);
    if (r.stopped != 0)
        raise(r.stopped); /* pending until the next line */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return CLI_OK;
}

/* --- without a daemon ------------------------------------------------------------------------ */

void stdio_relay_refuse(struct client_call *call, const char *detail)
{
    uint64_t end = clock_mono_ms() + FIRST_MESSAGE_MS, now;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    struct stdio r;

    if (isatty(STDIN_FILENO))
        return;
    relay_init(&r, call);
    while (!r.at_end && r.calls == 0 && (now = clock_mono_ms()) < end &&
           poll(&p, 1, (int)(end - now)) > 0)
        read_some(&r);
    give_up(&r, detail);
    while (!r.broken && r.out.len > 0)
        write_some(&r);
    relay_fini(&r);
}
