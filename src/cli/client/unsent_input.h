/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unsent_input.h - input kept until the daemon acknowledges it, delivered exactly once
 *
 * Offsets count the bytes of this client from 0. [base, base + pending) is kept; `sent` is the end
 * of what was sent on the current connection. After a reconnect the daemon reports how much it
 * accepted, and sending resumes there. Pure. Layer: cli.
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
    uint64_t shift; /* added to the daemon's offsets after it forgot this client */
    bool over;      /* no more input will come; pending input is still sent */
    bool eof_wanted, eof_sent, dead;
};

void unsent_input_put(struct unsent_input *t, const void *bytes, size_t len);
bool unsent_input_has_room(const struct unsent_input *t);
void unsent_input_on_hello(struct unsent_input *t, uint64_t taken); /* a new connection */
void unsent_input_on_ack(struct unsent_input *t, uint64_t taken);
/* The next bytes to send, at most `most`; 0: none. They count as sent. */
size_t unsent_input_next(struct unsent_input *t, size_t most, const char **bytes);
bool unsent_input_eof_is_due(const struct unsent_input *t); /* all sent except the end of file */
void unsent_input_stop(struct unsent_input *t);             /* the process accepts no more */
void unsent_input_fini(struct unsent_input *t);

#endif
