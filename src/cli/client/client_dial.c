/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_dial.c - resolves the daemon's address and connects to it
 *
 * A static C library cannot resolve names (the Makefile rejects the calls), so a static binary
 * accepts only addresses, localhost and names in /etc/hosts, and reports that. Layer: cli.
 */
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

#include "base/io.h"
#include "base/mem.h"
#include "cli/client/client_conn.h"

/* Detects a dead connection within a minute, however long a response may take. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3
#define HOSTS_FILE_MAX_BYTES (1024 * 1024)

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
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int n, error = 0;

    do
        n = poll(&poll_fd, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return -ETIMEDOUT;
    if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
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
int client_conn_dial(const struct daemon_address *p, int timeout_ms, struct hf_error *err)
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
