/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.h - the Kubernetes pod API: exec, attach, log, portforward, and what kubectl requests first
 *
 * Facts: docs/dialects/kubernetes.md. The sandbox is one pod, "sandbox", in whatever namespace the
 * request names. exec starts processes in its container "main". Each process of the daemon is a
 * further container, so clients can attach to a process, or read its log, whichever protocol
 * started it. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_H
#define HF_DIALECTS_KUBERNETES_KUBE_H

#include "dialects/common/dialect_base.h"

extern const struct dialect kubernetes_dialect;

#define KUBE_POD "sandbox"
#define KUBE_MAIN "main"
#define KUBE_UID_BYTES 37 /* of a pod, with NUL */

/* What all namespaces share of the pod, and takes time to serialise: kube_pod.c. */
struct kube_snapshot {
    struct buf spec, status; /* JSON */
    int ready;               /* containers */
};

struct kube {
    struct dialect_base base;
    char uid[KUBE_UID_BYTES]; /* of the pod; outlives the worker, as does the next member */
    int64_t created_ms;
    size_t metrics; /* requests in progress; kube_metrics.c */
    size_t watches; /* the same; kube_watch.c */
    /* For all watches, while there are any; kube_watch.c. */
    struct kube_snapshot shown;
    uint64_t shown_version, shown_ms; /* 0: none; when it was taken, on the monotonic clock */
};

static inline struct kube *kube_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* kube.c: replies */
void kube_refuse(struct http_request *rq, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Checks that {name} in the path is our pod and that the query is well-formed. False: replied. */
bool kube_is_pod(struct http_request *rq);
/* The process of the container that the query names; *p NULL: "main", and there is no process yet.
 * False: replied. */
bool kube_container(struct http_request *rq, struct process **p);
/* Boolean query parameters, as apimachinery reads them: only "0" and "false", in any case, and an
 * absent one are false. */
bool kube_flag(const struct http_request *rq, const char *name);

/* kube_pod.c: does a list with the selectors of this query have the pod? 1, 0, or negative:
 * replied. */
int kube_selects_pod(struct http_request *rq);
const char *kube_namespace(const struct http_request *rq);
bool kube_wants_table(const struct http_request *rq);
/* The members of the pod, and of a table with it or without. `k` and `ns` do not depend on a
 * request. `s` must be of the present version; NULL: none is at hand. */
void kube_write_pod(struct json_out *o, struct kube *k, const char *ns,
                    const struct kube_snapshot *s);
void kube_write_table(struct json_out *o, struct kube *k, const char *ns, bool row, bool columns,
                      const struct kube_snapshot *s);
void kube_snapshot_take(struct kube_snapshot *s, struct kube *k);
void kube_snapshot_fini(struct kube_snapshot *s);
/* kube_watch.c: the version of the pod as it is now. */
uint64_t kube_version_now(struct kube *k);
/* Replies with the changes of the pod. `pod`: what kube_selects_pod() said. */
void kube_watch(struct http_request *rq, int pod);
/* kube_review.c: the members of its groups in a list of groups. */
void kube_review_write_groups(struct json_out *o);
/* kube_metrics.c: the members of the group in a list of groups. */
void kube_metrics_write_group(struct json_out *o);

/* handlers */
void kube_api_versions(struct http_request *rq);
void kube_api_groups(struct http_request *rq);
void kube_api_resources(struct http_request *rq);
void kube_version(struct http_request *rq);
void kube_health(struct http_request *rq);
void kube_pods(struct http_request *rq);
void kube_pod(struct http_request *rq);
void kube_access_review(struct http_request *rq);
void kube_rules_review(struct http_request *rq);
void kube_self_review(struct http_request *rq);
void kube_authorization_resources(struct http_request *rq);
void kube_authentication_resources(struct http_request *rq);
void kube_metrics_group(struct http_request *rq);
void kube_metrics_resources(struct http_request *rq);
void kube_metrics_pods(struct http_request *rq);
void kube_metrics_pod(struct http_request *rq);
void kube_exec(struct http_request *rq);
void kube_attach(struct http_request *rq);
void kube_log(struct http_request *rq);
void kube_portforward(struct http_request *rq);

#endif
