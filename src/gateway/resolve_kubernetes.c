/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_kubernetes.c - pods, by label, from the API server: list, then watch
 *
 * It works like client-go's reflector: a list in pages, then a watch from the list's version, with
 * bookmarks. A watch that ends is resumed from the last version seen; if that version has expired
 * (410), a new list follows. A page is parsed pod by pod, because a server may ignore the requested
 * limit. A silent watch is reopened: bookmarks come every minute, and a proxy can keep a dead watch
 * open for hours. The token is read for each request, because it is replaced now and then. Label
 * `holdfast.dev/sandbox` is the id ("" means the pod's name), annotation `holdfast.dev/ports` the
 * reachable ports, `holdfast.dev/tokens` the accepted tokens. Layer: gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/json_items.h"
#include "gateway/kube_config.h"
#include "gateway/kube_pods.h"
#include "gateway/label_ports.h"
#include "gateway/resolver.h"
#include "transport/http_server.h"

#define KUBE_LABEL "holdfast.dev/sandbox"
#define KUBE_SELECTOR "holdfast.dev%2Fsandbox"
#define KUBE_RETRY_MIN_MS 200
#define KUBE_RETRY_MAX_MS 10000
#define KUBE_WATCH_S 300
#define KUBE_POD_MAX_BYTES (4 << 20)   /* one pod; etcd accepts no object over 1.5 MiB */
#define KUBE_FRAME_MAX_BYTES (1 << 20) /* of a list without its pods */

struct resolve_kubernetes_kube {
    struct resolver r;
    struct http_server *server;
    struct kube_config at;
    struct fetch *fetch;             /* the list's or the watch's */
    struct timer *timer;             /* retries, or detects a silent watch */
    struct buf event;                /* of the watch: its last, incomplete line */
    struct json_items page;          /* of the list */
    struct kube_pods *known, *fresh; /* fresh: while pages arrive */
    char *version, *more;
    uint32_t pause_ms;
    int status;
    bool loaded, complained, full_logged;
};

static void kube_list(struct resolve_kubernetes_kube *k);
static void kube_watch(struct resolve_kubernetes_kube *k);

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = hf_xstrdup(text);
}

/* --- pods ----------------------------------------------------------------------------- */

static const json_t *part(const json_t *o, const char *a, const char *b)
{
    return json_object_get(json_object_get(o, a), b);
}

static bool pod_id(const json_t *pod, char *out)
{
    const json_t *labels = part(pod, "metadata", "labels");
    const char *id = json_string_value(json_object_get(labels, KUBE_LABEL));
    const char *name = json_string_value(part(pod, "metadata", "name"));

    if (id == NULL || name == NULL)
        return false;
    snprintf(out, PLACE_ID_BYTES + 1, "%s", id[0] != '\0' ? id : name);
    return route_target_id_is_valid(out, strlen(out));
}

/* NULL: it is not running, or is being deleted. */
static struct endpoint *pod_endpoint(const json_t *pod)
{
    const json_t *notes = part(pod, "metadata", "annotations");
    const char *ip = json_string_value(part(pod, "status", "podIP"));
    const char *phase = json_string_value(part(pod, "status", "phase"));

    if (ip == NULL || phase == NULL || strcmp(phase, "Running") != 0 ||
        part(pod, "metadata", "deletionTimestamp") != NULL)
        return NULL;
    return endpoint_from_labels(ip, json_string_value(json_object_get(notes, "holdfast.dev/ports")),
                                json_string_value(json_object_get(notes, "holdfast.dev/tokens")));
}

/* A pod's replacement has the same id and may have the same name, but never the same uid. */
static const char *pod_uid(const json_t *pod)
{
    const char *uid = json_string_value(part(pod, "metadata", "uid"));

    return uid != NULL ? uid : json_string_value(part(pod, "metadata", "name"));
}

static bool pod_is_ready(const json_t *pod)
{
    const json_t *conditions = part(pod, "status", "conditions"), *c;
    const char *type, *status;

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        c = json_array_get(conditions, i);
        type = json_string_value(json_object_get(c, "type"));
        status = json_string_value(json_object_get(c, "status"));
        if (type != NULL && status != NULL && strcmp(type, "Ready") == 0)
            return strcmp(status, "True") == 0;
    }
    return true; /* the server does not report it */
}

static void pod_keep(struct resolve_kubernetes_kube *k, struct kube_pods *t, const json_t *pod,
                     const struct kube_pod *facts)
{
    struct endpoint *e = pod_endpoint(pod);

    if (e == NULL) {
        kube_pods_remove(t, facts->uid);
    } else if (!kube_pods_put(t, facts, e) && !k->full_logged) {
        log_warn("kubernetes: ignoring pods beyond the first %d", KUBE_PODS_MAX);
        k->full_logged = true;
    }
}

/* A pod that has lost its label, or whose label is not an id, leaves the id it had. */
static void pod_update(struct resolve_kubernetes_kube *k, struct kube_pods *t, const json_t *pod,
                       bool deleted)
{
    char id[PLACE_ID_BYTES + 1];
    const char *created = json_string_value(part(pod, "metadata", "creationTimestamp"));
    struct kube_pod facts = {.uid = pod_uid(pod),
                             .id = id,
                             .created = created != NULL ? created : "",
                             .ready = pod_is_ready(pod)};

    if (facts.uid == NULL)
        return;
    if (deleted || !pod_id(pod, id))
        kube_pods_remove(t, facts.uid);
    else
        pod_keep(k, t, pod, &facts);
}

static void note_version(struct resolve_kubernetes_kube *k, const json_t *o)
{
    const char *version = json_string_value(part(o, "metadata", "resourceVersion"));

    if (version != NULL && strlen(version) < 128 && version[strspn(version, "0123456789")] == '\0')
        set_text(&k->version, version);
}

/* --- requests ----------------------------------------------------------------------------- */

static void put_head(struct resolve_kubernetes_kube *k, struct buf *head, const char *query)
{
    struct buf token = {0};

    buf_printf(head, "GET %s/api/v1", k->at.target.path);
    if (k->at.namespace != NULL)
        buf_printf(head, "/namespaces/%s", k->at.namespace);
    buf_printf(head, "/pods?%s HTTP/1.1\r\nHost: %s\r\n", query, k->at.target.host);
    buf_puts(head, "User-Agent: holdfast/" HF_VERSION "\r\nAccept: application/json\r\n");
    if (k->at.token_file != NULL && io_read_file(k->at.token_file, 65536, &token) == 0) {
        char *text = (char *)(uintptr_t)buf_cstr(&token);

        text[strcspn(text, "\r\n")] = '\0';
        buf_printf(head, "Authorization: Bearer %s\r\n", text);
    }
    buf_wipe(&token);
    buf_puts(head, "\r\n");
}

static void retry_later(struct resolve_kubernetes_kube *k)
{
    timer_start(k->timer, k->pause_ms);
    k->pause_ms = k->pause_ms * 2 < KUBE_RETRY_MAX_MS ? k->pause_ms * 2 : KUBE_RETRY_MAX_MS;
}

static void complain(struct resolve_kubernetes_kube *k, const char *why)
{
    if (!k->complained)
        log_warn("kubernetes: %s", why);
    k->complained = true;
}

static void kube_get(struct resolve_kubernetes_kube *k, const char *query,
                     const struct fetch_ops *ops)
{
    struct buf head = {0};
    struct hf_error err = {0};

    buf_fini(&k->event);
    json_items_fini(&k->page);
    k->status = 0;
    put_head(k, &head, query);
    k->fetch = fetch_start(k->server, &k->at.target, &head, ops, k, &err);
    buf_wipe(&head);
    if (k->fetch == NULL) {
        complain(k, err.detail);
        retry_later(k);
    }
}

static void list_on_head(void *arg, const struct http1 *rs)
{
    ((struct resolve_kubernetes_kube *)arg)->status = rs->status;
}

static void recovered(struct resolve_kubernetes_kube *k)
{
    if (k->complained)
        log_info("kubernetes is responding again");
    k->complained = false;
}

/* The next step after a failure: a version that has expired is dropped. */
static void kube_failed(struct resolve_kubernetes_kube *k, const struct fetch *f, int rc)
{
    char why[256];

    if (rc < 0)
        snprintf(why, sizeof why, "the API server at %s: %s", k->at.target.host, fetch_why(f, rc));
    else
        snprintf(why, sizeof why, "the API server %s (status %d)",
                 k->status == 401 ? "rejected the gateway's token" : "refuses", k->status);
    complain(k, why);
    retry_later(k);
}

/* --- the list ------------------------------------------------------------------------------- */

static void list_forget(struct resolve_kubernetes_kube *k)
{
    set_text(&k->version, NULL);
    set_text(&k->more, NULL);
}

static void list_failed(struct resolve_kubernetes_kube *k, const char *why)
{
    list_forget(k);
    complain(k, why);
    retry_later(k);
}

static void list_on_pod(void *arg, const char *bytes, size_t len)
{
    struct resolve_kubernetes_kube *k = arg;
    json_t *pod = json_parse(bytes, len, NULL);

    pod_update(k, k->fresh, pod, false);
    json_decref(pod);
}

static void list_on_body(void *arg, const char *bytes, size_t len)
{
    struct resolve_kubernetes_kube *k = arg;

    if (k->status != 200 || json_items_feed(&k->page, bytes, len))
        return;
    fetch_cancel(k->fetch);
    k->fetch = NULL;
    list_failed(k, "the API server's list of pods is too large");
}

/* The rest of a page after its pods were removed. */
static bool page_end(struct resolve_kubernetes_kube *k)
{
    size_t len;
    const char *text = json_items_frame(&k->page, &len);
    json_t *list = json_parse(text, len, NULL);
    const char *more = json_string_value(part(list, "metadata", "continue"));
    bool ok = json_is_array(json_object_get(list, "items"));

    if (ok)
        note_version(k, list);
    if (k->page.skipped > 0)
        log_warn("kubernetes: ignoring %zu pods of over %d bytes", k->page.skipped,
                 KUBE_POD_MAX_BYTES);
    free(k->more);
    k->more = more != NULL && more[0] != '\0' && strlen(more) < 4096 ? hf_xstrdup(more) : NULL;
    json_decref(list);
    return ok;
}

static void list_on_done(void *arg, int rc);
static const struct fetch_ops list_ops = {
    .on_head = list_on_head, .on_body = list_on_body, .on_done = list_on_done};

/* Without a resourceVersion: the API server ignores `limit` when it replies from its cache. */
static void kube_list_page(struct resolve_kubernetes_kube *k)
{
    struct buf query = {0};

    if (k->more != NULL) {
        buf_puts(&query, "continue=");
        text_percent_encode(&query, k->more, "-_.~");
        buf_putc(&query, '&');
    }
    buf_puts(&query, "labelSelector=" KUBE_SELECTOR "&limit=500");
    kube_get(k, buf_cstr(&query), &list_ops);
    buf_fini(&query);
}

static void list_on_done(void *arg, int rc)
{
    struct resolve_kubernetes_kube *k = arg;
    const struct fetch *f = k->fetch;

    k->fetch = NULL;
    if (rc < 0 || k->status != 200) {
        list_forget(k);
        kube_failed(k, f, rc);
        return;
    }
    if (!page_end(k)) {
        list_failed(k, "the API server's reply is not a list of pods");
        return;
    }
    if (k->more != NULL) {
        kube_list_page(k);
        return;
    }
    kube_pods_swap(k->known, k->fresh);
    recovered(k);
    k->loaded = true;
    k->pause_ms = KUBE_RETRY_MIN_MS;
    kube_watch(k);
}

static void kube_list(struct resolve_kubernetes_kube *k)
{
    kube_pods_free(k->fresh);
    k->fresh = kube_pods_new();
    set_text(&k->more, NULL);
    kube_list_page(k);
}

/* --- the watch ------------------------------------------------------------------------------- */

/* An ERROR in the stream is a Status; 410 means that our version is too old. */
static void take_event(struct resolve_kubernetes_kube *k, const json_t *event)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    const json_t *object = json_object_get(event, "object");

    if (type == NULL)
        return;
    if (strcmp(type, "ERROR") == 0) {
        if (json_integer_value(json_object_get(object, "code")) == 410)
            set_text(&k->version, NULL);
        return;
    }
    k->pause_ms = KUBE_RETRY_MIN_MS;
    note_version(k, object);
    if (strcmp(type, "BOOKMARK") != 0)
        pod_update(k, k->known, object, strcmp(type, "DELETED") == 0);
}

static void watch_on_head(void *arg, const struct http1 *rs)
{
    struct resolve_kubernetes_kube *k = arg;

    k->status = rs->status;
    if (rs->status == 200) {
        recovered(k);
        timer_start(k->timer, k->at.silence_ms);
    }
}

static void watch_stop(struct resolve_kubernetes_kube *k)
{
    fetch_cancel(k->fetch);
    k->fetch = NULL;
}

static bool event_put(struct resolve_kubernetes_kube *k, const char *bytes, size_t len)
{
    if (k->event.len + len > KUBE_POD_MAX_BYTES || buf_reserve(&k->event, len) < 0)
        return false;
    buf_put(&k->event, bytes, len);
    return true;
}

static void watch_on_body(void *arg, const char *bytes, size_t len)
{
    struct resolve_kubernetes_kube *k = arg;
    const char *end;

    if (k->status != 200)
        return;
    timer_start(k->timer, k->at.silence_ms);
    if (!event_put(k, bytes, len)) {
        set_text(&k->version, NULL); /* an event was lost: begin again */
        watch_stop(k);
        retry_later(k);
        return;
    }
    while (k->event.len > 0 && (end = memchr(buf_data(&k->event), '\n', k->event.len)) != NULL) {
        size_t n = (size_t)(end - buf_data(&k->event));
        json_t *event = json_parse(buf_data(&k->event), n, NULL);

        take_event(k, event);
        json_decref(event);
        buf_drop(&k->event, n + 1);
    }
}

static void watch_on_done(void *arg, int rc)
{
    struct resolve_kubernetes_kube *k = arg;
    const struct fetch *f = k->fetch;

    k->fetch = NULL;
    if (k->status == 410)
        set_text(&k->version, NULL);
    if (k->status == 200 || k->status == 410)
        retry_later(k); /* the usual end of a watch: resume it */
    else
        kube_failed(k, f, rc);
}

static const struct fetch_ops watch_ops = {
    .on_head = watch_on_head, .on_body = watch_on_body, .on_done = watch_on_done, .lasts = true};

static void kube_watch(struct resolve_kubernetes_kube *k)
{
    char query[320];

    snprintf(query, sizeof query,
             "allowWatchBookmarks=true&labelSelector=%s&resourceVersion=%s&"
             "timeoutSeconds=%d&watch=true",
             KUBE_SELECTOR, k->version != NULL ? k->version : "0", KUBE_WATCH_S);
    kube_get(k, query, &watch_ops);
}

static void kube_on_timer(struct timer *t, void *arg)
{
    struct resolve_kubernetes_kube *k = arg;

    (void)t;
    watch_stop(k); /* the timer runs beside a watch only, and a fetch that has ended is NULL */
    if (k->loaded && k->version != NULL)
        kube_watch(k);
    else
        kube_list(k);
}

/* --- the resolver ----------------------------------------------------------------------------- */

static void kube_close(struct resolver *r)
{
    struct resolve_kubernetes_kube *k = (struct resolve_kubernetes_kube *)r;

    fetch_cancel(k->fetch);
    timer_close(k->timer);
    kube_pods_free(k->known);
    kube_pods_free(k->fresh);
    buf_fini(&k->event);
    json_items_fini(&k->page);
    kube_config_fini(&k->at);
    free(k->version);
    free(k->more);
    free(k);
}

static struct resolver *kube_open(struct http_server *s, const char *url, struct hf_error *err)
{
    struct resolve_kubernetes_kube *k = hf_xalloc(sizeof *k);

    k->server = s;
    k->known = kube_pods_new();
    k->page = (struct json_items){.item_max = KUBE_POD_MAX_BYTES,
                                  .frame_max = KUBE_FRAME_MAX_BYTES,
                                  .on_item = list_on_pod,
                                  .arg = k};
    k->pause_ms = KUBE_RETRY_MIN_MS;
    k->timer = timer_new(s->loop, kube_on_timer, k);
    if (kube_config_parse(&k->at, url + sizeof "kubernetes:" - 1, err) < 0) {
        kube_close(&k->r);
        return NULL;
    }
    kube_list(k);
    return &k->r;
}

static void kube_find(struct resolver *r, struct lookup *l)
{
    const struct resolve_kubernetes_kube *k = (const struct resolve_kubernetes_kube *)r;
    struct endpoint *e = kube_pods_get(k->known, l->id);

    resolver_lookup_done(l, e != NULL ? 0 : k->loaded ? -ENOENT : -EAGAIN, e);
}

static bool kube_is_ready(const struct resolver *r)
{
    return ((const struct resolve_kubernetes_kube *)r)->loaded;
}

const struct resolver_class resolver_kubernetes = {
    .scheme = "kubernetes",
    .open = kube_open,
    .close = kube_close,
    .find = kube_find,
    .is_ready = kube_is_ready,
};
