/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.h - tells when something listens on a TCP port
 *
 * The kernel announces no such thing, so its table is read again and again, PORTS_FIRST_MS apart at
 * first and PORTS_MAX_MS at last, but only while somebody waits, and once for all who do.
 * Whose the socket is says the keeper. Owned by struct engine. Layer: engine.
 */
#ifndef HF_ENGINE_PORTS_H
#define HF_ENGINE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct engine;
struct process;

struct port_watch {
    struct list link;
    struct process *process; /* borrowed: outlives the watch */
    uint16_t port;
    bool any; /* whoever listens; else somebody of the process's tree must */
    /* Once; never inside engine_watch_port(). The watch is over. */
    void (*fn)(void *arg, struct port_watch *w);
    void *arg;
    size_t index;   /* the owner's */
    uint32_t asked; /* number of the question to the keeper; 0: none */
    bool found;
};
void engine_watch_port(struct engine *e, struct port_watch *w);
void port_watch_cancel(struct port_watch *w); /* fine if it was never begun */
void engine_ports_soon(struct engine *e);     /* something happened: look sooner */

/* A line of /proc/net/tcp or tcp6; false if it is not of a socket that listens. */
struct port_listener {
    uint16_t port;
    uint64_t inode;
};
bool ports_parse_line(const char *line, struct port_listener *out);

#endif
