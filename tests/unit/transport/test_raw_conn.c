/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_raw_conn.c - an upgrade to plain bytes over a real loopback socket
 */
#include "http_rig.h"

static size_t raw_data(void *arg, const void *bytes, size_t len)
{
    struct rig *r = arg;
    size_t n = len > 3 ? 3 : len;

    raw_write(r->raw, &(struct iovec){(void *)(uintptr_t)bytes, n}, 1);
    if (n < len)
        raw_resume(r->raw);
    return n;
}

static void raw_eof(void *arg)
{
    struct rig *r = arg;

    raw_write(r->raw, &(struct iovec){(void *)(uintptr_t)("bye"), 3}, 1);
    raw_shutdown(r->raw);
    raw_close(r->raw);
    r->raw = NULL;
}

static void raw_drain(void *arg)
{
    (void)arg;
}

static void raw_gone(void *arg)
{
    struct rig *r = arg;

    r->gone++;
    r->raw = NULL;
}

static const struct raw_ops raw_ops = {raw_data, raw_eof, raw_drain, raw_gone};

static void on_raw(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    bool upgrade = http_header(rq, "Upgrade") != NULL;

    r->raw = raw_accept(rq, upgrade ? "tcp" : NULL, &raw_ops, r);
}

static const struct route routes[] = {
    {HTTP_POST_M, "/raw", on_raw, ROLE_OWN, 0, 0, NULL},
};

static void client_raw(struct rig *r)
{
    char *answer = NULL;
    int fd = rig_connect(r);

    rig_puts(fd, "POST /raw HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH
                 "Upgrade: tcp\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}first ");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nUpgrade: tcp\r\n") != NULL);
    free(answer);
    rig_puts(fd, "second");
    shutdown(fd, SHUT_WR);
    answer = rig_read_all(fd);
    EXPECT_STR(answer, "first secondbye");
    free(answer);
    close(fd);
    fd = rig_connect(r);
    rig_puts(fd, "POST /raw HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH "\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 200 OK", 15) == 0);
    free(answer);
    close(fd);
}

TEST(a_raw_upgrade_carries_bytes_and_half_closes)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client_raw);
}

/* --- the end while the peer still sends ----------------------------------------------- */

static size_t last_data(void *arg, const void *bytes, size_t len)
{
    struct rig *r = arg;

    (void)bytes, (void)len;
    if (r->raw == NULL)
        return len;
    raw_write(r->raw, &(struct iovec){(void *)(uintptr_t)("last words"), 10}, 1);
    raw_close(r->raw);
    r->raw = NULL;
    return 0;
}

static const struct raw_ops last_ops = {last_data, raw_eof, raw_drain, raw_gone};

static void on_last(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    r->raw = raw_accept(rq, "tcp", &last_ops, r);
}

static const struct route last_routes[] = {
    {HTTP_POST_M, "/raw", on_last, ROLE_OWN, 0, 0, NULL},
};

static void client_still_sends(struct rig *r)
{
    static char more[8 << 20]; /* more than the buffers of a socket */
    char *answer;
    int fd = rig_connect(r);

    rig_puts(fd, "POST /raw HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH
                 "Upgrade: tcp\r\nConnection: Upgrade\r\n\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    free(answer);
    for (size_t sent = 0; sent < sizeof more;) {
        ssize_t n = send(fd, more + sent, sizeof more - sent, MSG_NOSIGNAL);

        REQUIRE(n > 0);
        sent += (size_t)n;
    }
    answer = rig_read_all(fd);
    EXPECT_STR(answer, "last words");
    free(answer);
    close(fd);
}

/*
 * A program that ends before it has read all its input: a close with unread bytes is a reset, and that
 * took the program's last output from a client that had not read it yet.
 */
TEST(a_peer_that_still_sends_gets_the_last_bytes)
{
    struct rig r;

    rig_setup(&r, last_routes, sizeof last_routes / sizeof *last_routes);
    rig_run(&r, client_still_sends);
}
