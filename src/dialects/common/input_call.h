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
#include "dialects/common/dialect_base.h"
#include "engine/session/session.h"
#include "transport/http.h"

/* Does a request of this dialect still wait with input for this process? */
bool input_call_is_waiting(const struct dialect_base *b, const struct process *p);

/* How many bytes were accepted; err NULL: all of them, and the end of input if requested. */
typedef void input_call_fn(struct http_request *rq, size_t accepted, const struct hf_error *err);

/* Takes ownership of the bytes in any case. `eof`: the end of input follows them. `done` is called
 * exactly once, now or later, unless the client disconnects before. */
void input_call_take(struct http_request *rq, struct process *p, struct buf *bytes, bool eof,
                     input_call_fn *done);
/* The usual case: the bytes alone, and `reply` is called when they are accepted, else the dialect's
 * error is sent. */
typedef void input_call_reply_fn(struct http_request *rq, size_t accepted);
void input_call_reply(struct http_request *rq, struct process *p, struct buf *bytes,
                      input_call_reply_fn *reply);
/*
 * The same for input that arrives in pieces, as a body does that is too long to be held. It has its
 * turn from the first piece to the last. `source` is the caller's and is freed with the call, which
 * is http_user() of the request meanwhile.
 */
struct input_call;
struct input_call *input_call_open(struct http_request *rq, struct process *p, input_call_fn *done,
                                   void *source, void (*free_source)(void *source));
void *input_call_source(const struct input_call *t);
/* True: it accepts no piece; http_body_resume() is called when it does. */
bool input_call_is_full(const struct input_call *t);
/* Each may end the call, with its reply. */
void input_call_put(struct input_call *t, const void *bytes, size_t len);
void input_call_close(struct input_call *t); /* that was all */
void input_call_fail(struct input_call *t, const struct hf_error *err);
/* The same as input_call_take() for a command of a session, by its number. */
void input_call_take_session(struct http_request *rq, struct session *s, uint64_t number,
                             struct buf *bytes, input_call_fn *done);

#endif
