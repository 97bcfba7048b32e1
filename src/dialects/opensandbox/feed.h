/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - a process's output as execd's stream of events
 *
 * One JSON object per event, "\n\n" behind it: init, ping, stdout and stderr by the line, and one
 * of execution_complete and error at the end. The feed has an offset of its own; the viewer gives
 * the pace: it is not ready before everything is sent. A client that reads nothing for
 * VIEWER_STALL_MS holds the process no longer, and is told what it missed. Embedded by its owner, who frees itself when an op says that
 * it is over.
 *
 * Events of output have a number (eid) by which a stream can be taken up again: twice the offset
 * behind their last byte, and one more when a line was told before its end. Then both
 * streams were told, so that offset and number say exactly what the client has. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_FEED_H
#define HF_DIALECTS_OPENSANDBOX_FEED_H

#include "dialects/opensandbox/lines.h"
#include "dialects/opensandbox/osb.h"
#include "engine/viewer.h"

struct feed;

struct feed_ops {
    void (*gone)(struct feed *f); /* the client; the stream is dead */
    /* Everything up to `until`, or to the exit (x, else NULL), is sent. */
    void (*over)(struct feed *f, const struct exit_record *x);
};

struct feed {
    struct osb *osb;
    const struct feed_ops *ops;
    struct http_stream *stream; /* NULL: not begun, or over */
    struct process *process;    /* referenced; NULL: nothing to be read yet */
    struct viewer *viewer;
    uint64_t at;    /* next byte to be sent */
    uint64_t until; /* and where to stop */
    uint64_t after; /* events up to this one are left out: the client has them */
    struct lines out, err;
    bool merged; /* stderr is told as stdout */
    struct timer *ping, *flush;
    uint64_t began_ms;
    uint64_t eid;        /* of the events being written */
    const char *telling; /* and their type */
};

void osb_feed_init(struct feed *f, struct osb *o, const struct feed_ops *ops);
void osb_feed_fini(struct feed *f); /* a stream that is still open is cut */
/* Answers 200 and sends init with this id. */
void osb_feed_begin(struct feed *f, struct http_request *rq, const char *id);
/* From this offset on. 0, or too_many_viewers. */
int osb_feed_attach(struct feed *f, struct process *p, uint64_t from, struct hf_error *err);
/* No byte from here on; ops->over comes when those before are sent, maybe at once. */
void osb_feed_stop_at(struct feed *f, uint64_t until);
/* A line that no process wrote. */
void osb_feed_say(struct feed *f, const char *text);
/* The last event, and the end of the answer. x NULL: it ended well, as far as anybody knows. */
void osb_feed_end(struct feed *f, const struct exit_record *x);
/* The same where no process says why. */
void osb_feed_fail(struct feed *f, const char *reason);

#endif
