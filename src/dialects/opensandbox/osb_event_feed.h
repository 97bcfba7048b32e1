/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_event_feed.h - a process's output as execd's stream of events
 *
 * One JSON object per event, followed by "\n\n": init, ping, stdout and stderr by the line, and one
 * of execution_complete and error at the end. A part of a line is sent only to clients that want it
 * (`?partial=1`): all others would put a newline into the line.
 *
 * A feed is only the framing: its owner reads the output, with follow.h or session_follow.h. A
 * client that reads nothing for VIEWER_STALL_MS no longer pauses the process, and receives a notice
 * of what it missed.
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

/* Of one piece of output: if all of it is newlines, it becomes half a megabyte of events. */
#define OSB_FEED_SLICE_BYTES 8192

struct osb_feed {
    struct dialect_base *base;
    struct http_stream *stream; /* NULL: not begun */
    uint64_t at;                /* the next byte of the output */
    uint64_t after;             /* the last event that the client has */
    bool skipping;              /* sends nothing up to that event */
    struct lines out, err;
    bool merged;  /* stderr is sent as stdout */
    bool partial; /* the client wants lines that have not ended, after a silence */
    struct timer *ping, *flush;
    uint64_t began_ms;
    struct lines *emitting; /* the stream whose events are being written */
    uint64_t place;         /* and the offset after them */
    bool ending;            /* and that their lines have ended */
    unsigned ended;         /* the streams for which that was sent */
};

/* The request says which form of text its client understands. */
void osb_feed_init(struct osb_feed *f, const struct http_request *rq, uint64_t began_ms);
void osb_feed_fini(struct osb_feed *f);
void osb_feed_headers(struct http_request *rq); /* of the reply, for follow.h */
/* The stream has started: sends init with this id. */
void osb_feed_begin(struct osb_feed *f, struct http_stream *out, const char *id);
/* The same, and starts the stream of this call before. */
void osb_feed_stream(struct osb_feed *f, struct call *c, const char *id);
/* The client has all events up to this one. Output follows from f->at on, which is at its offset or
 * before: lines are then split again, exactly as before. */
void osb_feed_resume(struct osb_feed *f, uint64_t after);
uint64_t osb_eid_offset(uint64_t eid);
void osb_feed_bytes(struct osb_feed *f, const struct slice *s);
void osb_feed_gap(struct osb_feed *f, uint64_t to); /* output was lost up to this offset */
/* A line that no process wrote. */
void osb_feed_say(struct osb_feed *f, const char *text);
/* The last event. x NULL: it succeeded, as far as is known. */
void osb_feed_end(struct osb_feed *f, const struct exit_record *x);
/* The same if no process gives the reason. */
void osb_feed_fail(struct osb_feed *f, const char *reason);

#endif
