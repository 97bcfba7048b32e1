/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - connections to sandboxes that wait for their next request
 *
 * The one used last is taken first. Whatever a sandbox says while it was asked nothing ends its
 * connection: nobody could tell whose answer that is. Layer: gateway.
 */
#ifndef HF_GATEWAY_POOL_H
#define HF_GATEWAY_POOL_H

#include "gateway/endpoint.h"
#include "transport/conn.h"

struct pool;

struct pool *pool_new(uint64_t *gauge); /* counts what it holds there */
void pool_free(struct pool *p);         /* the connections go with their server */
/* Takes the connection, or ends it when there are enough. */
void pool_put(struct pool *p, struct conn *c, const struct address *to);
/*
 * NULL: none. The caller makes it its own by conn_become(). `sure`: its end, or words that nobody
 * asked for, may be waiting in the socket without the loop having been there yet; that costs a look,
 * which who can ask again elsewhere need not take.
 */
struct conn *pool_take(struct pool *p, const struct address *to, bool sure);
/* Nobody listens to it any more; it ends. */
void pool_end(struct conn *c);

#endif
