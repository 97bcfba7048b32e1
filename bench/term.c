/* SPDX-License-Identifier: Apache-2.0 */
/* term.c - one command, reached in different ways (see term.h) */
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define COMMAND_ARGS 16
#define PEER_START_MS 10000
#define SPIN_LOOKS 5000 /* about a millisecond */

const char *way_name(enum way way)
{
    static const char *const names[WAY_COUNT] = {"sleep",  "spin", "relay", "haste",
                                                 "daemon", "ttyd", "node"};

    return names[way];
}

bool way_is_here(enum way way, const struct env *env)
{
    if (way == WAY_TTYD)
        return env->ttyd != NULL;
    if (way == WAY_NODE)
        return env->node != NULL;
    return true;
}

/* first..., then argv; the result is good until the next call. */
static const char **join(const char *const first[], const char *const argv[])
{
    static const char *all[COMMAND_ARGS];
    size_t n = 0;

    for (size_t i = 0; first[i] != NULL; i++)
        all[n++] = first[i];
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (n == COMMAND_ARGS - 1)
            die("too many arguments");
        all[n++] = argv[i];
    }
    all[n] = NULL;
    return all;
}

/* Starts a server that prints its port as its first line. */
static int server_start(struct term *t, const char *const argv[])
{
    char line[64];
    int out[2];

    if (pipe2(out, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    t->pid = child_start(argv, 0, out[1], 2);
    close(out[1]);
    read_line(out[0], line, sizeof(line), argv[0]);
    close(out[0]);
    return atoi(line);
}

static void open_relay(struct term *t, const struct env *env, const char *kind,
                       const char *const argv[])
{
    char path[PATH_BYTES];
    const char *first[] = {bench_program(env, "relay", path), kind, NULL};

    t->fd = tcp_connect(server_start(t, join(first, argv)));
}

static void open_daemon(struct term *t, const struct env *env, bool pty, const char *const argv[])
{
    char id[ID_BYTES];

    daemon_start(&t->daemon, env);
    daemon_create(&t->daemon, argv, pty, id);
    daemon_view(&t->daemon, id, "since=0", &t->ws);
}

static bool port_answers(int port)
{
    char path[64];
    FILE *f = fopen("/proc/net/tcp", "re");
    char line[256];
    bool found = false;

    /* Looked up, not tried: a refused connection is not what we measure. */
    snprintf(path, sizeof(path), " 0100007F:%04X 00000000:0000 0A", (unsigned)port);
    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = strstr(line, path) != NULL;
    if (f != NULL)
        fclose(f);
    return found;
}

static void open_ttyd(struct term *t, const struct env *env, const char *const argv[])
{
    static const char hello[] = "{\"AuthToken\":\"\",\"columns\":80,\"rows\":24}";
    int port;
    char port_text[16];
    const char *first[] = {env->ttyd, "-i", "127.0.0.1", "-p",
                           port_text, "-d", "1",         env->ttyd_writable ? "-W" : NULL,
                           NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    close(tcp_listen(&port)); /* a port that was free a moment ago */
    snprintf(port_text, sizeof(port_text), "%d", port);
    t->pid = child_start(join(first, argv), null, null, null);
    close(null);
    for (int ms = 0; !port_answers(port); ms += 10) {
        if (ms > PEER_START_MS)
            die("ttyd does not listen");
        sleep_ms(10);
    }
    ws_open(&t->ws, port, "/ws", NULL, "tty");
    ws_send(&t->ws, WS_BINARY, hello, strlen(hello));
}

static void open_node(struct term *t, const struct env *env, const char *const argv[])
{
    const char *first[] = {env->node, env->node_server, NULL};

    ws_open(&t->ws, server_start(t, join(first, argv)), "/", NULL, NULL);
}

void term_open(struct term *t, enum way way, const struct env *env, bool pty,
               const char *const argv[])
{
    memset(t, 0, sizeof(*t));
    t->way = way;
    switch (way) {
    case WAY_SLEEP:
    case WAY_SPIN:
        t->pid = child_start_pty(argv, &t->fd);
        if (way == WAY_SPIN)
            fd_set_nonblocking(t->fd);
        break;
    case WAY_RELAY: open_relay(t, env, pty ? "pty" : "pipe", argv); break;
    case WAY_HASTE: open_relay(t, env, "spin", argv); break;
    case WAY_DAEMON: open_daemon(t, env, pty, argv); break;
    case WAY_TTYD: open_ttyd(t, env, argv); break;
    default: open_node(t, env, argv);
    }
}

void term_type(struct term *t, const void *p, size_t n)
{
    char message[64] = "0"; /* ttyd: this message is input */

    if (t->way < WAY_DAEMON) {
        fd_write_all(t->fd, p, n);
    } else if (t->way == WAY_TTYD) {
        if (n >= sizeof(message))
            die("term_type: only short input");
        memcpy(message + 1, p, n);
        ws_send(&t->ws, WS_BINARY, message, n + 1);
    } else {
        ws_send(&t->ws, WS_BINARY, p, n);
    }
}

/*
 * Looks at the terminal until something is there. It asks for the count: a
 * read or poll that finds nothing waits inside the kernel for the thread that
 * moves the terminal's bytes, so a loop of these is not one that spins. Now
 * and then it returns all the same, because an ended terminal counts nothing.
 */
static void spin_until_readable(int fd)
{
    int count = 0;

    for (int looks = 0; count == 0 && looks < SPIN_LOOKS; looks++)
        ioctl(fd, FIONREAD, &count);
}

static ssize_t pump_fd(struct term *t, ws_sink sink, void *arg)
{
    static uint8_t buf[CLIENT_BYTES];
    ssize_t n;

    do {
        if (t->way == WAY_SPIN)
            spin_until_readable(t->fd);
        n = read(t->fd, buf, sizeof(buf));
    } while (n < 0 && t->way == WAY_SPIN && errno == EAGAIN);
    if (n < 0 && errno == EAGAIN)
        die("nothing came from the %s for too long", way_name(t->way));
    if (n <= 0)
        return -1;
    sink(arg, buf, (size_t)n, false);
    return n;
}

/* ttyd's messages begin with a letter that says what they are. */
static void ttyd_sink(void *arg, const uint8_t *p, size_t n, bool start)
{
    struct term *t = arg;

    if (start)
        t->output = *p == '0';
    if (t->output && n > start)
        t->sink(t->sink_arg, p + start, n - start, false);
}

ssize_t term_pump(struct term *t, ws_sink sink, void *arg)
{
    if (t->way < WAY_DAEMON)
        return pump_fd(t, sink, arg);
    if (t->way != WAY_TTYD)
        return ws_pump(&t->ws, 0, sink, arg);
    t->sink = sink;
    t->sink_arg = arg;
    return ws_pump(&t->ws, 0, ttyd_sink, t);
}

static void ready_sink(void *arg, const uint8_t *p, size_t n, bool start)
{
    (void)start;
    *(bool *)arg |= p[n - 1] == 'R';
}

void term_wait_ready(struct term *t)
{
    bool ready = false;

    while (!ready)
        if (term_pump(t, ready_sink, &ready) < 0)
            die("%s: the command ended before it was ready", way_name(t->way));
}

uint64_t term_cpu_ns(const struct term *t)
{
    if (t->way < WAY_RELAY)
        return cpu_ns_self();
    if (t->way == WAY_DAEMON)
        return daemon_cpu_ns(&t->daemon);
    return cpu_ns_of(t->pid);
}

void term_close(struct term *t)
{
    if (t->way < WAY_DAEMON)
        close(t->fd);
    else
        ws_close(&t->ws);
    if (t->way == WAY_DAEMON)
        daemon_stop(&t->daemon);
    else
        child_end(t->pid, t->way < WAY_RELAY ? SIGKILL : SIGTERM);
}
