/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.h - finds what is known about a sandbox by its id
 *
 * One small interface, selected by the scheme of a URL. The authoritative data is elsewhere (a
 * file, Redis, an engine); a resolver holds at most a copy that it can renew, so any number of
 * gateways run side by side. A look-up completes once, at once or later, by its `done`; until then
 * it can be cancelled. Layer: gateway.
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

/* rc 0: e, borrowed. -ENOENT: there is no such sandbox. -EAGAIN: not known at present. */
typedef void lookup_fn(struct lookup *l, int rc, struct endpoint *e);

struct lookup {       /* embedded by its caller; {0} before its first use */
    struct list link; /* the resolver's, while it is open */
    lookup_fn *done;
    char id[PLACE_ID_BYTES + 1];
    bool open;
};

/* For a registry. Borrowed during open(), except `trust`, which must stay valid. */
struct resolver_secrets {
    const char *redis_password; /* from the environment; NULL */
    const struct registration_trust *trust;
};

struct resolver_class {
    const char *scheme; /* "file" */
    bool is_operators;  /* the operator wrote the addresses: any may be called */
    /* url: the whole; NULL: err. */
    struct resolver *(*open)(struct http_server *s, const char *url, struct hf_error *err);
    /* Instead of `open`, where sandboxes write their own entries. */
    struct resolver *(*open_registry)(struct http_server *s, const char *url,
                                      const struct resolver_secrets *secrets, struct hf_error *err);
    void (*close)(struct resolver *r); /* open look-ups are cancelled */
    void (*find)(struct resolver *r, struct lookup *l);
    bool (*is_ready)(const struct resolver *r); /* it has data, or can request it */
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

/* For implementations: takes l off its list first, so that `done` may start another look-up. */
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
/* Replaces all entries of t with those of `from`. */
void roster_swap(struct roster *t, struct roster *from);

/* Text of a file: JSON ({"sandboxes": {ID: {...}}}) or lines "ADDRESS ID [PORT[=PORT]...]". */
int roster_parse(struct roster *t, const char *text, size_t len, struct hf_error *err);

extern const struct resolver_class resolver_file, resolver_redis, resolver_rediss, resolver_docker,
    resolver_kubernetes;

#endif
