/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typing.h - input that a request brings: answered when the process's queue has all of it
 *
 * Nothing is lost in silence: where there is no room the request waits. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_TYPING_H
#define HF_DIALECTS_COMMON_TYPING_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/process.h"
#include "transport/http.h"

/* How many bytes were taken; err NULL: all of them (or the daemon goes). */
typedef void typing_fn(struct http_request *rq, size_t taken, const struct hf_error *err);

/* Takes the bytes in any case. `eof`: the end of input follows them. `done` comes exactly once,
 * now or later, unless the client goes before. */
void typing_take(struct http_request *rq, struct process *p, struct buf *bytes, bool eof,
                 struct list *pending, typing_fn *done);

#endif
