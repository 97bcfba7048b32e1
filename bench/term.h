/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.h - one command at the far end, reached in different ways
 *
 * Echo and bulk do the same with each of these: type, and see what comes
 * back. Only the way in between differs, and that is what is compared.
 */
#ifndef BENCH_TERM_H
#define BENCH_TERM_H

#include "daemon.h"

enum way {
    WAY_SLEEP,  /* this process reads the terminal itself and sleeps in read */
    WAY_SPIN,   /* the same, but it never sleeps */
    WAY_RELAY,  /* relay.c in between, over a loopback socket */
    WAY_HASTE,  /* the same, but it does not sleep in a flood */
    WAY_DAEMON, /* holdfast, over a WebSocket */
    WAY_TTYD,   /* peers, over theirs */
    WAY_NODE,
    WAY_COUNT
};

struct term {
    enum way way;
    int fd;
    pid_t pid; /* what was started for it: command, relay or server */
    struct ws ws;
    struct daemon daemon;
    bool output;  /* ttyd: this message is output, not a title */
    ws_sink sink; /* and who gets it */
    void *sink_arg;
};

const char *way_name(enum way way);
bool way_is_here(enum way way, const struct env *env);

void term_open(struct term *t, enum way way, const struct env *env, bool pty,
               const char *const argv[]);
void term_type(struct term *t, const void *p, size_t n);
/* One read and what is in it; payload bytes, 0 for none, -1 at the end. */
ssize_t term_pump(struct term *t, ws_sink sink, void *arg);
/* Reads until the far end has said that it is ready. */
void term_wait_ready(struct term *t);
/* CPU time of all that stands between the command and the client. */
uint64_t term_cpu_ns(const struct term *t);
void term_close(struct term *t);

#endif
