/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.h - from the name of a sandbox to what is known of it
 *
 * One small interface, chosen by the scheme of a URL. The truth is elsewhere (a file, Redis,
 * an engine); a resolver holds at most a copy that it knows how to renew, so any number of
 * gateways run side by side. A look-up is answered once, at once or later, by its `done`; until
 * then it can be cancelled. Layer: gateway.
 */
#ifndef HF_GATEWAY_RESOLVER_H
#define HF_GATEWAY_RESOLVER_H

#include "base/list.h"
#include "gateway/endpoint.h"
#include "gateway/registration.h"
#include "gateway/route_target.h"

struct http_server;
struct resolver;
struct lookup;

/* rc 0: e, borrowed. -ENOENT: there is no such sandbox. -EAGAIN: nobody can tell at present. */
typedef void lookup_fn(struct lookup *l, int rc, struct endpoint *e);

struct lookup {       /* embedded by whoever asks; {0} before its first use */
    struct list link; /* the resolver's, while it is open */
    lookup_fn *done;
    char id[PLACE_ID_BYTES + 1];
    bool open;
};

/* For a registry. Borrowed while it is opened, except `trust`, which stays. */
struct resolver_secrets {
    const char *redis_password; /* of the environment; NULL */
    const struct registration_trust *trust;
};

struct resolver_class {
    const char *scheme; /* "file" */
    bool is_operators;  /* he wrote the addresses himself: any may be called */
    /* url: the whole; NULL: err. */
    struct resolver *(*open)(struct http_server *s, const char *url, struct hf_error *err);
    /* Instead of `open`, where sandboxes write their own entries. */
    struct resolver *(*open_registry)(struct http_server *s, const char *url,
                                      const struct resolver_secrets *secrets, struct hf_error *err);
    void (*close)(struct resolver *r); /* open look-ups are cancelled */
    void (*find)(struct resolver *r, struct lookup *l);
    bool (*is_ready)(const struct resolver *r); /* it knows, or can ask */
};

struct resolver { /* the first member of each */
    const struct resolver_class *class;
    struct http_server *server;
};

struct resolver *resolver_open(struct http_server *s, const char *url,
                               const struct resolver_secrets *secrets, struct hf_error *err);
void resolver_close(struct resolver *r); /* NULL is fine */
void resolver_find(struct resolver *r, struct lookup *l, const char *id, lookup_fn *done);
bool resolver_is_ready(const struct resolver *r);

/* For those who answer: takes l off its list first, so that `done` may ask again. */
void resolver_lookup_done(struct lookup *l, int rc, struct endpoint *e);
void resolver_lookup_cancel(struct lookup *l);

/* A table of endpoints by id, for resolvers that hold all of them. */
struct roster;
struct roster *roster_new(void);
void roster_free(struct roster *t);
struct endpoint *roster_get(const struct roster *t, const char *id);         /* borrowed; NULL */
void roster_put(struct roster *t, const char *id, struct endpoint *e_taken); /* replaces */
void roster_remove(struct roster *t, const char *id);
size_t roster_count(const struct roster *t);
/* Moves every entry of `from` into place of what t had. */
void roster_swap(struct roster *t, struct roster *from);

/* Text of a file: JSON ({"sandboxes": {ID: {...}}}) or lines "ADDRESS ID [PORT[=PORT]...]". */
int roster_parse(struct roster *t, const char *text, size_t len, struct hf_error *err);

extern const struct resolver_class resolver_file, resolver_redis, resolver_rediss, resolver_docker,
    resolver_kubernetes;

#endif
