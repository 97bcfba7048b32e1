/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - the daemon under test: started, asked, measured, stopped
 *
 * Each measurement has a daemon of its own, so that no number depends on what
 * was measured before it.
 */
#ifndef BENCH_DAEMON_H
#define BENCH_DAEMON_H

#include "client.h"

/* What bench/run found and made before the driver began. */
struct env {
    const char *daemon;    /* binary under test */
    const char *untracked; /* the same without the tracker; NULL: it was not built */
    const char *dir;       /* our own programs */
    const char *tmp;       /* removed by bench/run */
    const char *token;
    const char *token_file;
    const char *ttyd;   /* NULL: not on this machine */
    bool ttyd_writable; /* has --writable, and needs it */
    const char *node;   /* NULL: node, node-pty or ws is missing */
    const char *node_server;
    bool quick;
    const char *argument; /* one more for the daemon; NULL: none */
};

#define DAEMON_PROCESSES 4

struct daemon {
    const struct env *env;
    pid_t pid[DAEMON_PROCESSES]; /* launcher, vault, keeper, worker: each the parent of the next */
    int pid_count;
    int port;
    int out; /* its stdout */
    struct http *http;
};

#define ID_BYTES 128

void daemon_start(struct daemon *d, const struct env *env);
/* Only the exec and the line that says the port: for the start time. */
void daemon_exec(struct daemon *d, const struct env *env);
void daemon_stop(struct daemon *d);
uint64_t daemon_cpu_ns(const struct daemon *d);

/* The answer's status must be `status`; its body is good until the next call. */
const char *daemon_ask(struct daemon *d, const char *method, const char *path, const char *body,
                       int status);
/* POST /v1/processes; `id` has ID_BYTES. */
void daemon_create(struct daemon *d, const char *const argv[], bool pty, char *id);
/* DELETE, at once. */
void daemon_forget(struct daemon *d, const char *id);
void daemon_view(struct daemon *d, const char *id, const char *query, struct ws *w);
/* The body of a create or run request. */
void json_command(char *out, size_t size, const char *const argv[], const char *more);

/* The program `name` of ours. Each caller gives its own room. */
#define PATH_BYTES 512
const char *bench_program(const struct env *env, const char *name, char *out);
/* Reads one line; dies when none comes. */
void read_line(int fd, char *out, size_t size, const char *who);

#endif
