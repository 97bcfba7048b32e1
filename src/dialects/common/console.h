/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h - a WebSocket attached to a process, as in nearly every platform's terminal API
 *
 * A viewer whose output is sent as frames, input with back-pressure, and an orderly end. Platforms
 * differ in the framing of the bytes, which the ops supply. A console is freed with its WebSocket;
 * when the server shuts down it is closed with 1001. It is a call (call.h) without a request.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_CONSOLE_H
#define HF_DIALECTS_COMMON_CONSOLE_H

#include "base/json.h"
#include "dialects/common/call.h"
#include "engine/stream/lease.h"
#include "engine/stream/viewer.h"
#include "transport/ws.h"

struct console;

#define CONSOLE_GATE_MS 5000 /* long enough for a client on a busy machine */

/* Each may be NULL; the default is in brackets. */
struct console_ops {
    /* Sends what must precede further output; called whenever there is room. False: it stopped for
     * lack of room [nothing]. */
    bool (*ahead)(struct console *c);
    /* Output [a binary frame of the bytes as they are]. */
    void (*bytes)(struct console *c, const struct slice *s);
    /* [from, to) is no longer kept [sends nothing, so provide this one]. */
    void (*gap)(struct console *c, uint64_t from, uint64_t to);
    /* The output kept at the time of the attach has been sent, up to this offset. */
    void (*replay_done)(struct console *c, uint64_t offset);
    /* Snapshots of the screen, as in viewer.h [the kept bytes are sent instead]. */
    void (*snapshot)(struct console *c, uint64_t offset, size_t len);
    void (*snapshot_bytes)(struct console *c, const char *bytes, size_t len);
    /* After the last byte [closes with 1000]. */
    void (*exited)(struct console *c, const struct exit_record *x);
    void (*notice)(struct console *c, const struct viewer_notice *n);
    /* A text frame [input]. */
    void (*text)(struct console *c, const char *text, size_t len);
    /* A text frame was longer than text_max and was skipped [closes with 1009]. */
    void (*too_long)(struct console *c);
    /* A piece of a binary frame; returns how many bytes were accepted, as in ws.h [input]. */
    size_t (*binary)(struct console *c, const void *bytes, size_t len, bool last);
    /* So many bytes of input were accepted, or dropped with err [nothing]. */
    void (*typed)(struct console *c, size_t len, const struct hf_error *err);
    /* There is room again; called before further output [nothing]. */
    void (*room)(struct console *c);
    /* Input was refused, reported once per message, or a size: the client may only watch, another
     * holds the lease, stdin is closed, or the size is out of range. */
    void (*refused)(struct console *c, const struct hf_error *err);
    /* Called just before the console is freed; code: the peer's. 0: the dialect is freed. */
    void (*closed)(struct console *c, int code);
};

struct console_open {
    struct process *process;      /* NULL: none yet; see console_begin() */
    struct viewer_options viewer; /* read_only and role follow the token unless set */
    const struct console_ops *ops;
    void *user;
    size_t text_max;      /* limit of text frames; 0: the default */
    const char *protocol; /* an offered subprotocol, or NULL */
    /* Send nothing until the client has sent a pong or a message, for at most CONSOLE_GATE_MS: some
     * clients start to listen only some time after the 101, and lose earlier frames. */
    bool gate;
};

/*
 * Replies 101 and attaches; no op is called before the next turn, so a greeting can be sent first.
 * NULL with err->code set: it could not attach, and the caller must reply. NULL with err->code 0:
 * the request was not an upgrade, and the reply was sent.
 */
struct console *console_open(struct http_request *rq, const struct console_open *o,
                             struct hf_error *err);

/* The same where the dialect's struct is the user, and an error gets the dialect's shape. NULL:
 * replied. */
struct console *console_serve(struct http_request *rq, struct console_open *o);

/*
 * Attaches a console that was opened without a process, because its client names the process to
 * start. Earlier input waits: binary input stays unread, with back-pressure to the peer. 0, or a
 * negative errno with err: still not attached.
 */
int console_begin(struct console *c, struct process *p, const struct viewer_options *viewer,
                  struct hf_error *err);

/* Accepts a WebSocket only to send why it is refused; its messages are ignored. NULL: replied. */
struct ws *console_refuse(struct http_request *rq);

void *console_user(const struct console *c);
struct process *console_process(const struct console *c); /* NULL: not yet */
struct viewer *console_viewer(const struct console *c);   /* NULL once it is closing, or not yet */
struct ws *console_ws(const struct console *c);
/* A text frame with this object, which is closed here. */
void console_send_json(struct console *c, struct json_out *o);
/* A text frame {"type":"error","message":"…"}, which several platforms have. */
void console_send_error(struct console *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns how many of these bytes were accepted; the rest is delivered again (for `binary`). */
size_t console_type(struct console *c, const void *bytes, size_t len, bool last);
/* Accepts all bytes: what has no room is buffered, and reading pauses until it is delivered. */
void console_type_all(struct console *c, const void *bytes, size_t len);
/* The client's window has this size, unless it may only watch: then `refused` is called. */
void console_resize(struct console *c, int64_t rows, int64_t cols);
/* Detaches and closes; safe inside the ops. */
void console_close(struct console *c, int code, const char *reason);
bool console_is_closing(const struct console *c);

#endif
