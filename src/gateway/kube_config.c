/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_config.c - the API server's address and our credentials for it
 *
 * Layer: gateway.
 */
#include "gateway/kube_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "transport/http_server.h"

#define KUBE_SILENCE_MAX_S 86400

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = hf_xstrdup(text);
}

static bool name_is_fine(const char *s)
{
    return s[0] != '\0' && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

static bool take_silence(struct kube_config *k, const char *text)
{
    uint64_t seconds;

    if (!text_to_u64(text, KUBE_SILENCE_MAX_S, &seconds) || seconds == 0)
        return false;
    k->silence_ms = (uint32_t)seconds * 1000;
    return true;
}

/* "namespace=x&token_file=…&ca_file=…&silence_s=…" */
static int take_query(struct kube_config *k, char *query, char **ca_file, struct hf_error *err)
{
    char *save = NULL, *pair;

    for (pair = strtok_r(query, "&", &save); pair != NULL; pair = strtok_r(NULL, "&", &save)) {
        if (strncmp(pair, "namespace=", 10) == 0 && name_is_fine(pair + 10))
            set_text(&k->namespace, pair + 10);
        else if (strncmp(pair, "token_file=", 11) == 0)
            set_text(&k->token_file, pair + 11);
        else if (strncmp(pair, "ca_file=", 8) == 0)
            set_text(ca_file, pair + 8);
        else if (strncmp(pair, "silence_s=", 10) != 0 || !take_silence(k, pair + 10))
            return hf_fail(
                err, HF_E_bad_value,
                "kubernetes: accepts only ?namespace=, token_file=, ca_file= and silence_s=.");
    }
    return 0;
}

/* What every pod with a service account has. */
static int in_cluster(struct kube_config *k, char *url, size_t room, char **ca_file,
                      struct hf_error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    struct buf namespace = {0};
    char *text;

    if (host == NULL || port == NULL)
        return hf_fail(err, HF_E_bad_value,
                       "kubernetes: outside a cluster, the URL of the API server is required.");
    snprintf(url, room, strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s", host,
             port);
    set_text(&k->token_file, KUBE_SECRETS "/token");
    set_text(ca_file, KUBE_SECRETS "/ca.crt");
    if (io_read_file(KUBE_SECRETS "/namespace", 256, &namespace) == 0) {
        text = (char *)(uintptr_t)buf_cstr(&namespace);
        text[strcspn(text, " \r\n")] = '\0';
        if (name_is_fine(text))
            set_text(&k->namespace, text);
    }
    buf_fini(&namespace);
    return 0;
}

int kube_config_parse(struct kube_config *k, const char *where, struct hf_error *err)
{
    hf_autofree char *copy = hf_xstrdup(where), *ca_file = NULL;
    char url[512], *query = strchr(copy, '?');
    int rc = 0;

    k->silence_ms = KUBE_SILENCE_S * 1000;
    if (query != NULL)
        *query++ = '\0';
    snprintf(url, sizeof url, "%s", copy);
    if (copy[0] == '\0')
        rc = in_cluster(k, url, sizeof url, &ca_file, err);
    if (rc == 0 && query != NULL)
        rc = take_query(k, query, &ca_file, err);
    if (rc == 0)
        rc = fetch_parse_url(url, &k->target, err);
    if (rc == 0 && k->target.tls) {
        k->trust = tls_client_context_new(ca_file, err);
        k->target.trust = k->trust;
        rc = k->trust != NULL ? 0 : -EINVAL;
    }
    return rc;
}

void kube_config_fini(struct kube_config *k)
{
    tls_context_free(k->trust);
    free(k->token_file);
    free(k->namespace);
}
