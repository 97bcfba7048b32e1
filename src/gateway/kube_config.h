/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_config.h - the API server's address and our credentials for it
 *
 * From "[URL][?namespace=NAME&token_file=FILE&ca_file=FILE&silence_s=N]"; without a URL, from the
 * environment and files that every pod with a service account has. Layer: gateway.
 */
#ifndef HF_GATEWAY_KUBE_CONFIG_H
#define HF_GATEWAY_KUBE_CONFIG_H

#include "gateway/gateway_fetch.h"

#define KUBE_SILENCE_S 150 /* a watch without an event or a bookmark, which come each minute */
#define KUBE_SECRETS "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_config {
    struct fetch_target target;
    struct tls_context *trust;
    char *token_file; /* NULL: none; read for each request, because it is replaced now and then */
    char *namespace;  /* NULL: all of them */
    uint32_t silence_ms; /* a watch that is silent for this long is reopened */
};

/* {0} before; call kube_config_fini() whatever it returns. */
int kube_config_parse(struct kube_config *k, const char *where, struct hf_error *err);
void kube_config_fini(struct kube_config *k);

#endif
