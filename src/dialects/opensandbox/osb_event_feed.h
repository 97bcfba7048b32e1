/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_event_feed.h - a process's output as execd's stream of events
 *
 * One JSON object per event, "\n\n" behind it: init, ping, stdout and stderr by the line, and one
 * of execution_complete and error at the end. The feed has an offset of its own; the viewer gives
 * the pace: it is not ready before everything is sent. A client that reads nothing for
 * VIEWER_STALL_MS holds the process no longer, and is told what it missed. Embedded by its owner, who frees itself when an op says that
 * it is over.
 *
 * Events of output have a number (eid) by which a stream can be taken up again. It says exactly
 * what the client has: sixteen times the offset behind the event's last byte, and for each of the two
 * streams a bit if its open line was told in part (1, 2), and one if it was told at the end of all
 * output (4, 8). That is enough because an open line was told up to that offset or not at all: one of
 * which a part was told is told further before the other stream goes on. At one offset bits are
 * only added, so numbers rise. They are made of the journal alone and hold for the next worker. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_EVENT_FEED_H
#define HF_DIALECTS_OPENSANDBOX_OSB_EVENT_FEED_H

#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_lines.h"
#include "engine/stream/viewer.h"

struct osb_feed;

struct feed_ops {
    void (*gone)(struct osb_feed *f); /* the client; the stream is dead */
    /* Everything up to `until`, or to the exit (x, else NULL), is sent. */
    void (*over)(struct osb_feed *f, const struct exit_record *x);
};

struct osb_feed {
    struct osb *osb;
    const struct feed_ops *ops;
    struct http_stream *stream; /* NULL: not begun, or over */
    struct process *process;    /* referenced; NULL: nothing to be read yet */
    struct viewer *viewer;
    uint64_t at;    /* next byte to be sent */
    uint64_t until; /* and where to stop */
    uint64_t after; /* the last event that the client has */
    bool skipping;  /* up to that one nothing is told */
    struct lines out, err;
    bool merged; /* stderr is told as stdout */
    bool guest;  /* whoever follows only watches: viewer_options.guest */
    struct timer *ping, *flush;
    uint64_t began_ms;
    struct lines *telling; /* whose events are being written */
    uint64_t place;        /* and the offset behind them */
    bool ending;           /* and that their lines do not go on */
    unsigned ended;        /* the streams of which that was told */
};

void osb_feed_init(struct osb_feed *f, struct osb *o, const struct feed_ops *ops);
void osb_feed_fini(struct osb_feed *f); /* a stream that is still open is cut */
/* Answers 200 and sends init with this id. */
void osb_feed_begin(struct osb_feed *f, struct http_request *rq, const char *id);
/* The client has all events up to this one. To be followed by an attach in front of its offset, or
 * there: lines are then cut anew, and are what they were. */
void osb_feed_resume(struct osb_feed *f, uint64_t after);
uint64_t osb_eid_offset(uint64_t eid);
/* From this offset on. 0, or too_many_viewers. */
int osb_feed_attach(struct osb_feed *f, struct process *p, uint64_t from, struct hf_error *err);
/* No byte from here on; ops->over comes when those before are sent, maybe at once. */
void osb_feed_stop_at(struct osb_feed *f, uint64_t until);
/* A line that no process wrote. */
void osb_feed_say(struct osb_feed *f, const char *text);
/* The last event, and the end of the answer. x NULL: it ended well, as far as anybody knows. */
void osb_feed_end(struct osb_feed *f, const struct exit_record *x);
/* The same where no process says why. */
void osb_feed_fail(struct osb_feed *f, const char *reason);

#endif
