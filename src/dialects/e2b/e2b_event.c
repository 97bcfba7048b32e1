/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_event.c - writes the events of a process in JSON and protobuf. Layer: dialects.
 */
#include "dialects/e2b/e2b_event.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Field numbers of ProcessEvent, DataEvent and EndEvent. */
enum { EVENT_START = 1, EVENT_DATA = 2, EVENT_END = 3, EVENT_KEEPALIVE = 4 };
enum { DATA_STDOUT = 1, DATA_STDERR = 2, DATA_PTY = 3 };
enum { END_EXIT_CODE = 1, END_EXITED = 2, END_STATUS = 3, END_ERROR = 4 };

/* --- the end as text ---------------------------------------------------------------- */

/* As Go prints them; clients compare. */
static const char *signal_words(int signum)
{
    static const struct {
        int signum;
        const char *words;
    } rows[] = {
        {SIGHUP, "hangup"},
        {SIGINT, "interrupt"},
        {SIGQUIT, "quit"},
        {SIGILL, "illegal instruction"},
        {SIGTRAP, "trace/breakpoint trap"},
        {SIGABRT, "aborted"},
        {SIGBUS, "bus error"},
        {SIGFPE, "floating point exception"},
        {SIGKILL, "killed"},
        {SIGUSR1, "user defined signal 1"},
        {SIGSEGV, "segmentation fault"},
        {SIGUSR2, "user defined signal 2"},
        {SIGPIPE, "broken pipe"},
        {SIGALRM, "alarm clock"},
        {SIGTERM, "terminated"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].signum == signum)
            return rows[i].words;
    return NULL;
}

static void signal_text(const struct exit_record *x, struct end_text *out)
{
    const char *words = signal_words(x->signum);
    char number[24];

    snprintf(number, sizeof number, "signal %d", x->signum);
    snprintf(out->status, sizeof out->status, "signal: %s%s", words != NULL ? words : number,
             x->core_dumped ? " (core dumped)" : "");
    /* The reason, if it was not a client's signal: the original leaves users to guess. */
    snprintf(out->error, sizeof out->error, "%s%s", out->status,
             x->kind == EXIT_TIMED_OUT       ? " (deadline exceeded)"
             : x->kind == EXIT_OUT_OF_MEMORY ? " (out of memory)"
                                             : "");
}

void e2b_end_text(const struct exit_record *x, struct end_text *out)
{
    *out = (struct end_text){.exit_code = x->code};
    if (x->kind == EXIT_LOST) {
        snprintf(out->status, sizeof out->status, "lost");
        snprintf(out->error, sizeof out->error, "the exit status was lost");
    } else if (x->signum > 0) {
        signal_text(x, out);
    } else {
        out->exited = true;
        snprintf(out->status, sizeof out->status, "exit status %d", x->code);
        if (x->code != 0)
            snprintf(out->error, sizeof out->error, "%s", out->status);
    }
}

/* --- JSON ------------------------------------------------------------------------------ */

/* Reserves the envelope's head, which is known at the end. */
static size_t open_envelope(struct buf *out)
{
    char head[RPC_HEAD_BYTES] = {0};

    buf_put(out, head, sizeof head);
    return out->len;
}

static void shut_envelope(struct buf *out, size_t at)
{
    e2b_rpc_head(buf_data(out) + at - RPC_HEAD_BYTES, 0, out->len - at);
}

static void json_end(struct buf *out, const struct end_text *t)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kopen(&o, "event", '{');
    json_kopen(&o, "end", '{');
    json_kint(&o, "exitCode", t->exit_code); /* even 0: some clients take absence for unknown */
    json_kbool(&o, "exited", t->exited);
    json_kstr(&o, "status", t->status);
    if (t->error[0] != '\0')
        json_kstr(&o, "error", t->error);
    json_close(&o, '}');
    json_close(&o, '}');
    json_close(&o, '}');
}

/* --- protobuf ----------------------------------------------------------------------------- */

static void wire_event(struct buf *out, uint32_t number, const struct buf *message)
{
    struct buf event = {0};

    pb_put_bytes(&event, number, buf_data(message), message->len);
    pb_put_bytes(out, 1, buf_data(&event), event.len);
    buf_fini(&event);
}

static void wire_end(struct buf *out, const struct end_text *t)
{
    struct buf end = {0};
    int32_t code = t->exit_code;

    if (code != 0) /* a signed number in zigzag form */
        pb_put_number(&end, END_EXIT_CODE, ((uint32_t)code << 1) ^ (code < 0 ? UINT32_MAX : 0));
    if (t->exited)
        pb_put_number(&end, END_EXITED, 1);
    pb_put_bytes(&end, END_STATUS, t->status, strlen(t->status));
    if (t->error[0] != '\0')
        pb_put_bytes(&end, END_ERROR, t->error, strlen(t->error));
    wire_event(out, EVENT_END, &end);
    buf_fini(&end);
}

static void wire_start(struct buf *out, pid_t pid)
{
    struct buf start = {0};

    pb_put_number(&start, 1, (uint32_t)pid);
    wire_event(out, EVENT_START, &start);
    buf_fini(&start);
}

/* --- either codec ------------------------------------------------------------------------- */

void e2b_event_start(struct buf *out, enum rpc_codec codec, pid_t pid)
{
    size_t at = open_envelope(out);

    if (codec == RPC_JSON)
        buf_printf(out, "{\"event\":{\"start\":{\"pid\":%ld}}}", (long)pid);
    else
        wire_start(out, pid);
    shut_envelope(out, at);
}

void e2b_event_keepalive(struct buf *out, enum rpc_codec codec)
{
    size_t at = open_envelope(out);
    struct buf none = {0};

    if (codec == RPC_JSON)
        buf_puts(out, "{\"event\":{\"keepalive\":{}}}");
    else
        wire_event(out, EVENT_KEEPALIVE, &none);
    shut_envelope(out, at);
}

void e2b_event_end(struct buf *out, enum rpc_codec codec, const struct exit_record *x)
{
    size_t at = open_envelope(out);
    struct end_text t;

    e2b_end_text(x, &t);
    if (codec == RPC_JSON)
        json_end(out, &t);
    else
        wire_end(out, &t);
    shut_envelope(out, at);
}

static bool wire_data(struct buf *out, const struct slice *s)
{
    static const char fields[] = {
        [STREAM_TTY] = DATA_PTY << 3 | 2,
        [STREAM_STDOUT] = DATA_STDOUT << 3 | 2,
        [STREAM_STDERR] = DATA_STDERR << 3 | 2,
    };
    char inner[12], data[12], event[12], head[RPC_HEAD_BYTES];
    size_t n, d, v;

    inner[0] = fields[s->stream];
    n = 1 + pb_varint(inner + 1, s->len);
    data[0] = EVENT_DATA << 3 | 2;
    d = 1 + pb_varint(data + 1, n + s->len);
    event[0] = 1 << 3 | 2;
    v = 1 + pb_varint(event + 1, d + n + s->len);
    e2b_rpc_head(head, 0, v + d + n + s->len);
    buf_put(out, head, sizeof head);
    buf_put(out, event, v);
    buf_put(out, data, d);
    buf_put(out, inner, n);
    return true;
}

bool e2b_event_data(struct buf *out, enum rpc_codec codec, const struct slice *s)
{
    static const char *const names[] = {
        [STREAM_TTY] = "pty",
        [STREAM_STDOUT] = "stdout",
        [STREAM_STDERR] = "stderr",
    };
    size_t at;

    if (codec == RPC_PROTO)
        return wire_data(out, s);
    at = open_envelope(out);
    buf_puts(out, "{\"event\":{\"data\":{\"");
    buf_puts(out, names[s->stream]);
    buf_puts(out, "\":\"");
    base64_encode(out, s->bytes, s->len);
    buf_puts(out, "\"}}}");
    shut_envelope(out, at);
    return false;
}
