/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.h - turns addresses into listening sockets
 *
 * "127.0.0.1:7070", "[::1]:0", "localhost:7070" (loopback, no look-up), "*:7070", ":7070",
 * "unix:PATH", "fd:N" (inherited). Names other than localhost are refused: no DNS. Layer:
 * transport.
 */
#ifndef HF_TRANSPORT_LISTEN_H
#define HF_TRANSPORT_LISTEN_H

#include "base/error.h"
#include "transport/http.h"

struct listen_socket {
    int fd;
    enum listen_kind kind;
    /* "http://127.0.0.1:41234", "unix:/run/holdfast.sock"; every interface is 0.0.0.0, or [::] if
     * the socket accepts only IPv6. */
    char url[160];
    bool loopback; /* reachable from this machine only */
};

/* Binds and listens, non-blocking and close-on-exec. A stale unix socket is replaced,
 * a live one is not (-EADDRINUSE). New unix sockets are mode 0600. */
int listen_open(const char *address, struct listen_socket *out, struct hf_error *err);
/* The same; `shared`: other sockets may listen at the same address (SO_REUSEPORT). */
int listen_open_shared(const char *address, bool shared, struct listen_socket *out,
                       struct hf_error *err);
/*
 * One canonical name for all spellings of an address: "127.0.0.1:7070" for "localhost:7070" and for
 * the url of such a socket, "unix:/run/x" for a relative path. 0, or -EINVAL: not an address, or
 * one that is not known before the socket is open (port 0, fd:N).
 */
#define LISTEN_NAME_BYTES 160
int listen_name(const char *address, char out[LISTEN_NAME_BYTES]);
/* LISTEN_FDS/LISTEN_PID of socket activation: returns the count (and unsets the variables). */
int listen_activated(struct listen_socket *out, int max);
/* Fills kind and url of an existing listening socket. */
int listen_describe(int fd, struct listen_socket *out);

#endif
