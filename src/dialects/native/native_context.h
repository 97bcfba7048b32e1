/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_context.h - what all handlers of the native dialect share
 *
 * This holds only the limits on open requests and scratch buffers; all state of a process belongs
 * to the engine. An `op` is a request without an immediate reply: it is listed so that it can be
 * ended when the daemon shuts down. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_CONTEXT_H
#define HF_DIALECTS_NATIVE_NATIVE_CONTEXT_H

#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/native/native.h"

struct native {
    struct dialect_base base;
    struct auth *auth;
    struct native_info info;
    struct http_options http; /* limits to show */
    struct list ops;          /* struct op, by link */
    struct list spawning;     /* pending creations with an Idempotency-Key */
    struct list clients;      /* WebSockets that named their client */
    struct list reloads;      /* requests that wait for a reload of the credentials */
    uint32_t last_reload;     /* number of the last */
    size_t waits;             /* of LIMIT_WAITS */
    struct buf joined;        /* free between handlers: bytes that had to be joined first */
};

struct op;

struct op_kind {
    /* The daemon shuts down: reply or end, then free. NULL: it ends soon anyway. */
    void (*on_drain)(struct op *op);
    /* The dialect is being freed, and no callback will follow. */
    void (*on_free)(struct op *op);
};

struct op {
    struct list link;
    struct native *native;
    const struct op_kind *kind;
};

void native_op_init(struct op *op, struct native *n, const struct op_kind *kind);
void native_op_fini(struct op *op);

struct native *native_of(const struct http_request *rq);
struct native *native_of_call(const struct call *c);
/* For call_kind.drain: nothing new starts, and this has not begun. */
void native_call_drain(struct call *c);

/* Counts one more waiting request: 0, or too_many_waits. */
int native_wait_begin(struct native *n, const struct http_request *rq, struct hf_error *err);
void native_wait_end(struct native *n);

#endif
