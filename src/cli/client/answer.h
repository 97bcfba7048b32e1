/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - an HTTP/1 answer as events: head, pieces of the body, done
 *
 * llhttp parses. It pulls: each call returns at the first event with the
 * number of bytes it consumed. Behind a 101 nothing more is consumed: the rest is
 * WebSocket. Pure: bytes in, events out. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_ANSWER_H
#define HF_CLI_CLIENT_ANSWER_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum answer_event { ANSWER_MORE, ANSWER_HEAD, ANSWER_BODY, ANSWER_DONE, ANSWER_ERROR };

struct answer {
    llhttp_t ll;
    struct buf headers; /* "name\0value\0" after each other */
    size_t head_bytes;
    int status;
    const char *body; /* ANSWER_BODY: inside the bytes just consumed */
    size_t body_len;
    uint64_t left; /* of the body, with has_length */
    int event;     /* private */
    bool has_length;
    bool in_body, done, failed;
};

void answer_init(struct answer *a);
void answer_fini(struct answer *a);
enum answer_event answer_feed(struct answer *a, const char *bytes, size_t len, size_t *used);
/* The connection ended: was the answer complete? */
bool answer_ends(struct answer *a);
const char *answer_header(const struct answer *a, const char *name); /* NULL: not there */

#endif
