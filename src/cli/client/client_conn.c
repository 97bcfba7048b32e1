/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_conn.c - a connection to the daemon, with or without TLS. Layer: cli.
 */
#include "cli/client/client_conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"
#include "transport/tls.h"

int client_conn_wait(const struct client_conn *w, short events, int timeout_ms)
{
    struct pollfd p = {.fd = w->fd, .events = events};
    int n;

    do
        n = poll(&p, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

/* --- TLS ---------------------------------------------------------------------- */

static int shake_hands(struct client_conn *w, int timeout_ms)
{
    uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;
    int rc = tls_receive(w->tls, "", 0, &w->in, &w->out);

    while (rc == 0 && !tls_is_ready(w->tls)) {
        uint64_t now = clock_mono_ms();

        rc = client_conn_flush(w);
        if (rc == 0 || rc == -EAGAIN)
            rc = now >= end ? -ETIMEDOUT : client_conn_wait(w, POLLIN, (int)(end - now));
        if (rc == 0)
            rc = client_conn_receive(w);
        rc = rc > 0 || rc == -EAGAIN ? 0 : rc == 0 ? -ECONNRESET : rc;
    }
    return rc;
}

static int start_tls(struct client_conn *w, const struct daemon_address *p, int timeout_ms,
                     struct hf_error *err)
{
    int rc;

    w->tls_context = tls_client_context_new(p->ca_file, err);
    if (w->tls_context == NULL)
        return -EPROTO;
    w->tls = tls_client_new(w->tls_context, p->host);
    rc = shake_hands(w, timeout_ms);
    if (rc == 0)
        return 0;
    hf_fail(err, HF_E_bad_value,
            "TLS handshake with %s failed: %s; use --ca-file to trust its certificate", p->url,
            tls_why(w->tls));
    return -EPROTO;
}

/* --- the connection ------------------------------------------------------------- */

int client_conn_open(struct client_conn *w, const struct daemon_address *p, int timeout_ms,
                     struct hf_error *err)
{
    int rc;

    *w = (struct client_conn){.fd = client_conn_dial(p, timeout_ms, err)};
    if (w->fd < 0) {
        rc = w->fd;
        w->fd = -1;
        return rc;
    }
    rc = p->tls ? start_tls(w, p, timeout_ms, err) : 0;
    if (rc < 0)
        client_conn_close(w);
    return rc;
}

void client_conn_close(struct client_conn *w)
{
    if (w->tls != NULL)
        tls_discard(w->tls);
    if (w->tls_context != NULL)
        tls_context_free(w->tls_context);
    if (w->fd >= 0)
        io_close(&w->fd);
    buf_wipe(&w->in);
    buf_wipe(&w->out);
    *w = (struct client_conn){.fd = -1};
}

int client_conn_put(struct client_conn *w, const void *bytes, size_t len)
{
    if (w->tls != NULL)
        return tls_send(w->tls, bytes, len, &w->out);
    buf_put(&w->out, bytes, len);
    return 0;
}

int client_conn_flush(struct client_conn *w)
{
    while (w->out.len > 0) {
        ssize_t n = send(w->fd, buf_data(&w->out), w->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        buf_drop(&w->out, (size_t)n);
    }
    return 0;
}

int client_conn_flush_all(struct client_conn *w, int timeout_ms)
{
    int rc;

    while ((rc = client_conn_flush(w)) == -EAGAIN &&
           (rc = client_conn_wait(w, POLLOUT, timeout_ms)) == 0)
        ;
    return rc;
}

/* Keep-alive found the connection dead: report it as a reset, like any other loss. */
static int lost_as_reset(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ? -ECONNRESET
                                                                               : -error;
}

static int receive_tls(struct client_conn *w)
{
    char cipher[32 * 1024];
    ssize_t n = recv(w->fd, cipher, sizeof cipher, 0);
    int rc;

    if (n <= 0)
        return n == 0 ? 0 : lost_as_reset(errno);
    rc = tls_receive(w->tls, cipher, (size_t)n, &w->in, &w->out);
    if (rc == -ECONNRESET)
        return w->in.len > 0 ? (int)n : 0;
    return rc < 0 ? rc : (int)n;
}

int client_conn_receive(struct client_conn *w)
{
    ssize_t n;

    if (w->tls != NULL)
        return receive_tls(w);
    if (buf_reserve(&w->in, WIRE_READ_BYTES) < 0)
        return -ENOMEM;
    n = recv(w->fd, buf_data(&w->in) + w->in.len, WIRE_READ_BYTES, 0);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : lost_as_reset(errno);
    w->in.len += (size_t)n;
    return (int)n;
}
