/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h - a WebSocket on a process: what nearly every platform's terminal is
 *
 * A viewer with its output as frames, input with back-pressure, and an orderly
 * end. What differs between platforms are the frames around the bytes: those are the ops. A
 * console is freed with its WebSocket; the server's own end closes it with 1001.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_CONSOLE_H
#define HF_DIALECTS_COMMON_CONSOLE_H

#include "dialects/common/pending.h"
#include "engine/stream/lease.h"
#include "engine/stream/viewer.h"
#include "transport/ws.h"

struct console;

#define CONSOLE_GATE_MS 5000 /* long enough for a client on a busy machine */

/* Each may be NULL: then what is said in brackets. */
struct console_ops {
    /* What has to be sent before the output goes on; asked whenever there is room. False: it
     * stopped because there is none any more [nothing is]. */
    bool (*ahead)(struct console *c);
    /* Output [a binary frame of the bytes as they are]. */
    void (*bytes)(struct console *c, const struct slice *s);
    /* [from, to) is gone [nothing is said: give this one]. */
    void (*gap)(struct console *c, uint64_t from, uint64_t to);
    /* What was held at the attach has been sent, up to this offset. */
    void (*replay_done)(struct console *c, uint64_t offset);
    /* Snapshots, as in viewer.h [the platform's clients get the bytes]. */
    void (*snapshot)(struct console *c, uint64_t offset, size_t len);
    void (*snapshot_bytes)(struct console *c, const char *bytes, size_t len);
    /* After the last byte [closes with 1000]. */
    void (*exited)(struct console *c, const struct exit_record *x);
    void (*notice)(struct console *c, const struct viewer_notice *n);
    /* A text frame [typed]. */
    void (*text)(struct console *c, const char *text, size_t len);
    /* A text frame was longer than text_max, and has been passed over [it ends with 1009]. */
    void (*too_long)(struct console *c);
    /* A piece of a binary frame; how many bytes were taken, as in ws.h [typed]. */
    size_t (*binary)(struct console *c, const void *bytes, size_t len, bool last);
    /* Input was not taken: only a watcher, another's lease, standard input closed. */
    void (*refused)(struct console *c, const struct hf_error *err);
    /* The end, just before it is freed; code: the peer's. 0: the dialect is freed. */
    void (*closed)(struct console *c, int code);
};

struct console_open {
    struct process *process;      /* NULL: there is none yet; see console_begin() */
    struct viewer_options viewer; /* read_only and role follow the token unless set */
    const struct console_ops *ops;
    void *user;
    struct list *pending; /* of the dialect */
    size_t text_max;      /* longer text frames than usual; 0: as usual */
    const char *protocol; /* one that was offered, or NULL */
    /* Send nothing until the client has answered a ping or sent a message, CONSOLE_GATE_MS at most:
     * some clients begin to listen only some time after the 101, and lose what came before. */
    bool gate;
};

/*
 * Answers 101 and attaches; no op is called before the next turn, so a greeting can be sent first.
 * NULL with err->code set: it could not attach and nothing was answered. NULL with
 * err->code 0: the request was no upgrade, and that was answered.
 */
struct console *console_open(struct http_request *rq, const struct console_open *o,
                             struct hf_error *err);

/*
 * For a console that was opened without a process, because its client says what is to be started:
 * attaches. What is typed before is held, in the peer's own hands as far as it is binary. 0, or a
 * negative errno with err: it is still without.
 */
int console_begin(struct console *c, struct process *p, const struct viewer_options *viewer,
                  struct hf_error *err);

void *console_user(const struct console *c);
struct process *console_process(const struct console *c); /* NULL: not yet */
struct viewer *console_viewer(const struct console *c);   /* NULL once it is closing, or not yet */
struct ws *console_ws(const struct console *c);

/* How many of these bytes were taken; the rest comes again (for `binary`). */
size_t console_type(struct console *c, const void *bytes, size_t len, bool last);
/* All of them: what there is no room for is held, and nothing more is read until it is gone. */
void console_type_all(struct console *c, const void *bytes, size_t len);
/* Detaches and closes; safe inside the ops. */
void console_close(struct console *c, int code, const char *reason);
bool console_is_closing(const struct console *c);

#endif
