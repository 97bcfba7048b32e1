/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_event_feed.h - a process's output as execd's stream of events
 *
 * One JSON object per event, followed by "\n\n": init, ping, stdout and stderr by the line, and one
 * of execution_complete and error at the end. The feed has its own offset. The viewer sets the
 * pace: it is not ready until everything is sent. A client that reads nothing for VIEWER_STALL_MS
 * no longer pauses the process, and receives a notice of what it missed. A feed is a call, and the
 * first member of the dialect's struct for it; osb_feed_end() and osb_feed_fail() end that call.
 *
 * Output events have a number (eid) by which a client can resume a stream. It encodes exactly what
 * the client has: sixteen times the offset after the event's last byte, and for each of the two
 * streams a bit if its open line was sent in part (1, 2), and one if it was sent at the end of all
 * output (4, 8). That is enough because an open line was sent up to that offset or not at all: a
 * line of which a part was sent is sent further before the other stream continues. At one offset
 * bits are only added, so numbers increase. They are derived from the journal alone, so they are
 * valid for the next worker. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_EVENT_FEED_H
#define HF_DIALECTS_OPENSANDBOX_OSB_EVENT_FEED_H

#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_lines.h"
#include "engine/stream/viewer.h"

struct osb_feed;

/* Everything up to `until`, or to the exit (x, else NULL), is sent. */
typedef void feed_over_fn(struct osb_feed *f, const struct exit_record *x);

struct osb_feed {
    struct call call; /* out: NULL until osb_feed_begin() */
    feed_over_fn *over;
    struct process *process; /* referenced; NULL: no output to read yet */
    struct viewer *viewer;
    uint64_t at;    /* next byte to send */
    uint64_t until; /* and where to stop */
    uint64_t after; /* the last event that the client has */
    bool skipping;  /* sends nothing up to that event */
    struct lines out, err;
    bool merged; /* stderr is sent as stdout */
    bool guest;  /* a client that only watches: viewer_options.guest */
    struct timer *ping, *flush;
    uint64_t began_ms;
    struct lines *emitting; /* the stream whose events are being written */
    uint64_t place;         /* and the offset after them */
    bool ending;            /* and that their lines have ended */
    unsigned ended;         /* the streams for which that was sent */
};

/* Allocates `size` bytes that begin with a feed. The kind needs the two functions below. */
void *osb_feed_new(struct http_request *rq, const struct call_kind *kind, size_t size,
                   feed_over_fn *over);
void osb_feed_release(struct call *c);
void osb_feed_room(struct call *c);
/* Replies 200 and sends init with this id. */
void osb_feed_begin(struct osb_feed *f, const char *id);
/* The client has all events up to this one. Attach next, at its offset or before: lines are then
 * split again, exactly as before. */
void osb_feed_resume(struct osb_feed *f, uint64_t after);
uint64_t osb_eid_offset(uint64_t eid);
/* From this offset on. 0, or too_many_viewers. */
int osb_feed_attach(struct osb_feed *f, struct process *p, uint64_t from, struct hf_error *err);
/* Sends no byte from here on; ops->over is called when those before are sent, maybe before this
 * returns. */
void osb_feed_stop_at(struct osb_feed *f, uint64_t until);
/* A line that no process wrote. */
void osb_feed_say(struct osb_feed *f, const char *text);
/* The last event, and the end of the reply. x NULL: it succeeded, as far as is known. */
void osb_feed_end(struct osb_feed *f, const struct exit_record *x);
/* The same if no process gives the reason. */
void osb_feed_fail(struct osb_feed *f, const char *reason);

#endif
