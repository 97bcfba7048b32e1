/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unsent_input.h - input on its way: kept until the daemon has taken it, sent once
 *
 * Offsets count the bytes of this client from 0. [base, base + pending) is
 * kept; `sent` is how far it went on the connection of now. After a cut the daemon
 * says how much it took, and sending goes on from there. Pure. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_UNSENT_INPUT_H
#define HF_CLI_CLIENT_UNSENT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct unsent_input {
    struct buf pending;
    uint64_t base, sent;
    uint64_t shift; /* the daemon counts from here: it had forgotten this client */
    bool over;      /* no more will be typed; what is pending goes out all the same */
    bool eof_wanted, eof_sent, dead;
};

void unsent_input_put(struct unsent_input *t, const void *bytes, size_t len);
bool unsent_input_has_room(const struct unsent_input *t);
void unsent_input_on_hello(struct unsent_input *t, uint64_t taken); /* a new connection */
void unsent_input_on_ack(struct unsent_input *t, uint64_t taken);
/* What may be sent now, at most `most` bytes; 0: nothing. It counts as sent. */
size_t unsent_input_next(struct unsent_input *t, size_t most, const char **bytes);
bool unsent_input_eof_is_due(const struct unsent_input *t); /* all sent, and the end was not yet */
void unsent_input_stop(struct unsent_input *t);             /* the process takes no more */
void unsent_input_fini(struct unsent_input *t);

#endif
