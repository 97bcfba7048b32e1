/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_listen.c - addresses to listening sockets
 */
#include "transport/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

#include "base/io.h"

static void expect_open(const char *address, const char *url_start, bool loopback)
{
    struct listen_socket s;
    struct hf_error err = {0};
    int rc = listen_open(address, &s, &err);

    if (rc < 0) {
        EXPECT_STR(err.detail, "");
        return;
    }
    EXPECT_INT(s.kind, LISTEN_TCP);
    EXPECT(strncmp(s.url, url_start, strlen(url_start)) == 0);
    EXPECT_INT(s.loopback, loopback);
    EXPECT(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
    EXPECT(fcntl(s.fd, F_GETFL) & O_NONBLOCK);
    io_close(&s.fd);
}

TEST(internet_addresses_are_opened)
{
    expect_open("127.0.0.1:0", "http://127.0.0.1:", true);
    expect_open("localhost:0", "http://127.0.0.1:", true);
    expect_open("*:0", "http://0.0.0.0:", false);
    expect_open(":0", "http://0.0.0.0:", false);
    expect_open("0.0.0.0:0", "http://0.0.0.0:", false);
}

/* A socket that accepts only IPv6 was announced as 0.0.0.0, where it cannot be reached. */
TEST(every_interface_of_ipv6_alone_is_announced_as_such)
{
    struct listen_socket s;

    if (listen_open("[::1]:0", &s, NULL) < 0)
        return; /* a machine without IPv6 */
    io_close(&s.fd);
    expect_open("[::1]:0", "http://[::1]:", true);
    expect_open("[::]:0", "http://[::]:", false);
}

TEST(what_is_no_address_is_refused_without_a_look_up)
{
    static const char *const bad[] = {
        "",         "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "1.2.3.4:65536", "example.com:80",
        "[::1:80",  "::1:80",    "unix:",      "fd:",         "fd:x",          "127.0.0.1:-1",
        "localhost"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct listen_socket s;
        struct hf_error err = {0};

        EXPECT_INT(listen_open(bad[i], &s, &err), -EINVAL);
        EXPECT_INT(err.code, HF_E_bad_value);
    }
}

TEST(a_port_in_use_is_named)
{
    struct listen_socket first, second;
    struct hf_error err = {0};

    REQUIRE(listen_open("127.0.0.1:0", &first, NULL) == 0);
    EXPECT_INT(listen_open(first.url + 7, &second, &err), -EADDRINUSE);
    EXPECT_STR(err.errno_name, "EADDRINUSE");
    io_close(&first.fd);
}

/* The socket of a killed daemon stays behind; a new one takes its place, but not a living one's. */
TEST(a_stale_unix_socket_is_replaced_and_a_live_one_is_not)
{
    char dir[] = "/tmp/holdfast-test-XXXXXX", address[128], *path = address + 5;
    struct listen_socket first, second;
    struct hf_error err = {0};
    struct stat st;
    FILE *f;

    REQUIRE(mkdtemp(dir) != NULL);
    snprintf(address, sizeof address, "unix:%s/socket", dir);
    REQUIRE(listen_open(address, &first, &err) == 0);
    EXPECT_INT(first.kind, LISTEN_UNIX);
    EXPECT_STR(first.url, address);
    EXPECT(first.loopback);
    REQUIRE(stat(path, &st) == 0);
    EXPECT_INT(st.st_mode & 0777, 0600);
    EXPECT_INT(listen_open(address, &second, &err), -EADDRINUSE);
    io_close(&first.fd);
    EXPECT_INT(listen_open(address, &second, &err), 0);
    io_close(&second.fd);
    unlink(path);
    f = fopen(path, "w"); /* a file of somebody else is left alone */
    fclose(f);
    EXPECT_INT(listen_open(address, &second, &err), -EADDRINUSE);
    unlink(path);
    rmdir(dir);
}

TEST(paths_that_do_not_fit_are_refused)
{
    char address[300] = "unix:/";
    struct listen_socket s;

    memset(address + 6, 'x', 200);
    EXPECT_INT(listen_open(address, &s, NULL), -EINVAL);
}

TEST(an_inherited_socket_is_described)
{
    struct listen_socket first, again;
    char address[32];

    REQUIRE(listen_open("127.0.0.1:0", &first, NULL) == 0);
    snprintf(address, sizeof address, "fd:%d", first.fd);
    fcntl(first.fd, F_SETFD, 0);
    REQUIRE(listen_open(address, &again, NULL) == 0);
    EXPECT_STR(again.url, first.url);
    EXPECT_INT(again.fd, first.fd);
    EXPECT(fcntl(first.fd, F_GETFD) & FD_CLOEXEC);
    EXPECT(listen_open("fd:0", &again, NULL) < 0); /* not a socket, or not listening */
    io_close(&first.fd);
}

static void expect_name(const char *address, const char *name)
{
    char out[LISTEN_NAME_BYTES] = "";

    EXPECT_INT(listen_name(address, out), name == NULL ? -EINVAL : 0);
    if (name != NULL)
        EXPECT_STR(out, name);
}

TEST(one_place_has_one_name)
{
    char dir[256], expected[300], longest[200] = "unix:/";

    expect_name("127.0.0.1:7070", "127.0.0.1:7070");
    expect_name("localhost:7070", "127.0.0.1:7070");
    expect_name("http://127.0.0.1:7070", "127.0.0.1:7070");
    expect_name("*:7070", "0.0.0.0:7070");
    expect_name(":7070", "0.0.0.0:7070");
    expect_name("[::1]:7070", "[::1]:7070");
    expect_name("[0:0::1]:7070", "[::1]:7070");
    expect_name("unix:/run/x", "unix:/run/x");
    EXPECT(getcwd(dir, sizeof dir) != NULL);
    snprintf(expected, sizeof expected, "unix:%s/x", dir);
    expect_name("unix:x", strlen(expected) < LISTEN_NAME_BYTES ? expected : NULL);
    expect_name("127.0.0.1:0", NULL);
    expect_name("fd:3", NULL);
    expect_name("unix:", NULL);
    expect_name("nonsense", NULL);
    memset(longest + 6, 'x', sizeof longest - 7);
    expect_name(longest, NULL);
}

TEST(activated_sockets_are_taken_for_our_pid_only)
{
    struct listen_socket s, out[2];
    char pid[32];

    EXPECT_INT(listen_activated(out, 2), 0);
    REQUIRE(listen_open("127.0.0.1:0", &s, NULL) == 0);
    REQUIRE(fcntl(3, F_GETFD) < 0 || s.fd == 3);
    if (s.fd != 3)
        REQUIRE(dup2(s.fd, 3) == 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", "1", 1);
    EXPECT_INT(listen_activated(out, 2), 0);
    EXPECT(getenv("LISTEN_FDS") == NULL);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    EXPECT_INT(listen_activated(out, 2), 1);
    EXPECT_STR(out[0].url, s.url);
    EXPECT(getenv("LISTEN_PID") == NULL && getenv("LISTEN_FDS") == NULL);
    if (s.fd != 3)
        close(3);
    io_close(&s.fd);
}
