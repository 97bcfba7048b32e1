/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - what the daemon knows of a platform's protocol
 *
 * A dialect is a table of routes and a translation. It is served under
 * /dialects/NAME/ of every main listener, and with --dialect NAME=ADDRESS at the root of
 * a listener of its own. It holds nothing that another could not see: what it
 * remembers beside the engine are requests under way. src/cli/dialects.c lists them all.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_DIALECT_H
#define HF_DIALECTS_COMMON_DIALECT_H

#include <stdint.h>
#include <sys/types.h>

#include "dialects/common/route_group.h"
#include "engine/engine.h"
#include "transport/http.h"

/* Borrowed; lives longer than the dialect. */
struct dialect_host {
    struct engine *engine;
    struct loop *loop;
    const char *version;
    const struct auth *auth;  /* for platforms that send a token inside a body */
    const struct buf *tokens; /* as lines of text, for those that sign with it; see auth.h */
    uid_t own_uid;            /* the keeper's: as whom children run where no user is named */
};

struct dialect {
    const char *name;
    uint16_t port; /* the platform's usual one, where no address is given */
    /* In front of "listening on URL", where a client waits for certain words; NULL: the name. */
    const char *announce;
    /* What it serves, known without an instance: `holdfast routes` prints it. */
    const char *prefix; /* "/dialects/NAME", or another that its clients insist on */
    const struct route_group *groups;
    const struct auth_ways *ways; /* NULL: only the daemon's own */
    void *(*make)(const struct dialect_host *host);
    /* The same rows as a table that the server can mount. */
    const struct route_table *(*routes)(void *self);
    /* The daemon goes: answer what waits and end what streams. NULL: nothing does. */
    void (*drain)(void *self);
    void (*free)(void *self);
};

#endif
