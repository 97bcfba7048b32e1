/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.h - the API of a Kubernetes pod: exec, attach, log, portforward, and what kubectl asks first
 *
 * Facts: docs/dialects/kubernetes.md. The sandbox is one pod, "sandbox", in whatever namespace is
 * asked for. Its container "main" is where exec starts things; each process of the daemon is a
 * container more, so what any protocol has started can be attached to and its log read. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_H
#define HF_DIALECTS_KUBERNETES_KUBE_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/dialect.h"
#include "dialects/common/pending.h"

extern const struct dialect kubernetes_dialect;

#define KUBE_POD "sandbox"
#define KUBE_MAIN "main"
#define KUBE_UID_BYTES 37 /* of a pod, with NUL */

struct kube {
    struct engine *engine;
    struct loop *loop;
    const struct auth *auth;
    const char *version; /* of the daemon */
    struct route_table table;
    struct list pending;
    struct buf scratch;
    char uid[KUBE_UID_BYTES]; /* of the pod; outlives the worker, as does: */
    int64_t created_ms;
};

static inline struct kube *kube_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* kube.c: answers */
struct json_out kube_answer(struct kube *k); /* begins an object in the scratch buffer */
void kube_send(struct http_request *rq, int status, struct json_out *o);
void kube_refuse(struct http_request *rq, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void kube_error(struct http_request *rq, const struct hf_error *err); /* any error of ours */
const char *kube_reason(int status);                                  /* "NotFound" */
/* Is the {name} of the path our pod, and can the query be read? False: answered. */
bool kube_is_pod(struct http_request *rq);
/* Query parameters that are switches: "true" and "1". */
bool kube_flag(const struct http_request *rq, const char *name);

/* handlers */
void kube_api_versions(struct http_request *rq);
void kube_api_groups(struct http_request *rq);
void kube_api_resources(struct http_request *rq);
void kube_version(struct http_request *rq);
void kube_health(struct http_request *rq);
void kube_pods(struct http_request *rq);
void kube_pod(struct http_request *rq);
void kube_exec(struct http_request *rq);
void kube_attach(struct http_request *rq);
void kube_log(struct http_request *rq);
void kube_portforward(struct http_request *rq);

#endif
