/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_metrics.c - metrics.k8s.io: what `kubectl top pod` prints
 *
 * A container uses what the tree of its process uses. Use of the processor is a rate, so a request
 * takes two samples; nothing is sampled without a request. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/call.h"
#include "dialects/common/caller.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "engine/live_usage.h"

#define GROUP "metrics.k8s.io"
#define VERSION "v1beta1"

/* --- discovery ------------------------------------------------------------------------------ */

static void write_version(struct json_out *o)
{
    json_kstr(o, "groupVersion", GROUP "/" VERSION);
    json_kstr(o, "version", VERSION);
}

void kube_metrics_write_group(struct json_out *o)
{
    json_kstr(o, "name", GROUP);
    json_kopen(o, "versions", '[');
    json_open(o, '{');
    write_version(o);
    json_close(o, '}');
    json_close(o, ']');
    json_kopen(o, "preferredVersion", '{');
    write_version(o);
    json_close(o, '}');
}

void kube_metrics_group(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIGroup");
    json_kstr(&o, "apiVersion", "v1");
    kube_metrics_write_group(&o);
    dialect_reply_send(rq, 200, &o);
}

void kube_metrics_resources(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIResourceList");
    json_kstr(&o, "apiVersion", "v1");
    json_kstr(&o, "groupVersion", GROUP "/" VERSION);
    json_kopen(&o, "resources", '[');
    json_open(&o, '{');
    json_kstr(&o, "name", "pods");
    json_kstr(&o, "singularName", "");
    json_kbool(&o, "namespaced", true);
    json_kstr(&o, "kind", "PodMetrics");
    json_kopen(&o, "verbs", '[');
    json_str(&o, "get");
    json_str(&o, "list");
    json_close(&o, ']');
    json_close(&o, '}');
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

/* --- two samples ------------------------------------------------------------------------------ */

struct measured {
    struct process *process; /* referenced */
    uint64_t cpu_us;         /* at the first sample */
};

struct kube_metrics {
    struct call call;
    struct timer *timer;
    uint64_t began_ms;
    bool list;      /* else one object */
    bool selected;  /* the pod is in the list */
    char space[64]; /* its namespace: a label of DNS */
    struct measured *containers;
    size_t count;
};

static void metrics_release(struct call *c)
{
    struct kube_metrics *m = (struct kube_metrics *)c;

    timer_close(m->timer);
    for (size_t i = 0; i < m->count; i++)
        process_unref(m->containers[i].process);
    free(m->containers);
    ((struct kube *)c->base)->metrics--;
}

static const struct call_kind metrics_kind = {.release = metrics_release};

/* False: it does not run any more. */
static bool usage_of(struct live_table *t, struct process *p, struct live_usage *out)
{
    struct process_view v;

    process_view(p, &v);
    return v.running && live_table_usage(t, v.pid, out);
}

static void first_sample(struct kube_metrics *m)
{
    struct live_table *t = live_table_read(LIMIT_LIVE_PROCESSES);
    struct engine *e = m->call.base->engine;
    struct process *p = NULL;
    struct live_usage u;

    m->containers = hf_xalloc(LIMIT_KUBE_MEASURED * sizeof *m->containers);
    while (m->count < LIMIT_KUBE_MEASURED && (p = engine_next(e, p)) != NULL) {
        if (container_is_hidden(p) || !usage_of(t, p, &u))
            continue;
        m->containers[m->count++] =
            (struct measured){.process = process_ref(p), .cpu_us = u.user_us + u.system_us};
    }
    live_table_free(t);
    m->began_ms = clock_mono_ms();
}

/* --- the reply -------------------------------------------------------------------------------- */

/* Quantities: nanocores, and kibibytes. */
static void write_usage(struct json_out *o, uint64_t nanocores, uint64_t kib)
{
    char text[32];

    json_kopen(o, "usage", '{');
    snprintf(text, sizeof text, "%llun", (unsigned long long)nanocores);
    json_kstr(o, "cpu", text);
    snprintf(text, sizeof text, "%lluKi", (unsigned long long)kib);
    json_kstr(o, "memory", text);
    json_close(o, '}');
}

static void write_container(struct json_out *o, const struct kube_metrics *m,
                            const struct measured *c, const struct live_usage *u,
                            uint64_t window_ms)
{
    char name[CONTAINER_NAME_BYTES];
    uint64_t us = u->user_us + u->system_us;

    container_name(m->call.base->engine, c->process, name);
    json_open(o, '{');
    json_kstr(o, "name", name);
    write_usage(o, us > c->cpu_us ? (us - c->cpu_us) * 1000000 / window_ms : 0,
                u->rss_bytes / 1024);
    json_close(o, '}');
}

static void write_containers(struct json_out *o, const struct kube_metrics *m, uint64_t window_ms)
{
    struct live_table *t = live_table_read(LIMIT_LIVE_PROCESSES);
    struct live_usage u;

    json_kopen(o, "containers", '[');
    for (size_t i = 0; i < m->count; i++)
        if (usage_of(t, m->containers[i].process, &u))
            write_container(o, m, &m->containers[i], &u, window_ms);
    json_close(o, ']');
    live_table_free(t);
}

static void write_pod(struct json_out *o, const struct kube_metrics *m)
{
    uint64_t window_ms = clock_mono_ms() - m->began_ms;
    char window[32];

    if (window_ms == 0)
        window_ms = 1;
    snprintf(window, sizeof window, "%llu.%03llus", (unsigned long long)(window_ms / 1000),
             (unsigned long long)(window_ms % 1000));
    json_kstr(o, "kind", "PodMetrics");
    json_kstr(o, "apiVersion", GROUP "/" VERSION);
    json_kopen(o, "metadata", '{');
    json_kstr(o, "name", KUBE_POD);
    json_kstr(o, "namespace", m->space);
    json_ktime(o, "creationTimestamp", clock_wall_ms());
    json_close(o, '}');
    json_ktime(o, "timestamp", clock_wall_ms());
    json_kstr(o, "window", window);
    write_containers(o, m, window_ms);
}

static void metrics_reply(struct kube_metrics *m)
{
    struct json_out o = dialect_reply_open(m->call.base);

    if (!m->list) {
        write_pod(&o, m);
        call_send(&m->call, 200, &o);
        return;
    }
    json_kstr(&o, "kind", "PodMetricsList");
    json_kstr(&o, "apiVersion", GROUP "/" VERSION);
    json_kopen(&o, "metadata", '{');
    json_close(&o, '}');
    json_kopen(&o, "items", '[');
    if (m->selected) {
        json_open(&o, '{');
        write_pod(&o, m);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    call_send(&m->call, 200, &o);
}

static void metrics_on_timer(struct timer *t, void *arg)
{
    (void)t;
    metrics_reply(arg);
}

static void metrics_begin(struct http_request *rq, bool list, bool selected)
{
    struct kube_metrics *m;

    if (kube_of(rq)->metrics >= caller_share(rq, LIMIT_KUBE_METRICS)) {
        kube_refuse(rq, 429, "%zu requests for metrics are already in progress; try again later",
                    kube_of(rq)->metrics);
        return;
    }
    m = call_begin(rq, &metrics_kind, sizeof *m);
    kube_of(rq)->metrics++;
    m->list = list;
    m->selected = selected;
    snprintf(m->space, sizeof m->space, "%s", kube_namespace(rq));
    if (!selected) {
        metrics_reply(m);
        return;
    }
    first_sample(m);
    m->timer = timer_new(m->call.base->loop, metrics_on_timer, m);
    timer_start(m->timer, KUBE_METRICS_MS);
}

void kube_metrics_pods(struct http_request *rq)
{
    int pod = kube_selects_pod(rq);

    if (pod >= 0)
        metrics_begin(rq, true, pod > 0);
}

void kube_metrics_pod(struct http_request *rq)
{
    if (kube_is_pod(rq))
        metrics_begin(rq, false, true);
}
