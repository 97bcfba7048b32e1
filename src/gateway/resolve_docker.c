/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_docker.c - containers of a Docker engine, by label
 *
 * Label `holdfast.sandbox` is the id ("" means the container's own), `holdfast.ports` the reachable
 * ports, `holdfast.tokens` the accepted tokens. The engine's events trigger a new list. Events are
 * requested before the list, so that no change is missed in between. A container in the host's
 * network has no address of its own: it is reached at the engine's. Layer: gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway_fetch.h"
#include "gateway/head.h"
#include "gateway/label_ports.h"
#include "gateway/resolver.h"
#include "transport/http_server.h"

#define DOCKER_SOCKET "unix:/var/run/docker.sock"
#define DOCKER_LABEL "holdfast.sandbox"
#define DOCKER_RETRY_MS 500
#define DOCKER_LIST_MAX_BYTES (16 << 20)

struct resolve_docker {
    struct resolver r;
    struct http_server *server;
    struct fetch_target target;
    char host[INET6_ADDRSTRLEN]; /* of the engine, as seen from here */
    struct fetch *events, *list;
    struct timer *timer;
    struct buf text; /* of the list */
    struct roster *known;
    int list_status;
    bool again; /* something happened while the list was being read */
    bool cut;   /* the list exceeded our limit */
    bool loaded, complained;
};

static void docker_begin(struct resolve_docker *d);
static void docker_list(struct resolve_docker *d);

/* --- one container ------------------------------------------------------------------- */

static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* The first address it has in any network. */
static const char *address_of(const struct resolve_docker *d, const json_t *container)
{
    const char *mode = text_of(json_object_get(container, "HostConfig"), "NetworkMode");
    json_t *networks = json_object_get(json_object_get(container, "NetworkSettings"), "Networks"),
           *net;
    const char *name;

    json_object_foreach (networks, name, net) {
        const char *v4 = text_of(net, "IPAddress"), *v6 = text_of(net, "GlobalIPv6Address");

        if (v4 != NULL && v4[0] != '\0')
            return v4;
        if (v6 != NULL && v6[0] != '\0')
            return v6;
    }
    return mode != NULL && strcmp(mode, "host") == 0 ? d->host : NULL;
}

static void take_container(const struct resolve_docker *d, struct roster *t, const json_t *c)
{
    const json_t *labels = json_object_get(c, "Labels");
    const char *id = text_of(labels, DOCKER_LABEL), *own = text_of(c, "Id");
    const char *address = address_of(d, c);
    char name[PLACE_ID_BYTES + 1];
    struct endpoint *e;

    if (id == NULL || own == NULL || address == NULL)
        return;
    snprintf(name, sizeof name, "%.*s", id[0] != '\0' ? PLACE_ID_BYTES : 12,
             id[0] != '\0' ? id : own);
    e = route_target_id_is_valid(name, strlen(name))
            ? endpoint_from_labels(address, text_of(labels, "holdfast.ports"),
                                   text_of(labels, "holdfast.tokens"))
            : NULL;
    if (e == NULL)
        log_warn("ignoring invalid labels of container %.12s", own);
    else
        roster_put(t, name, e);
}

/* --- the list -------------------------------------------------------------------------- */

static void list_on_head(void *arg, const struct http1 *rs)
{
    ((struct resolve_docker *)arg)->list_status = rs->status;
}

static void list_on_body(void *arg, const char *bytes, size_t len)
{
    struct resolve_docker *d = arg;

    if (d->text.len + len > DOCKER_LIST_MAX_BYTES || buf_reserve(&d->text, len) < 0)
        d->cut = true;
    else
        buf_put(&d->text, bytes, len);
}

/* False: it is not a list, and the known entries stay. */
static bool docker_take_list(struct resolve_docker *d)
{
    json_t *list = json_parse(buf_data(&d->text), d->text.len, NULL), *c;
    struct roster *fresh = roster_new();
    size_t i;
    bool ok = json_is_array(list);

    for (i = 0; i < json_array_size(list); i++) {
        c = json_array_get(list, i);
        take_container(d, fresh, c);
    }
    if (ok) {
        roster_swap(d->known, fresh);
        d->loaded = true;
    }
    roster_free(fresh);
    json_decref(list);
    return ok;
}

static void list_on_done(void *arg, int rc)
{
    struct resolve_docker *d = arg;
    const char *why = rc < 0                  ? strerror(-rc)
                      : d->list_status != 200 ? "refused"
                      : d->cut                ? "it is too long"
                      : !docker_take_list(d)  ? "it is not a list"
                                              : NULL;

    d->list = NULL;
    if (why != NULL) {
        log_warn("docker: the list of containers failed: %s", why);
        timer_start(d->timer, DOCKER_RETRY_MS);
    }
    buf_fini(&d->text);
    if (d->again)
        docker_list(d);
}

static const struct fetch_ops list_ops = {
    .on_head = list_on_head, .on_body = list_on_body, .on_done = list_on_done};

static struct fetch *docker_get(struct resolve_docker *d, const char *path,
                                const struct fetch_ops *ops)
{
    struct buf head = {0};
    struct hf_error err = {0};
    struct fetch *f;

    buf_printf(&head, "GET %s%s HTTP/1.1\r\nHost: docker\r\nAccept: application/json\r\n\r\n",
               d->target.path, path);
    f = fetch_start(d->server, &d->target, &head, ops, d, &err);
    buf_fini(&head);
    if (f == NULL && !d->complained) {
        log_warn("docker: %s", err.detail);
        d->complained = true;
    }
    return f;
}

static void docker_list(struct resolve_docker *d)
{
    d->again = d->list != NULL;
    if (d->again)
        return;
    d->cut = false;
    /* {"label":["holdfast.sandbox"],"status":["running"]} */
    d->list = docker_get(d,
                         "/containers/json?filters=%7B%22label%22%3A%5B%22" DOCKER_LABEL
                         "%22%5D%2C%22status%22%3A%5B%22running%22%5D%7D",
                         &list_ops);
    if (d->list == NULL)
        timer_start(d->timer, DOCKER_RETRY_MS); /* missed events are not repeated */
}

/* --- events ------------------------------------------------------------------------------ */

static void events_on_head(void *arg, const struct http1 *rs)
{
    struct resolve_docker *d = arg;

    if (rs->status != 200)
        return;
    if (d->complained)
        log_info("docker is responding again");
    d->complained = false;
    docker_list(d);
}

static void events_on_body(void *arg, const char *bytes, size_t len)
{
    (void)bytes, (void)len; /* the list has the details */
    docker_list(arg);
}

static void events_on_done(void *arg, int rc)
{
    struct resolve_docker *d = arg;

    d->events = NULL;
    if (!d->complained)
        log_warn("docker is not responding: %s", rc < 0 ? strerror(-rc) : "end of events");
    d->complained = true;
    timer_start(d->timer, DOCKER_RETRY_MS);
}

static const struct fetch_ops events_ops = {
    .on_head = events_on_head, .on_body = events_on_body, .on_done = events_on_done, .lasts = true};

static void docker_begin(struct resolve_docker *d)
{
    /* {"type":["container"],"label":["holdfast.sandbox"]} */
    d->events = docker_get(d,
                           "/events?filters=%7B%22type%22%3A%5B%22container%22%5D%2C%22label%22%3A"
                           "%5B%22" DOCKER_LABEL "%22%5D%7D",
                           &events_ops);
    if (d->events == NULL)
        timer_start(d->timer, DOCKER_RETRY_MS);
}

static void docker_on_timer(struct timer *t, void *arg)
{
    struct resolve_docker *d = arg;

    (void)t;
    if (d->events == NULL)
        docker_begin(d);
    else
        docker_list(d);
}

/* --- the resolver -------------------------------------------------------------------------- */

static void name_host(struct resolve_docker *d)
{
    char text[64] = "127.0.0.1:0";

    if (d->target.to.len > 0)
        endpoint_address_text(&d->target.to, text, sizeof text);
    head_peer_ip(text, d->host, sizeof d->host);
}

static struct resolver *docker_open(struct http_server *s, const char *url, struct hf_error *err)
{
    struct resolve_docker *d;
    struct fetch_target target;
    const char *where = url + sizeof "docker:" - 1;
    char path[160];

    if (where[0] == '\0') {
        where = DOCKER_SOCKET;
    } else if (where[0] == '/') {
        snprintf(path, sizeof path, "unix:%s", where);
        where = path;
    }
    if (fetch_parse_url(where, &target, err) < 0)
        return NULL;
    if (target.tls) {
        hf_fail(err, HF_E_bad_value, "docker: requires a unix socket or an http URL.");
        return NULL;
    }
    d = hf_xalloc(sizeof *d);
    d->server = s;
    d->target = target;
    name_host(d);
    d->known = roster_new();
    d->timer = timer_new(s->loop, docker_on_timer, d);
    docker_begin(d);
    return &d->r;
}

static void docker_close(struct resolver *r)
{
    struct resolve_docker *d = (struct resolve_docker *)r;

    fetch_cancel(d->events);
    fetch_cancel(d->list);
    timer_close(d->timer);
    roster_free(d->known);
    buf_fini(&d->text);
    free(d);
}

static void docker_find(struct resolver *r, struct lookup *l)
{
    const struct resolve_docker *d = (const struct resolve_docker *)r;
    struct endpoint *e = roster_get(d->known, l->id);

    resolver_lookup_done(l, e != NULL ? 0 : d->loaded ? -ENOENT : -EAGAIN, e);
}

static bool docker_is_ready(const struct resolver *r)
{
    return ((const struct resolve_docker *)r)->loaded;
}

const struct resolver_class resolver_docker = {
    .scheme = "docker",
    .open = docker_open,
    .close = docker_close,
    .find = docker_find,
    .is_ready = docker_is_ready,
};
