/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - the output of a process as the body of a reply
 *
 * Server-sent events, lines of JSON, Connect, gRPC, plain bytes: platforms differ in the framing,
 * which the ops supply. Attaching, backpressure, receipts, keep-alive, gaps, the exit after the
 * last byte, disconnects and draining are here, once.
 *
 * There are three modes. follow_begin() sends output as the body of an HTTP response. A carried
 * call (call.h) sends it on a connection of another kind. A follower that `gathers` sends nothing:
 * its ops keep the output, and reply when they have enough.
 *
 * A struct follow is the first member of the dialect's own struct from hf_xalloc(), or alone.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FOLLOW_H
#define HF_DIALECTS_COMMON_FOLLOW_H

#include "dialects/common/call.h"
#include "engine/stream/viewer.h"

struct follow;

/* Each may be NULL; the default is in brackets. */
struct follow_ops {
    /* Sends what must precede further output; called whenever there is room. False: it stopped for
     * lack of room [nothing]. */
    bool (*ahead)(struct follow *f);
    void (*bytes)(struct follow *f, const struct slice *s); /* [the bytes as they are] */
    /* [from, to) is no longer kept [aborts: a regular end would claim that nothing is missing; of
     * numbered runs, the number of the next shows it]. */
    void (*gap)(struct follow *f, uint64_t from, uint64_t to);
    /* The output kept at the time of the attach has been sent, up to this offset. */
    void (*replay_done)(struct follow *f, uint64_t offset);
    /* A terminal's screen, in pieces, for SINCE_SCREEN and after a gap [the kept bytes]. */
    void (*snapshot_bytes)(struct follow *f, const char *bytes, size_t len);
    /* The process has ended and all its output is sent: sends what follows. Called whenever there
     * is room, until it returns true; then the stream ends [nothing follows]. If it ends the call
     * itself, it returns false. */
    bool (*exited)(struct follow *f, const struct exit_record *x);
    void (*notice)(struct follow *f, const struct viewer_notice *n);
    /* The daemon drains: sends a last event; then the stream ends [aborts]. */
    void (*drain)(struct follow *f);
    void (*release)(struct follow *f); /* frees what the dialect's struct holds [nothing] */
};

struct follow_open {
    const char *type; /* of the content; NULL: server-sent events */
    int status;       /* 0: 200 */
    /* read_only: set unless `role` is set. guest, name: set, except for a carried call.
     * only_stream counts. */
    struct viewer_options viewer;
    void (*headers)(struct http_request *rq); /* adds the response's headers [none] */
    const char *keep_alive; /* sent after so much silence; NULL: what the type implies */
    uint64_t keep_alive_ms;
    /* The ops keep the output: `ahead` alone decides whether there is room for more, no stream is
     * started, and `exited` replies. Of follow_attach() only. */
    bool gathers;
};

struct follow {
    struct call call;
    const struct follow_ops *ops;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* NULL: the process has ended and its output is sent */
    struct http_stream *out; /* NULL: the call is carried */
    bool runs;               /* each slice is a numbered run */
    bool gathers;
};

/*
 * Takes ownership of f. Attaches, and replies with a stream. A HEAD request gets the head alone,
 * and f is freed. A negative errno: err; no reply was sent, and f is freed.
 */
int follow_begin(struct follow *f, const struct follow_ops *ops, struct http_request *rq,
                 struct process *p, const struct follow_open *o, struct hf_error *err);
/* The same for a call that was begun with follow_kind, and that may be carried: it is a stream of
 * events then. A negative errno: err; the caller replies. A dialect's own kind calls the two
 * functions, or has them as its `release` and `room`. */
extern const struct call_kind follow_kind;
void follow_release(struct call *c);
void follow_room(struct call *c);
int follow_attach(struct follow *f, const struct follow_ops *ops, struct process *p,
                  const struct follow_open *o, struct hf_error *err);
/* The usual case of numbered runs, from this one or from the next as server-sent events. An error
 * gets the dialect's shape; false: so it was, and f is freed. */
bool follow_runs(struct follow *f, const struct follow_ops *ops, struct http_request *rq,
                 struct process *p, uint64_t run);
void follow_write(struct follow *f, const void *bytes, size_t len);
/* An event of a server-sent stream; id 0: none. */
void follow_send(struct follow *f, const char *event, uint64_t id, const struct buf *data);
/* The same with this object, which is closed here. */
void follow_send_json(struct follow *f, const char *event, uint64_t id, struct json_out *o);
/* Reads no more output. For a connection that is about to be closed: its counts are still needed
 * here. */
void follow_detach(struct follow *f);
/* From the ops or from a timer: ends the stream before the process does. f is freed. */
void follow_end(struct follow *f);
void follow_abort(struct follow *f);

#endif
