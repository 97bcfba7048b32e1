/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_context.h - what all handlers of the native dialect share
 *
 * This holds only the limits on open requests and scratch buffers; all state of a process belongs
 * to the engine. Layer: dialects.
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
    struct list spawning;     /* pending creations with an Idempotency-Key */
    struct list connects;     /* struct connect, by link */
    struct list reloads;      /* requests that wait for a reload of the credentials */
    uint32_t last_reload;     /* number of the last */
    size_t waits;             /* of LIMIT_WAITS */
    struct buf joined;        /* free between handlers: bytes that had to be joined first */
};

struct native *native_of(const struct http_request *rq);
struct native *native_of_call(const struct call *c);

/* For call_kind.drain_text: nothing new starts, and this has not begun. */
#define NATIVE_CLOSED_TEXT "the daemon is shutting down and accepts no new requests; reconnect"

/* Counts one more waiting request: 0, or too_many_waits. */
int native_wait_begin(struct native *n, const struct http_request *rq, struct hf_error *err);
void native_wait_end(struct native *n);

/* Registers share links with the daemon's auth, and closes a link's connections when it ends. */
void native_start_links(struct native *n);

#endif
