/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_conn.h - one connection to the daemon: bytes in, bytes out, TLS or not
 *
 * The socket never blocks. `in` is what came and was not looked at yet, `out`
 * what is still to be sent; the caller drops and adds. Small waits are done by
 * client_conn_wait(); the attach loop polls the descriptor itself. Layer: cli.
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

/* Connects within timeout_ms. 0, or -errno and err, which names the place. */
int client_conn_open(struct client_conn *w, const struct daemon_address *p, int timeout_ms,
                     struct hf_error *err);
void client_conn_close(struct client_conn *w); /* closed already is fine */
int client_conn_put(struct client_conn *w, const void *bytes, size_t len); /* queued */
int client_conn_flush(struct client_conn *w);   /* 0: all sent; -EAGAIN: some is left; -errno */
int client_conn_receive(struct client_conn *w); /* > 0; 0: the end; -EAGAIN; -errno */
/* Until one of the poll events, at most timeout_ms (-1: for ever): 0, -ETIMEDOUT, -errno. */
int client_conn_wait(const struct client_conn *w, short events, int timeout_ms);
int client_conn_flush_all(struct client_conn *w, int timeout_ms);

/* client_dial.c: a connected, non-blocking socket, or -errno and err. */
int client_conn_dial(const struct daemon_address *p, int timeout_ms, struct hf_error *err);

#endif
