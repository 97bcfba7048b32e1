/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_call.h - input in a request; the reply is sent when the process's queue has all of it
 *
 * Nothing is lost silently: if there is no room, the request waits. The bytes of one request stay
 * together: the next for the same process starts when the previous one is accepted completely.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_INPUT_CALL_H
#define HF_DIALECTS_COMMON_INPUT_CALL_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/session/session.h"
#include "transport/http.h"

/* A dialect's pending requests of this kind, in order of arrival. */
struct input_call_queue {
    struct list all;
    struct list *pending; /* of the dialect */
};

static inline void input_call_queue_init(struct input_call_queue *q, struct list *pending)
{
    list_init(&q->all);
    q->pending = pending;
}

/* Does a request still wait with input for this process? */
bool input_call_is_waiting(const struct input_call_queue *q, const struct process *p);

/* How many bytes were accepted; err NULL: all of them, and the end of input if requested. */
typedef void input_call_fn(struct http_request *rq, size_t accepted, const struct hf_error *err);

/* Takes ownership of the bytes in any case. `eof`: the end of input follows them. `done` is called
 * exactly once, now or later, unless the client disconnects before. */
void input_call_take(struct input_call_queue *q, struct http_request *rq, struct process *p,
                     struct buf *bytes, bool eof, input_call_fn *done);
/* The usual case: the bytes alone, and `reply` is called when they are accepted, else the dialect's
 * error is sent. */
typedef void input_call_reply_fn(struct http_request *rq, size_t accepted);
void input_call_reply(struct http_request *rq, struct process *p, struct buf *bytes,
                      input_call_reply_fn *reply);
/* The same for a command of a session, by its number. */
void input_call_take_session(struct input_call_queue *q, struct http_request *rq, struct session *s,
                             uint64_t number, struct buf *bytes, input_call_fn *done);

#endif
