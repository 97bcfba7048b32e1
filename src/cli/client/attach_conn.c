/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_conn.c - the connections of an attached process, reopened when they break
 *
 * Layer: cli.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"
#include "cli/client/attach_own.h"
#include "cli/client/user_terminal.h"

#define OPEN_MS 5000
#define RETRY_FIRST_MS 20
#define RETRY_MOST_MS 1000
#define PATIENCE_MS 1000 /* a shorter outage is reported only when it is over */
/*
 * Only silence reveals a connection that died without a FIN or RST. The daemon pings every 20 s; if
 * a proxy swallows those pings, the proxy answers our own.
 */
#define SILENCE_PING_MS 30000
#define SILENCE_MS 45000
#define INPUT_FRAME_BYTES (32 * 1024)

static void tap_take_all(struct attach *a, struct attach_conn *l);

/* --- opening ------------------------------------------------------------------------ */

static void write_query(struct attach *a, const struct attach_conn *l, struct buf *out)
{
    /* The daemon does not hold a process back for a read-only connection. A pipe needs every byte,
     * and the owner forwards signals; a terminal that only displays output may miss some. */
    bool reads = !a->o->read_only && (a->o->input || !a->o->pty || a->o->as_written);
    uint16_t rows, cols;

    buf_printf(out, "/v1/processes/%s/connect?mode=%s", a->o->id,
               reads || a->o->owner ? "rw" : "ro");
    if (!l->output)
        buf_puts(out, "&output=0");
    else if (a->placed)
        buf_printf(out, "&since=%llu", (unsigned long long)a->at);
    else if (a->o->since != NULL) {
        buf_puts(out, "&since=");
        fetch_escape(out, a->o->since);
    }
    if (l->output && a->ack)
        buf_puts(out, "&ack=1");
    if (l->output && a->o->as_written)
        buf_puts(out, "&terminal=0");
    if (l->input && a->o->input)
        buf_printf(out, "&client=%s", a->client);
    if (l->output && a->o->raw && !a->o->read_only && user_terminal_size(&rows, &cols))
        buf_printf(out, "&rows=%u&cols=%u", rows, cols);
}

/* 0, -errno (retry), or an exit code > 0 after an error message. */
static int tap_open(struct attach *a, struct attach_conn *l, struct hf_error *err)
{
    struct fetch_reply refusal;
    struct buf path = {0};
    int rc;

    write_query(a, l, &path);
    rc = client_ws_open(&l->ws, &a->call->place, buf_cstr(&path), OPEN_MS, &refusal, err);
    buf_fini(&path);
    attach_conn_is_heard(l);
    if (rc == 0)
        return 0;
    if (refusal.status == 0)
        return rc;
    if ((a->placed || a->o->owner) && request_may_retry(refusal.status)) {
        snprintf(err->detail, sizeof err->detail, "%s returned status %d", a->call->place.url,
                 refusal.status);
    } else {
        rc = CLI_NO_DAEMON;
        user_terminal_restore();
        request_print_problem(a->call, &refusal);
    }
    fetch_reply_fini(&refusal);
    return rc;
}

static void make_client_name(char *out, size_t size)
{
    uint8_t raw[8];
    char hex[2 * sizeof raw + 1];

    crypto_random(raw, sizeof raw);
    hex_encode(hex, raw, sizeof raw);
    snprintf(out, size, "cli-%s", hex);
}

/* The owner has just talked to the daemon, and a reset means that there is one: retry. */
static bool is_worth_another(const struct attach *a, int rc)
{
    return a->o->owner || rc == -ECONNRESET || rc == -EPIPE;
}

int attach_conn_open_first(struct attach *a)
{
    struct hf_error err = {0};
    int i, rc = 0;

    make_client_name(a->client, sizeof a->client);
    for (i = 0; i < a->tap_count && rc == 0; i++) {
        rc = tap_open(a, &a->taps[i], &err);
        if (rc < 0 && is_worth_another(a, rc)) {
            attach_conn_lost(a, &a->taps[i]);
            rc = 0;
        } else if (rc < 0) {
            rc = request_print_unreachable(a->call, &err);
        }
    }
    for (i = 0; i < a->tap_count && rc == 0; i++)
        tap_take_all(a, &a->taps[i]);
    return rc;
}

/* --- losing a connection and reopening it ---------------------------------------------- */

static uint64_t next_delay(struct attach_conn *l)
{
    uint64_t delay = RETRY_FIRST_MS << (l->tries < 6 ? l->tries : 6);
    uint8_t jitter;

    l->tries++;
    crypto_random(&jitter, 1);
    delay = delay < RETRY_MOST_MS ? delay : RETRY_MOST_MS;
    return delay / 2 + delay * jitter / 512; /* half the delay, plus up to half at random */
}

void attach_conn_lost(struct attach *a, struct attach_conn *l)
{
    uint64_t now = clock_mono_ms();

    client_ws_close(&l->ws);
    l->up = false;
    if (l->ended || a->done)
        return;
    if (l->output && a->down_ms == 0)
        a->down_ms = now;
    l->retry_at_ms = now + next_delay(l);
}

static void tap_try(struct attach *a, struct attach_conn *l, uint64_t now)
{
    struct hf_error err = {0};
    int rc = tap_open(a, l, &err);

    if (rc == 0) {
        tap_take_all(a, l); /* bytes that came with the handshake */
    } else if (rc > 0) {
        attach_end(a, rc);
    } else {
        l->retry_at_ms = clock_mono_ms() + next_delay(l);
        if (a->down_ms != 0 && now - a->down_ms >= (uint64_t)a->o->retry_ms)
            attach_fail(a, "cannot reconnect: ", err.detail);
    }
}

static uint64_t silent_ms(const struct attach_conn *l)
{
    return clock_mono_ms() - l->heard_ms;
}

/* Bytes waiting in the socket count as heard: we may have been stopped in the meantime. */
static void tap_check_silence(struct attach *a, struct attach_conn *l)
{
    if (silent_ms(l) >= SILENCE_PING_MS)
        attach_conn_receive(a, l);
    if (l->ws.wire.fd < 0 || silent_ms(l) < SILENCE_PING_MS)
        return;
    if (silent_ms(l) >= SILENCE_MS) {
        attach_conn_lost(a, l);
    } else if (!l->pinged) {
        l->pinged = true;
        client_ws_send(&l->ws, WS_OP_PING, "", 0);
    }
}

static uint64_t silence_due_ms(const struct attach_conn *l)
{
    return l->heard_ms + (l->pinged ? SILENCE_MS : SILENCE_PING_MS);
}

void attach_conns_maintain(struct attach *a)
{
    uint64_t now = clock_mono_ms();
    int i;

    for (i = 0; i < a->tap_count && !a->done; i++) {
        struct attach_conn *l = &a->taps[i];

        if (l->ws.wire.fd >= 0)
            tap_check_silence(a, l);
        else if (!l->ended && now >= l->retry_at_ms)
            tap_try(a, l, now);
    }
    if (!a->done && a->down_ms != 0 && !a->reported_down && now - a->down_ms >= PATIENCE_MS) {
        a->reported_down = true;
        attach_say(a, "connection lost; reconnecting");
    }
}

int attach_conns_timeout_ms(const struct attach *a)
{
    uint64_t now = clock_mono_ms(), due = UINT64_MAX;
    int i;

    for (i = 0; i < a->tap_count; i++) {
        const struct attach_conn *l = &a->taps[i];
        uint64_t at = l->ws.wire.fd >= 0 ? silence_due_ms(l)
                      : !l->ended        ? l->retry_at_ms
                                         : UINT64_MAX;

        due = at < due ? at : due;
    }
    if (a->down_ms != 0 && !a->reported_down && a->down_ms + PATIENCE_MS < due)
        due = a->down_ms + PATIENCE_MS;
    if (due == UINT64_MAX)
        return -1;
    return due > now ? (int)(due - now) : 0;
}

/* --- receiving ---------------------------------------------------------------------------- */

static void tap_take_all(struct attach *a, struct attach_conn *l)
{
    struct wsock_item item;

    while (!a->done && l->ws.wire.fd >= 0) {
        switch (client_ws_next(&l->ws, &item)) {
        case WSOCK_MORE: return;
        case WSOCK_BYTES:
            if (l->output)
                attach_take_bytes(a, item.bytes, item.len);
            break;
        case WSOCK_TEXT: attach_take_message(a, l, item.bytes, item.len); break;
        case WSOCK_CLOSED: attach_take_close(a, l, &item); return;
        case WSOCK_BROKEN: attach_conn_lost(a, l); return;
        }
    }
}

void attach_conn_is_heard(struct attach_conn *l)
{
    l->heard_ms = clock_mono_ms();
    l->pinged = false;
}

void attach_conn_receive(struct attach *a, struct attach_conn *l)
{
    int rc = client_conn_receive(&l->ws.wire);

    if (rc > 0) {
        attach_conn_is_heard(l);
        tap_take_all(a, l);
    } else if (rc != -EAGAIN) {
        attach_conn_lost(a, l);
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

void attach_conn_send_json(struct attach_conn *l, const char *fmt, ...)
{
    char json[160];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(json, sizeof json, fmt, ap);
    va_end(ap);
    client_ws_send(&l->ws, WS_OP_TEXT, json, strlen(json));
}

void attach_send_signal(struct attach *a, const char *name, const char *target)
{
    attach_conn_send_json(&a->taps[0], "{\"type\":\"signal\",\"signal\":\"%s\",\"target\":\"%s\"}",
                          name, target);
}

void attach_send_size(struct attach *a)
{
    uint16_t rows, cols;

    if (!a->o->read_only && a->o->raw && a->taps[0].up && user_terminal_size(&rows, &cols))
        attach_conn_send_json(&a->taps[0], "{\"type\":\"resize\",\"rows\":%u,\"cols\":%u}", rows,
                              cols);
}

void attach_send_input(struct attach *a)
{
    struct attach_conn *l = &a->taps[a->tap_count - 1];
    const char *bytes;
    size_t n;

    if (!l->up || !a->o->input)
        return;
    /* Queue only what the socket accepts; the rest stays in the input buffer, which is bounded. */
    while (l->ws.wire.out.len < INPUT_FRAME_BYTES &&
           (n = unsent_input_next(&a->typed, INPUT_FRAME_BYTES, &bytes)) > 0)
        client_ws_send(&l->ws, WS_OP_BINARY, bytes, n);
    if (unsent_input_eof_is_due(&a->typed)) {
        attach_conn_send_json(l, "{\"type\":\"eof\"}");
        a->typed.eof_sent = true;
    }
}

/*
 * Output in our memory survives a lost connection, but it must not grow without bound: acknowledge
 * only what is written.
 */
void attach_send_ack(struct attach *a)
{
    uint64_t written = a->at - (a->sinks[0].buf.len + a->sinks[1].buf.len);

    if (!a->ack || !a->taps[0].up || written <= a->acked || written > a->at)
        return;
    a->acked = written;
    attach_conn_send_json(&a->taps[0], "{\"type\":\"ack\",\"offset\":%llu}",
                          (unsigned long long)written);
}
