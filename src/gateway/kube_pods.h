/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_pods.h - the running pods by uid, and which of them serves a sandbox
 *
 * Several pods may have one sandbox id, for example while one replaces another. Requests are routed
 * to a ready pod if there is one, and to the newest of those. A pod is identified by its uid, so
 * one whose label changes leaves its old id. Layer: gateway.
 */
#ifndef HF_GATEWAY_KUBE_PODS_H
#define HF_GATEWAY_KUBE_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/endpoint.h"

#define KUBE_PODS_MAX 100000   /* of one cluster; more are not kept */
#define KUBE_UID_MAX_BYTES 253 /* a uid has 36; where it is missing, the name replaces it */

struct kube_pods;

struct kube_pod {
    const char *uid, *id;
    const char *created; /* RFC 3339, so that text order is time order; "" if unknown */
    bool ready;
};

struct kube_pods *kube_pods_new(void);
void kube_pods_free(struct kube_pods *t); /* NULL is fine */
/* Replaces the entry of this uid, whatever its id. False: the table is full. */
bool kube_pods_put(struct kube_pods *t, const struct kube_pod *pod, struct endpoint *e_taken);
void kube_pods_remove(struct kube_pods *t, const char *uid);
struct endpoint *kube_pods_get(const struct kube_pods *t, const char *id); /* borrowed; NULL */
size_t kube_pods_count(const struct kube_pods *t);
/* Replaces all pods of t with those of `from`. */
void kube_pods_swap(struct kube_pods *t, struct kube_pods *from);

#endif
