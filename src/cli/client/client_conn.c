/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_conn.c - resolves the daemon's address, connects to it, with or without TLS
 *
 * A static C library cannot resolve names (the Makefile rejects the calls), so a static binary
 * accepts only addresses, localhost and names in /etc/hosts, and reports that. Layer: cli.
 */
#include "cli/client/client_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "transport/tls.h"

/* Detects a dead connection within a minute, however long a response may take. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3
#define HOSTS_FILE_MAX_BYTES (1024 * 1024)

int client_conn_wait(const struct client_conn *w, short events, int timeout_ms)
{
    struct pollfd p = {.fd = w->fd, .events = events};
    int n;

    do
        n = poll(&p, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

int client_conn_wait_until(const struct client_conn *w, short events, uint64_t end_mono_ms)
{
    uint64_t now = clock_mono_ms();

    if (now >= end_mono_ms)
        return -ETIMEDOUT;
    return client_conn_wait(w, events, end_mono_ms == UINT64_MAX ? -1 : (int)(end_mono_ms - now));
}

/* --- dialling ---------------------------------------------------------------------------- */

struct target {
    struct sockaddr_storage addr;
    socklen_t len;
};

/* A name may have several addresses, and the daemon may listen on only one of them. */
#define TARGETS_MOST 8
struct targets {
    struct target list[TARGETS_MOST];
    size_t count;
};

static bool target_from_text(struct target *t, const char *host, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&t->addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&t->addr;

    *t = (struct target){0};
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        t->len = sizeof *v4;
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        t->len = sizeof *v6;
    }
    return t->len > 0;
}

static void add_text(struct targets *t, const char *host, uint16_t port)
{
    if (t->count < TARGETS_MOST && target_from_text(&t->list[t->count], host, port))
        t->count++;
}

/* "ADDRESS NAME NAME..." lines. */
static bool line_names(char *line, const char *name, char **address)
{
    char *save = NULL, *word;

    line[strcspn(line, "#")] = '\0';
    *address = strtok_r(line, " \t\r", &save);
    while ((word = strtok_r(NULL, " \t\r", &save)) != NULL)
        if (strcasecmp(word, name) == 0)
            return true;
    return false;
}

static void add_from_hosts(struct targets *t, const struct daemon_address *p)
{
    struct buf text = {0};
    char *line, *save = NULL, *address, *all;

    if (io_read_file("/etc/hosts", HOSTS_FILE_MAX_BYTES, &text) == 0) {
        all = hf_xstrdup(buf_cstr(&text));
        for (line = strtok_r(all, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
            if (line_names(line, p->host, &address))
                add_text(t, address, p->port);
        free(all);
    }
    buf_fini(&text);
}

#if defined(HF_STATIC) && HF_STATIC
static int resolve(struct targets *t, const struct daemon_address *p, struct hf_error *err)
{
    (void)t;
    return hf_fail(err, HF_E_bad_value,
                   "%s is not in /etc/hosts, and this static binary cannot use DNS; give an IP "
                   "address",
                   p->host);
}
#else
static int resolve(struct targets *t, const struct daemon_address *p, struct hf_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL, *a;
    char port[8];
    int rc;

    snprintf(port, sizeof port, "%u", p->port);
    rc = getaddrinfo(p->host, port, &hints, &list);
    if (rc != 0 || list == NULL)
        return hf_fail(err, HF_E_bad_value, "cannot resolve host %s: %s", p->host,
                       gai_strerror(rc));
    for (a = list; a != NULL && t->count < TARGETS_MOST; a = a->ai_next) {
        struct target *one = &t->list[t->count++];

        memcpy(&one->addr, a->ai_addr, a->ai_addrlen);
        one->len = a->ai_addrlen;
    }
    freeaddrinfo(list);
    return 0;
}
#endif

static int add_unix(struct targets *t, const char *path, struct hf_error *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&t->list[0].addr;

    if (strlen(path) >= sizeof un->sun_path)
        return hf_fail(err, HF_E_bad_value, "the socket path must be at most %zu bytes",
                       sizeof un->sun_path - 1);
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, sizeof un->sun_path, "%s", path);
    t->list[0].len = sizeof *un;
    t->count = 1;
    return 0;
}

static int targets_of(struct targets *t, const struct daemon_address *p, struct hf_error *err)
{
    *t = (struct targets){.count = 0};
    if (p->unix_path != NULL)
        return add_unix(t, p->unix_path, err);
    if (strcmp(p->host, "localhost") == 0) {
        add_text(t, "127.0.0.1", p->port);
        add_text(t, "::1", p->port);
        return 0;
    }
    add_text(t, p->host, p->port);
    if (t->count == 0)
        add_from_hosts(t, p);
    return t->count > 0 ? 0 : resolve(t, p, err);
}

static int finish_connect(int fd, int timeout_ms)
{
    const struct client_conn w = {.fd = fd};
    int error = 0, rc = client_conn_wait(&w, POLLOUT, timeout_ms);
    socklen_t len = sizeof error;

    if (rc < 0)
        return rc;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}

static void set_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
    };
    size_t i;

    /* Best effort: the connection works without them, and a unix socket has none. */
    for (i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof options[i].value);
}

/* On a unix socket, connect(2) fails with EAGAIN if the listen backlog is full. */
static int connect_to(const struct target *t, int timeout_ms)
{
    int rc = 0;
    int fd = socket(t->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&t->addr, t->len) < 0)
        rc = errno == EINPROGRESS ? finish_connect(fd, timeout_ms) : -errno;
    if (rc < 0) {
        io_close(&fd);
        return rc;
    }
    set_options(fd);
    return fd;
}

/* Tries each address in turn with its share of the time; reports the last error. */
static int dial(const struct daemon_address *p, int timeout_ms, struct hf_error *err)
{
    struct targets t;
    int fd = targets_of(&t, p, err);
    size_t i;

    if (fd < 0)
        return fd;
    fd = -EHOSTUNREACH;
    for (i = 0; i < t.count && fd < 0; i++)
        fd = connect_to(&t.list[i], timeout_ms / (int)t.count);
    if (fd < 0)
        hf_fail(err, HF_E_bad_value,
                "cannot connect to the daemon at %s: %s; start one with holdfast serve, or set "
                "--url or HOLDFAST_URL",
                p->url, strerror(-fd));
    return fd;
}

/* --- TLS ---------------------------------------------------------------------- */

static int shake_hands(struct client_conn *w, int timeout_ms)
{
    uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;
    int rc = tls_receive(w->tls, "", 0, &w->in, &w->out);

    while (rc == 0 && !tls_is_ready(w->tls)) {
        rc = client_conn_flush(w);
        if (rc == 0 || rc == -EAGAIN)
            rc = client_conn_wait_until(w, POLLIN, end);
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

    *w = (struct client_conn){.fd = dial(p, timeout_ms, err)};
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
