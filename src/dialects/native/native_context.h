/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_context.h - what all handlers of the native dialect share
 *
 * Only the limits of open requests and a scratch buffer are held here; all
 * that describes a process is the engine's. An `op` is a request that could
 * not be answered in the turn it came in: it is listed so that it can be ended
 * when the daemon goes. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_CONTEXT_H
#define HF_DIALECTS_NATIVE_NATIVE_CONTEXT_H

#include "base/buf.h"
#include "base/list.h"
#include "dialects/native/native.h"

struct native {
    struct engine *engine;
    struct auth *auth;
    struct native_info info;
    struct http_options http; /* limits to show */
    struct route_table table;
    struct list ops;      /* struct op, by link */
    struct list spawning; /* creations with an Idempotency-Key that are under way */
    struct list clients;  /* WebSockets that named their client */
    struct list reloads;  /* requests that wait for credentials to be read again */
    uint32_t last_reload; /* number of the last */
    size_t waits;         /* of LIMIT_WAITS */
    bool closed;          /* nothing new may begin */
    bool draining;        /* and what is under way must end */
    /* Free between handlers: the JSON being written, and bytes that had to be put together first. */
    struct buf scratch, joined;
};

struct op;

struct op_kind {
    /* The daemon goes: answer or end, then free. NULL: it ends by itself soon. */
    void (*on_drain)(struct op *op);
    /* The dialect is freed and nobody will call back any more. */
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

/* One more request that waits: 0, or too_many_waits. */
int native_wait_begin(struct native *n, const struct http_request *rq, struct hf_error *err);
void native_wait_end(struct native *n);
/* 0, or shutting_down when nothing new may begin. */
int native_check_open(const struct native *n, struct hf_error *err);

#endif
