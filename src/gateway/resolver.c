/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.c - the kinds of resolvers, and look-ups
 *
 * Layer: gateway.
 */
#include "gateway/resolver.h"

#include <string.h>

static const struct resolver_class *const classes[] = {
    &resolver_file, &resolver_redis, &resolver_rediss, &resolver_docker, &resolver_kubernetes,
};

struct resolver *resolver_open(struct http_server *s, const char *url,
                               const struct resolver_secrets *secrets, struct hf_error *err)
{
    const char *colon = strchr(url, ':');

    for (size_t i = 0; colon != NULL && i < sizeof classes / sizeof *classes; i++) {
        struct resolver *r;

        if (strlen(classes[i]->scheme) != (size_t)(colon - url) ||
            strncmp(classes[i]->scheme, url, (size_t)(colon - url)) != 0)
            continue;
        r = classes[i]->open_registry != NULL ? classes[i]->open_registry(s, url, secrets, err)
                                              : classes[i]->open(s, url, err);
        if (r != NULL) {
            r->class = classes[i];
            r->server = s;
        }
        return r;
    }
    hf_fail(err, HF_E_bad_value,
            "'%s' is not a resolver: use file:PATH, redis[s]://HOST:PORT, "
            "docker:[SOCKET] or kubernetes:[URL].",
            url);
    return NULL;
}

void resolver_close(struct resolver *r)
{
    if (r != NULL)
        r->class->close(r);
}

void resolver_find(struct resolver *r, struct lookup *l, const char *id, lookup_fn *done)
{
    resolver_lookup_cancel(l);
    list_init(&l->link);
    l->id[sizeof l->id - 1] = '\0';
    memccpy(l->id, id, '\0', sizeof l->id - 1);
    l->done = done;
    l->open = true;
    r->class->find(r, l);
}

bool resolver_is_ready(const struct resolver *r)
{
    return r->class->is_ready(r);
}

void resolver_lookup_cancel(struct lookup *l)
{
    if (!l->open)
        return;
    l->open = false;
    list_remove(&l->link);
}

void resolver_lookup_done(struct lookup *l, int rc, struct endpoint *e)
{
    resolver_lookup_cancel(l);
    l->done(l, rc, e);
}
