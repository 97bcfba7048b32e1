/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - the interface between the daemon and a platform's protocol
 *
 * A dialect is a table of routes and a translation. It is served under /dialects/NAME/ of every
 * main listener, and with --dialect NAME=ADDRESS at the root of its own listener. Its only state
 * outside the engine is its calls, so every dialect sees the same processes. The folder
 * src/dialects/NAME defines NAME_dialect ('-' is written '_'); `make DIALECTS=...` decides which of
 * them are built in. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_DIALECT_H
#define HF_DIALECTS_COMMON_DIALECT_H

#include <stdint.h>
#include <sys/types.h>

#include "dialects/common/route_group.h"
#include "engine/engine.h"
#include "transport/http.h"

struct dialect_base;

/* Borrowed; outlives the dialect. */
struct dialect_host {
    struct engine *engine;
    struct loop *loop;
    const struct http_server *server; /* whose peers hold memory */
    const char *version;
    const struct auth *auth;     /* for platforms that send a token inside a body */
    const struct buf *tokens;    /* as lines of text, for those that sign with it; see auth.h */
    bool any_user;               /* processes may run as any user, root included */
    uid_t own_uid;               /* the keeper's: the user of children if none is named */
    const struct origin *origin; /* for those that check it themselves; NULL: not checked */
    int64_t mcp_session_ms;      /* an idle session of MCP expires after this time */
    const char *e2b_user;        /* of E2B's clients that name none; NULL: the keeper's */
};

struct dialect {
    const char *name;
    /* The platform's usual port, if no address is given. 0: it has no listener of its own and is
     * always served, under its prefix. */
    uint16_t port;
    /* Printed before "listening on URL" for clients that expect certain words; NULL: the name. */
    const char *announce;
    /* What it serves, known without an instance: `holdfast routes` prints it. */
    const char *prefix; /* "/dialects/NAME", or another that its clients require */
    const struct route_group *groups;
    const struct auth_ways *ways; /* NULL: only the daemon's own */
    /* Replies with an error in the platform's shape, also for 401, 404, 405 and 413. */
    void (*error)(struct http_request *rq, const struct hf_error *err);
    const char *json_type;                /* of its JSON replies; NULL: application/json */
    size_t size;                          /* of its struct, which begins with a dialect_base */
    void (*init)(struct dialect_base *b); /* the rest of the struct, zeroed before; NULL: none */
    void (*fini)(struct dialect_base *b);
};

#endif
