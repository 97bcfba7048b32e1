/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - one connection to the daemon: bytes in, bytes out, TLS or not
 *
 * The socket never blocks. `in` is what came and was not looked at yet, `out`
 * what is still to be sent; the caller drops and adds. Small waits are done by
 * wire_wait(); the attach loop polls the descriptor itself. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_WIRE_H
#define HF_CLI_CLIENT_WIRE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/client/reach.h"

#define WIRE_READ_BYTES (256 * 1024)

struct tls;
struct tls_context;

struct wire {
    int fd; /* -1: closed */
    struct tls *tls;
    struct tls_context *tls_context;
    struct buf in, out;
};

/* Connects within timeout_ms. 0, or -errno and err, which names the place. */
int wire_open(struct wire *w, const struct reach *p, int timeout_ms, struct hf_error *err);
void wire_close(struct wire *w);                             /* closed already is fine */
int wire_put(struct wire *w, const void *bytes, size_t len); /* queued */
int wire_flush(struct wire *w);   /* 0: all sent; -EAGAIN: some is left; -errno */
int wire_receive(struct wire *w); /* > 0; 0: the end; -EAGAIN; -errno */
/* Until one of the poll events, at most timeout_ms (-1: for ever): 0, -ETIMEDOUT, -errno. */
int wire_wait(const struct wire *w, short events, int timeout_ms);
int wire_flush_all(struct wire *w, int timeout_ms);

/* dial.c: a connected, non-blocking socket, or -errno and err. */
int wire_dial(const struct reach *p, int timeout_ms, struct hf_error *err);

#endif
