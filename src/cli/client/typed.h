/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed.h - input on its way: kept until the daemon has taken it, sent once
 *
 * Offsets count the bytes of this client from 0. [base, base + pending) is
 * kept; `sent` is how far it went on the connection of now. After a cut the daemon
 * says how much it took, and sending goes on from there. Pure. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_TYPED_H
#define HF_CLI_CLIENT_TYPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct typed {
    struct buf pending;
    uint64_t base, sent;
    uint64_t shift; /* the daemon counts from here: it had forgotten this client */
    bool over;      /* no more will be typed; what is pending goes out all the same */
    bool eof_wanted, eof_sent, dead;
};

void typed_put(struct typed *t, const void *bytes, size_t len);
bool typed_has_room(const struct typed *t);
void typed_on_hello(struct typed *t, uint64_t taken); /* a new connection */
void typed_on_ack(struct typed *t, uint64_t taken);
/* What may be sent now, at most `most` bytes; 0: nothing. It counts as sent. */
size_t typed_next(struct typed *t, size_t most, const char **bytes);
bool typed_eof_is_due(const struct typed *t); /* all sent, and the end was not yet */
void typed_stop(struct typed *t);             /* the process takes no more */
void typed_fini(struct typed *t);

#endif
