/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.c - turns addresses into listening sockets
 *
 * Layer: transport.
 */
#include "transport/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"

#define LISTEN_BACKLOG 512
#define LISTEN_FDS_START 3 /* of socket activation */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

static int fail_system(struct hf_error *err, int errnum, const char *what, const char *address)
{
    hf_fail(err, HF_E_internal, "Cannot %s %s: %s.", what, address, strerror(errnum));
    if (err != NULL)
        err->errno_name = hf_errno_name(errnum);
    return -errnum;
}

static int fail_address(struct hf_error *err, const char *address)
{
    return hf_fail(err, HF_E_bad_value,
                   "'%s' is not an address to listen on: use IP:PORT, [IPV6]:PORT, "
                   "localhost:PORT, *:PORT, unix:PATH or fd:N.",
                   address);
}

/* --- what a socket is ------------------------------------------------------------------ */

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_UNIX)
        return true;
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* A socket for every interface in both protocols is shown as 0.0.0.0, which all clients accept. */
static bool is_every_one(int fd, const union address *a)
{
    socklen_t len = sizeof(int);
    int v6only = 0;

    return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) &&
           getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, &len) == 0 && !v6only;
}

static void describe_inet(int fd, const union address *a, struct listen_socket *out)
{
    char host[INET6_ADDRSTRLEN] = "?";

    out->kind = LISTEN_TCP;
    if (a->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
        snprintf(out->url, sizeof out->url, "http://%s:%u", host, ntohs(a->v4.sin_port));
    } else if (is_every_one(fd, a)) {
        snprintf(out->url, sizeof out->url, "http://0.0.0.0:%u", ntohs(a->v6.sin6_port));
    } else {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
        snprintf(out->url, sizeof out->url, "http://[%s]:%u", host, ntohs(a->v6.sin6_port));
    }
}

int listen_describe(int fd, struct listen_socket *out)
{
    union address a = {0};
    socklen_t len = sizeof a, flag_len = sizeof(int);
    int listening = 0;

    if (getsockname(fd, &a.any, &len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &flag_len) < 0)
        return -errno;
    if (!listening)
        return -EINVAL;
    *out = (struct listen_socket){.fd = fd, .loopback = is_loopback(&a)};
    if (a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6) {
        describe_inet(fd, &a, out);
        return 0;
    }
    if (a.any.sa_family != AF_UNIX)
        return -EAFNOSUPPORT;
    out->kind = LISTEN_UNIX;
    snprintf(out->url, sizeof out->url, "unix:%.*s", (int)sizeof a.un.sun_path, a.un.sun_path);
    return 0;
}

/* --- addresses ---------------------------------------------------------------------------- */

/* The port after the last colon; host gets what precedes it. */
static bool split_port(const char *address, char *host, size_t room, uint16_t *port)
{
    const char *colon = strrchr(address, ':');
    uint64_t value;

    if (colon == NULL || (size_t)(colon - address) >= room ||
        !text_to_u64(colon + 1, UINT16_MAX, &value))
        return false;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    *port = (uint16_t)value;
    return true;
}

/* 0, or -EINVAL. "" and "*" are every interface, in both protocols. */
static int parse_inet(const char *address, union address *out, bool *both)
{
    char host[INET6_ADDRSTRLEN + 2];
    uint16_t port;
    size_t len;

    *out = (union address){0};
    *both = false;
    if (!split_port(address, host, sizeof host, &port))
        return -EINVAL;
    len = strlen(host);
    if (len == 0 || strcmp(host, "*") == 0) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        *both = true;
        return 0;
    }
    if (strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1 ? 0 : -EINVAL;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

static int new_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int bind_inet(int fd, const union address *a, bool both, bool shared)
{
    int on = 1, off = 0;
    socklen_t len = a->any.sa_family == AF_INET ? sizeof a->v4 : sizeof a->v6;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (shared)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (a->any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, both ? &off : &on, sizeof on);
    return bind(fd, &a->any, len) < 0 || listen(fd, LISTEN_BACKLOG) < 0 ? -errno : 0;
}

/* A machine without IPv6 falls back to IPv4. */
static int socket_for(union address *a, bool both)
{
    int fd = new_socket(a->any.sa_family);

    if (fd < 0 && both) {
        *a = (union address){.v4 = {.sin_family = AF_INET, .sin_port = a->v6.sin6_port}};
        fd = new_socket(AF_INET);
    }
    return fd;
}

static int open_inet(const char *address, bool shared, int *out, struct hf_error *err)
{
    union address a;
    bool both;
    int fd, rc;

    if (parse_inet(address, &a, &both) < 0)
        return fail_address(err, address);
    fd = socket_for(&a, both);
    if (fd < 0)
        return fail_system(err, errno, "open a socket for", address);
    rc = bind_inet(fd, &a, both, shared);
    if (rc < 0) {
        io_close(&fd);
        return fail_system(err, -rc, "listen on", address);
    }
    *out = fd;
    return 0;
}

/* --- unix sockets --------------------------------------------------------------------------- */

/* A socket that accepts no connection is stale. 0: the path is free now. */
static int clear_stale(const union address *a)
{
    hf_autoclose int fd = -1;
    struct stat st;

    if (lstat(a->un.sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EADDRINUSE;
    fd = new_socket(AF_UNIX);
    if (fd < 0)
        return -errno;
    if (connect(fd, &a->any, sizeof a->un) == 0 || errno != ECONNREFUSED)
        return -EADDRINUSE;
    return unlink(a->un.sun_path) < 0 ? -errno : 0;
}

static int bind_unix(int fd, const union address *a)
{
    mode_t old = umask(0177); /* created 0600: others can never connect */
    int rc = bind(fd, &a->any, sizeof a->un) < 0 ? -errno : 0;

    umask(old);
    if (rc == 0 && listen(fd, LISTEN_BACKLOG) < 0)
        rc = -errno;
    return rc;
}

static int open_unix(const char *path, int *out, struct hf_error *err)
{
    union address a = {.un = {.sun_family = AF_UNIX}};
    size_t len = strlen(path);
    int fd, rc;

    if (len == 0 || len >= sizeof a.un.sun_path)
        return hf_fail(err, HF_E_bad_value, "The path of a unix socket must have 1 to %zu bytes.",
                       sizeof a.un.sun_path - 1);
    memcpy(a.un.sun_path, path, len + 1);
    rc = clear_stale(&a);
    if (rc < 0)
        return fail_system(err, -rc, "listen on", path);
    fd = new_socket(AF_UNIX);
    if (fd < 0)
        return fail_system(err, errno, "open a socket for", path);
    rc = bind_unix(fd, &a);
    if (rc < 0) {
        io_close(&fd);
        return fail_system(err, -rc, "listen on", path);
    }
    *out = fd;
    return 0;
}

/* --- inherited sockets ------------------------------------------------------------------------ */

static int adopt(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
        return -errno;
    return io_set_nonblocking(fd, true);
}

static int open_inherited(const char *number, int *out, struct hf_error *err)
{
    uint64_t fd;
    int rc;

    if (!text_to_u64(number, INT32_MAX, &fd))
        return fail_address(err, number);
    rc = adopt((int)fd);
    if (rc < 0)
        return fail_system(err, -rc, "use descriptor", number);
    *out = (int)fd;
    return 0;
}

int listen_open(const char *address, struct listen_socket *out, struct hf_error *err)
{
    return listen_open_shared(address, false, out, err);
}

int listen_open_shared(const char *address, bool shared, struct listen_socket *out,
                       struct hf_error *err)
{
    bool inherited = strncmp(address, "fd:", 3) == 0;
    int fd = -1, rc;

    if (inherited)
        rc = open_inherited(address + 3, &fd, err);
    else if (strncmp(address, "unix:", 5) == 0)
        rc = open_unix(address + 5, &fd, err);
    else
        rc = open_inet(address, shared, &fd, err);
    if (rc < 0)
        return rc;
    rc = listen_describe(fd, out);
    if (rc < 0) {
        if (!inherited)
            io_close(&fd);
        return fail_system(err, -rc, "listen on", address);
    }
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int name_unix(const char *path, char *out)
{
    char dir[PATH_MAX] = "";
    int n;

    if (path[0] == '\0' || (path[0] != '/' && getcwd(dir, sizeof dir) == NULL))
        return -EINVAL;
    n = snprintf(out, LISTEN_NAME_BYTES, "unix:%s%s%s", dir, dir[0] != '\0' ? "/" : "", path);
    return n < LISTEN_NAME_BYTES ? 0 : -EINVAL;
}

static int name_inet(const char *address, char *out)
{
    char host[INET6_ADDRSTRLEN] = "0.0.0.0";
    union address a;
    bool both, v6;

    if (parse_inet(address, &a, &both) < 0 || a.v6.sin6_port == 0)
        return -EINVAL;
    v6 = a.any.sa_family == AF_INET6 && !both;
    if (v6)
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host);
    else if (!both)
        inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host);
    snprintf(out, LISTEN_NAME_BYTES, v6 ? "[%s]:%u" : "%s:%u", host, ntohs(a.v6.sin6_port));
    return 0;
}

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
               "a port is at the same place in both");

int listen_name(const char *address, char out[LISTEN_NAME_BYTES])
{
    if (strncmp(address, "unix:", 5) == 0)
        return name_unix(address + 5, out);
    if (strncmp(address, "http://", 7) == 0)
        address += 7;
    return name_inet(address, out);
}

int listen_activated(struct listen_socket *out, int max)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t owner = 0, count = 0;
    int taken = 0;

    if (pid != NULL && fds != NULL && text_to_u64(pid, INT32_MAX, &owner) &&
        text_to_u64(fds, INT16_MAX, &count) && owner == (uint64_t)getpid()) {
        for (int i = 0; i < (int)count && taken < max; i++) {
            int fd = LISTEN_FDS_START + i;

            if (adopt(fd) == 0 && listen_describe(fd, &out[taken]) == 0)
                taken++;
        }
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return taken;
}
