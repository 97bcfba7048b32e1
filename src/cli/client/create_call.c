/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_call.c - starts a process by POST /v1/processes, with retries. Layer: cli.
 */
#include "cli/client/create_call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/crypto.h"
#include "base/text.h"

#define CREATE_TRIES 6
#define CREATE_AGAIN_MS 100

int create_call(const struct client_call *call, const struct buf *body, struct fetch_reply *r,
                struct hf_error *err, bool *reached)
{
    uint8_t raw[16];
    char hex[2 * sizeof raw + 1], header[64];
    struct fetch_request post = {.method = "POST",
                                 .path = "/v1/processes",
                                 .body = buf_data(body),
                                 .body_len = body->len,
                                 .header = header};
    int tries, rc = -EIO;

    *r = (struct fetch_reply){0};
    *reached = false;
    crypto_random(raw, sizeof raw);
    hex_encode(hex, raw, sizeof raw);
    snprintf(header, sizeof header, "Idempotency-Key: %s", hex);
    for (tries = 0; tries < CREATE_TRIES && rc < 0; tries++) {
        if (tries > 0)
            poll(NULL, 0, CREATE_AGAIN_MS);
        rc = fetch_call(&call->place, &post, r, err);
        *reached = *reached || rc >= 0 || rc == -ECONNRESET || rc == -EPIPE || rc == -EPROTO;
        if (rc == -ECONNREFUSED || rc == -ENOENT || rc == -EINVAL)
            break;
    }
    return rc;
}
