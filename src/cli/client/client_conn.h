/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_conn.h - one connection to the daemon, with or without TLS
 *
 * The socket never blocks. `in` holds received bytes that are not consumed yet, `out` bytes to be
 * sent; the caller removes and appends. Short waits use client_conn_wait(); the attach loop polls
 * the descriptor itself. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_CONN_H
#define HF_CLI_CLIENT_CLIENT_CONN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/client/daemon_address.h"

#define WIRE_READ_BYTES (256 * 1024)

struct tls;
struct tls_context;

struct client_conn {
    int fd; /* -1: closed */
    struct tls *tls;
    struct tls_context *tls_context;
    struct buf in, out;
};

/* Connects within timeout_ms. 0, or -errno and err, which names the address. */
int client_conn_open(struct client_conn *w, const struct daemon_address *p, int timeout_ms,
                     struct hf_error *err);
void client_conn_close(struct client_conn *w);                             /* may be called twice */
int client_conn_put(struct client_conn *w, const void *bytes, size_t len); /* queued */
int client_conn_flush(struct client_conn *w);   /* 0: all sent; -EAGAIN: some left; -errno */
int client_conn_receive(struct client_conn *w); /* > 0; 0: end of stream; -EAGAIN; -errno */
/* Waits for poll events, at most timeout_ms (-1: forever): 0, -ETIMEDOUT, -errno. */
int client_conn_wait(const struct client_conn *w, short events, int timeout_ms);
int client_conn_wait_until(const struct client_conn *w, short events, uint64_t end_mono_ms);
int client_conn_flush_all(struct client_conn *w, int timeout_ms);

#endif
