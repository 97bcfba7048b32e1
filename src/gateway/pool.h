/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - idle connections to sandboxes, kept for the next request
 *
 * The connection used last is reused first. If a sandbox sends bytes without a request, its
 * connection ends, because those bytes could be mistaken for a response. Layer: gateway.
 */
#ifndef HF_GATEWAY_POOL_H
#define HF_GATEWAY_POOL_H

#include "gateway/endpoint.h"
#include "transport/conn.h"

struct pool;

struct pool *pool_new(uint64_t *gauge); /* counts its connections there */
void pool_free(struct pool *p);         /* the server frees the connections */
/* Takes the connection over, or ends it when there are enough. */
void pool_put(struct pool *p, struct conn *c, const struct address *to);
/*
 * NULL: none. The caller takes it over by conn_become(). `sure`: its end, or unrequested bytes, may
 * be in the socket without the loop having seen them yet; checking costs a system call, which a
 * caller that can retry elsewhere does not need.
 */
struct conn *pool_take(struct pool *p, const struct address *to, bool sure);
/* Detaches its owner; it ends. */
void pool_end(struct conn *c);

#endif
