/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_pod.c - the pod as an object, in a list and in a table; kube_watch.c has its changes
 *
 * A list over all namespaces shows it in "default". Exited processes remain in it as long as the
 * daemon retains them, so that clients can get their logs by name. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kube_selector.h"
#include "dialects/kubernetes/kubernetes_limits.h"

#define IMAGE "holdfast"
#define DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"
#define DEFAULT_LOGS_CONTAINER "kubectl.kubernetes.io/default-logs-container" /* 1.20 */
#define TABLE_TYPE "as=Table"
/* What the object says, and selectors by field compare with. */
#define NODE "holdfast"
#define RESTART_POLICY "Never"
#define PHASE "Running"
#define POD_IP "127.0.0.1"

/* In whole seconds, as in the original: some clients cannot parse anything else. */
static void write_time(struct json_out *o, const char *key, int64_t wall_ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(wall_ms, text);
    text[19] = 'Z';
    text[20] = '\0';
    json_kstr(o, key, text);
}

const char *kube_namespace(const struct http_request *rq)
{
    const char *ns = http_param(rq, "ns");

    return ns != NULL ? ns : "default";
}

static void write_version(struct json_out *o, struct kube *k)
{
    char version[24];

    snprintf(version, sizeof version, "%llu", (unsigned long long)kube_version_now(k));
    json_kstr(o, "resourceVersion", version);
}

static void write_metadata(struct json_out *o, struct kube *k, const char *ns)
{
    json_key(o, "metadata");
    json_open(o, '{');
    json_kstr(o, "name", KUBE_POD);
    json_kstr(o, "namespace", ns);
    json_kstr(o, "uid", k->uid);
    write_version(o, k);
    write_time(o, "creationTimestamp", k->created_ms);
    json_key(o, "annotations");
    json_open(o, '{');
    json_kstr(o, DEFAULT_CONTAINER, KUBE_MAIN);
    json_kstr(o, DEFAULT_LOGS_CONTAINER, KUBE_MAIN);
    json_close(o, '}');
    json_close(o, '}');
}

/* --- containers -------------------------------------------------------------------------- */

typedef void each_fn(const struct kube *k, struct json_out *o, const char *name, struct process *p);

/* main first, then the others, youngest first. */
static void each_container(struct kube *k, struct json_out *o, each_fn *fn)
{
    struct process *p = NULL;
    char name[CONTAINER_NAME_BYTES];

    fn(k, o, KUBE_MAIN, container_find(k->base.engine, KUBE_MAIN));
    while ((p = engine_next(k->base.engine, p)) != NULL) {
        container_name(k->base.engine, p, name);
        if (!container_is_hidden(p) && strcmp(name, KUBE_MAIN) != 0)
            fn(k, o, name, p);
    }
}

static void write_text(struct json_out *o, const char *text, size_t *left)
{
    size_t len = strnlen(text, *left);

    json_strn(o, text, len);
    *left -= len;
}

/* Truncated to what identifies the command: a thousand long ones would make a reply of a
 * gigabyte. */
static void write_command(struct json_out *o, const struct process_view *v)
{
    size_t left = LIMIT_KUBE_COMMAND_BYTES;

    json_key(o, "command");
    json_open(o, '[');
    write_text(o, v->command, &left);
    for (size_t i = 0; i < v->arg_count && i < LIMIT_KUBE_LISTED_ARGS && left > 0; i++)
        write_text(o, v->args[i], &left);
    json_close(o, ']');
}

/* `main` stands for the sandbox itself, but attaching to it attaches to a process. */
static void write_spec(const struct kube *k, struct json_out *o, const char *name,
                       struct process *p)
{
    struct process_view v;

    (void)k;
    json_open(o, '{');
    json_kstr(o, "name", name);
    json_kstr(o, "image", IMAGE);
    if (p != NULL) {
        process_view(p, &v);
        if (strcmp(name, KUBE_MAIN) != 0)
            write_command(o, &v);
        json_kbool(o, "stdin", true);
        json_kbool(o, "tty", v.pty);
    }
    json_key(o, "resources");
    json_open(o, '{');
    json_close(o, '}');
    json_close(o, '}');
}

static void write_terminated(struct json_out *o, const struct process_view *v)
{
    json_key(o, "terminated");
    json_open(o, '{');
    json_kint(o, "exitCode", v->exit->exit_code);
    if (v->exit->signum > 0)
        json_kint(o, "signal", v->exit->signum);
    json_kstr(o, "reason", v->exit->exit_code == 0 ? "Completed" : "Error");
    write_time(o, "startedAt", v->created_ms);
    write_time(o, "finishedAt", v->exited_ms);
    json_close(o, '}');
}

static void write_state(struct json_out *o, bool running, int64_t since_ms,
                        const struct process_view *v)
{
    json_key(o, "state");
    json_open(o, '{');
    if (running) {
        json_key(o, "running");
        json_open(o, '{');
        write_time(o, "startedAt", since_ms);
        json_close(o, '}');
    } else {
        write_terminated(o, v);
    }
    json_close(o, '}');
}

static void write_container_status(const struct kube *k, struct json_out *o, const char *name,
                                   struct process *p)
{
    bool main = strcmp(name, KUBE_MAIN) == 0;
    struct process_view v = {.running = true};
    bool running;

    if (p != NULL)
        process_view(p, &v);
    running = main || v.exit == NULL || v.running;
    json_open(o, '{');
    json_kstr(o, "name", name);
    write_state(o, running, main ? k->created_ms : v.created_ms, &v);
    json_kbool(o, "ready", running);
    json_kbool(o, "started", true);
    json_kint(o, "restartCount", 0);
    json_kstr(o, "image", IMAGE);
    json_kstr(o, "imageID", "");
    if (p != NULL)
        json_kstr(o, "containerID", v.id);
    json_close(o, '}');
}

/* --- the object ------------------------------------------------------------------------------ */

static void write_condition(struct json_out *o, const struct kube *k, const char *type)
{
    json_open(o, '{');
    json_kstr(o, "type", type);
    json_kstr(o, "status", "True");
    write_time(o, "lastTransitionTime", k->created_ms);
    json_close(o, '}');
}

static void write_status(struct json_out *o, struct kube *k)
{
    static const char *const conditions[] = {"Initialized", "Ready", "ContainersReady",
                                             "PodScheduled"};

    json_open(o, '{');
    json_kstr(o, "phase", PHASE);
    json_key(o, "conditions");
    json_open(o, '[');
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        write_condition(o, k, conditions[i]);
    json_close(o, ']');
    json_kstr(o, "podIP", POD_IP);
    write_time(o, "startTime", k->created_ms);
    json_key(o, "containerStatuses");
    json_open(o, '[');
    each_container(k, o, write_container_status);
    json_close(o, ']');
    json_kstr(o, "qosClass", "BestEffort");
    json_close(o, '}');
}

static void write_pod_spec(struct json_out *o, struct kube *k)
{
    json_open(o, '{');
    json_key(o, "containers");
    json_open(o, '[');
    each_container(k, o, write_spec);
    json_close(o, ']');
    json_kstr(o, "restartPolicy", RESTART_POLICY);
    json_kstr(o, "nodeName", NODE);
    json_close(o, '}');
}

void kube_write_pod(struct json_out *o, struct kube *k, const char *ns,
                    const struct kube_snapshot *s)
{
    json_kstr(o, "kind", "Pod");
    json_kstr(o, "apiVersion", "v1");
    write_metadata(o, k, ns);
    json_key(o, "spec");
    if (s != NULL)
        json_raw(o, buf_data(&s->spec), s->spec.len);
    else
        write_pod_spec(o, k);
    json_key(o, "status");
    if (s != NULL)
        json_raw(o, buf_data(&s->status), s->status.len);
    else
        write_status(o, k);
}

/* --- the table that `kubectl get` prints ---------------------------------------------------- */

/* Ages as kubectl prints them: the two largest units, or one unit for short ages. */
static void age_text(int64_t ms, char *out, size_t size)
{
    long long s = ms > 0 ? ms / 1000 : 0;

    if (s < 120)
        snprintf(out, size, "%llds", s);
    else if (s < 600)
        snprintf(out, size, s % 60 != 0 ? "%lldm%llds" : "%lldm", s / 60, s % 60);
    else if (s < 3 * 3600)
        snprintf(out, size, "%lldm", s / 60);
    else if (s < 48 * 3600LL)
        snprintf(out, size, "%lldh", s / 3600);
    else
        snprintf(out, size, "%lldd", s / 86400);
}

#define WIDE 5 /* the first column that only `-o wide` shows */

static void write_columns(struct json_out *o, bool all)
{
    static const char *const names[] = {"Name", "Ready", "Status",         "Restarts",       "Age",
                                        "IP",   "Node",  "Nominated Node", "Readiness Gates"};

    json_key(o, "columnDefinitions");
    json_open(o, '[');
    for (size_t i = 0; all && i < sizeof names / sizeof *names; i++) {
        json_open(o, '{');
        json_kstr(o, "name", names[i]);
        json_kstr(o, "type", "string");
        json_kstr(o, "format", i == 0 ? "name" : "");
        json_kstr(o, "description", names[i]);
        json_kint(o, "priority", i >= WIDE);
        json_close(o, '}');
    }
    json_close(o, ']');
}

/* Only running processes count: a process that ended was meant to. */
static int count_ready(struct kube *k)
{
    struct process *p = NULL, *main = container_find(k->base.engine, KUBE_MAIN);
    struct process_view v;
    int n = 1;

    while ((p = engine_next(k->base.engine, p)) != NULL) {
        process_view(p, &v);
        n += v.running && !container_is_hidden(p) &&
             !(p == main && v.tag != NULL && strcmp(v.tag, KUBE_MAIN) == 0);
    }
    return n;
}

static void write_row(struct json_out *o, struct kube *k, const char *ns, int n)
{
    char ready[32], age[24];

    snprintf(ready, sizeof ready, "%d/%d", n, n);
    age_text(clock_wall_ms() - k->created_ms, age, sizeof age);
    json_open(o, '{');
    json_key(o, "cells");
    json_open(o, '[');
    json_str(o, KUBE_POD);
    json_str(o, ready);
    json_str(o, "Running");
    json_str(o, "0");
    json_str(o, age);
    json_str(o, POD_IP);
    json_str(o, NODE);
    json_str(o, "<none>");
    json_str(o, "<none>");
    json_close(o, ']');
    json_key(o, "object");
    json_open(o, '{');
    json_kstr(o, "kind", "PartialObjectMetadata");
    json_kstr(o, "apiVersion", "meta.k8s.io/v1");
    write_metadata(o, k, ns);
    json_close(o, '}');
    json_close(o, '}');
}

void kube_write_table(struct json_out *o, struct kube *k, const char *ns, bool row, bool columns,
                      const struct kube_snapshot *s)
{
    json_kstr(o, "kind", "Table");
    json_kstr(o, "apiVersion", "meta.k8s.io/v1");
    json_key(o, "metadata");
    json_open(o, '{');
    write_version(o, k);
    json_close(o, '}');
    write_columns(o, columns);
    json_key(o, "rows");
    json_open(o, '[');
    if (row)
        write_row(o, k, ns, s != NULL ? s->ready : count_ready(k));
    json_close(o, ']');
}

void kube_snapshot_take(struct kube_snapshot *s, struct kube *k)
{
    struct json_out o;

    buf_clear(&s->spec);
    json_out_init(&o, &s->spec);
    write_pod_spec(&o, k);
    buf_clear(&s->status);
    json_out_init(&o, &s->status);
    write_status(&o, k);
    s->ready = count_ready(k);
}

void kube_snapshot_fini(struct kube_snapshot *s)
{
    buf_fini(&s->spec);
    buf_fini(&s->status);
}

static void send_table(struct http_request *rq, bool row)
{
    struct kube *k = kube_of(rq);
    struct json_out o = dialect_reply_open(&k->base);

    kube_write_table(&o, k, kube_namespace(rq), row, true, NULL);
    dialect_reply_send(rq, 200, &o);
}

bool kube_wants_table(const struct http_request *rq)
{
    const char *accept = http_header(rq, "Accept");

    return accept != NULL && strstr(accept, TABLE_TYPE) != NULL;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The pod has no labels. */
int kube_selects_pod(struct http_request *rq)
{
    const struct kube_field fields[] = {
        {"metadata.name", KUBE_POD},      {"metadata.namespace", kube_namespace(rq)},
        {"spec.nodeName", NODE},          {"spec.restartPolicy", RESTART_POLICY},
        {"spec.schedulerName", ""},       {"spec.serviceAccountName", ""},
        {"spec.hostNetwork", "false"},    {"status.phase", PHASE},
        {"status.podIP", POD_IP},         {"status.podIPs", POD_IP},
        {"status.nominatedNodeName", ""}, {NULL, NULL},
    };
    struct hf_error err = {0};
    int field = kube_select_fields(http_query(rq, "fieldSelector"), fields, &err);
    int label = field < 0 ? field : kube_select_labels(http_query(rq, "labelSelector"), &err);

    if (label >= 0)
        return field & label;
    kube_refuse(rq, 400, "%s", err.detail);
    return -1;
}

void kube_pods(struct http_request *rq)
{
    struct kube *k = kube_of(rq);
    struct json_out o;
    int pod;

    pod = kube_selects_pod(rq);
    if (pod < 0)
        return;
    if (kube_flag(rq, "watch")) {
        kube_watch(rq, pod);
        return;
    }
    if (kube_wants_table(rq)) {
        send_table(rq, pod > 0);
        return;
    }
    o = dialect_reply_open(&k->base);
    json_kstr(&o, "kind", "PodList");
    json_kstr(&o, "apiVersion", "v1");
    json_key(&o, "metadata");
    json_open(&o, '{');
    write_version(&o, k);
    json_close(&o, '}');
    json_key(&o, "items");
    json_open(&o, '[');
    if (pod > 0) {
        json_open(&o, '{');
        kube_write_pod(&o, k, kube_namespace(rq), NULL);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void kube_pod(struct http_request *rq)
{
    struct kube *k = kube_of(rq);
    struct json_out o;

    if (!kube_is_pod(rq))
        return;
    if (kube_flag(rq, "watch")) {
        kube_refuse(rq, 405, "watch the list of pods, with fieldSelector=metadata.name=" KUBE_POD);
        return;
    }
    if (kube_wants_table(rq)) {
        send_table(rq, true);
        return;
    }
    o = dialect_reply_open(&k->base);
    kube_write_pod(&o, k, kube_namespace(rq), NULL);
    dialect_reply_send(rq, 200, &o);
}
