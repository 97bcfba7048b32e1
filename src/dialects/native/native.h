/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - our own protocol: docs/PROTOCOL.md on the engine
 *
 * A table of routes, and a translation of bodies and frames; all decisions are made in the engine.
 * One per worker. Free the HTTP server first (its requests point in here), then this, then the
 * engine. Layer: dialects; includes base, engine and transport.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_H
#define HF_DIALECTS_NATIVE_NATIVE_H

#include "engine/engine.h"
#include "transport/auth.h"
#include "transport/http.h"

struct native;

/* Where the daemon's credentials come from; changes when they are reloaded. */
struct native_credentials {
    bool needs_token;        /* false: --no-auth */
    const char *token_file;  /* "": they came from the environment */
    const char *token_error; /* why the last reload could not use the file; "" */
    bool tls;                /* a certificate was requested */
    const char *tls_error;   /* why its files could not be used; "" */
};

/* What /v1/info and /metrics report besides the engine's own numbers. Borrowed for as long as the
 * native dialect lives. */
struct native_info {
    const char *version;
    int64_t started_ms;          /* wall clock: start of this worker */
    const char *const *dialects; /* names of the dialects served, "native" among them */
    size_t dialect_count;
    const char *const *listeners; /* URLs of the listeners; only role `own` sees them */
    size_t listener_count;
    bool tls, compress;                           /* features that are built in and requested */
    bool secure_cookie;                           /* every TCP listener speaks TLS */
    const struct http_options *http;              /* limits of the transport; NULL: the defaults */
    struct http_server *server;                   /* NULL: none */
    const struct native_credentials *credentials; /* NULL: unknown */
    /* The privileges that the worker has dropped, known once it serves; NULL: none. user: not
     * root. */
    const bool *seccomp, *landlock, *user;
};

struct native *native_new(struct engine *e, struct auth *auth, const struct native_info *info);
void native_free(struct native *n);
const struct route_table *native_routes(struct native *n);
/* Is the browser page in this binary? */
bool native_has_page(void);

/* The credentials were reloaded, and `info->credentials` is up to date: replies to the requests up
 * to `req`. error: an errno, and nothing was read. */
void native_on_reloaded(struct native *n, uint32_t req, int error, bool changed);

/* The daemon will shut down soon: /readyz reports it, and nothing new is started. Pending work
 * continues, so that waits and streams still report exits. */
void native_refuse_new(struct native *n);
/* The daemon shuts down: as above, and waits get the reply shutting_down, streams end. Call before
 * http_server_drain(). */
void native_drain(struct native *n);

#endif
