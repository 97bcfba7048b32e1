/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.h - detects when a program listens on a TCP port
 *
 * The kernel sends no notification for this, so we poll its socket table: every PORTS_FIRST_MS at
 * first, backing off to PORTS_MAX_MS. We poll only while there are watches, and read the table once
 * for all of them. The keeper determines which process tree owns a socket. Owned by struct engine.
 * Layer: engine.
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
    bool any; /* any listener counts; else it must be in the process's tree */
    /* Called once, never from inside engine_watch_port(). The watch is then over. */
    void (*fn)(void *arg, struct port_watch *w);
    void *arg;
    size_t index;     /* for the owner's use */
    uint32_t request; /* number of the pending request to the keeper; 0: none */
    bool found;
};
void engine_watch_port(struct engine *e, struct port_watch *w);
void port_watch_cancel(struct port_watch *w); /* safe on a watch that was never started */
void engine_ports_soon(struct engine *e);     /* something happened: poll sooner */

/* Parses a line of /proc/net/tcp or tcp6; false if the socket does not listen. */
struct port_listener {
    uint16_t port;
    uint64_t inode;
};
bool ports_parse_line(const char *line, struct port_listener *out);

#endif
