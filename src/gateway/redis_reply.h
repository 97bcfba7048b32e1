/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis_reply.h - parses Redis replies
 *
 * hiredis' reader with objects of our own, so that its networking code, and with it the resolver of
 * the C library, is not linked. Pure. Layer: gateway.
 */
#ifndef HF_GATEWAY_REDIS_REPLY_H
#define HF_GATEWAY_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum redis_type { REDIS_TEXT, REDIS_NUMBER, REDIS_NIL, REDIS_LIST, REDIS_STATUS, REDIS_FAILURE };

struct redis_reply {
    enum redis_type type;
    int64_t number;
    char *text; /* NUL-terminated */
    size_t len;
    struct redis_reply **items; /* of a list */
    size_t count;
};

#define REDIS_REPLY_MAX_BYTES (1 << 20)

struct redis_reader;
struct redis_reader *redis_reader_new(void);
void redis_reader_free(struct redis_reader *r);
/* -EPROTO: not Redis, or a reply is too large. */
int redis_reader_feed(struct redis_reader *r, const char *bytes, size_t len);
/* 1: *out, to be freed; 0: not complete yet; -EPROTO. */
int redis_reader_next(struct redis_reader *r, struct redis_reply **out);
void redis_reply_free(struct redis_reply *r);

#endif
