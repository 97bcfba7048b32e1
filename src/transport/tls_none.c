/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_none.c - replaces TLS in a build without it: every call fails and says so
 *
 * Layer: transport.
 */
#include "transport/tls.h"

typedef int tls_none_is_not_empty; /* a file must declare something */

#if !HF_TLS

#include <errno.h>
#include <stddef.h>

bool tls_is_built_in(void)
{
    return false;
}

struct tls_context *tls_context_new(const char *cert_file, const char *key_file,
                                    struct hf_error *err)
{
    (void)cert_file, (void)key_file;
    hf_fail(err, HF_E_not_implemented, "This binary was built without TLS; build with TLS=1.");
    return NULL;
}

struct tls_context *tls_context_from_pem(const struct buf *cert, const struct buf *key,
                                         struct hf_error *err)
{
    (void)cert, (void)key;
    return tls_context_new("", "", err);
}

int tls_context_set_pem(struct tls_context *c, const struct buf *cert, const struct buf *key,
                        struct hf_error *err)
{
    (void)cert, (void)key;
    return tls_context_reload(c, err);
}

void tls_context_offer_h2(struct tls_context *c)
{
    (void)c;
}

bool tls_chose_h2(const struct tls *t)
{
    (void)t;
    return false;
}

void tls_context_free(struct tls_context *c)
{
    (void)c;
}

int tls_context_reload(struct tls_context *c, struct hf_error *err)
{
    (void)c;
    return hf_fail(err, HF_E_not_implemented, "This binary was built without TLS.");
}

struct tls_context *tls_client_context_new(const char *ca_file, struct hf_error *err)
{
    (void)ca_file;
    hf_fail(err, HF_E_not_implemented,
            "this binary was built without TLS; build it with TLS=1, or do without TLS");
    return NULL;
}

struct tls *tls_client_new(struct tls_context *c, const char *host)
{
    (void)c, (void)host;
    return NULL;
}

bool tls_is_ready(const struct tls *t)
{
    (void)t;
    return false;
}

const char *tls_why(const struct tls *t)
{
    (void)t;
    return "built without TLS";
}

struct tls *tls_new(struct tls_context *c)
{
    (void)c;
    return NULL;
}

void tls_discard(struct tls *t)
{
    (void)t;
}

int tls_receive(struct tls *t, const void *bytes, size_t len, struct buf *plain, struct buf *wire)
{
    (void)t, (void)bytes, (void)len, (void)plain, (void)wire;
    return -EPROTO;
}

int tls_send(struct tls *t, const void *bytes, size_t len, struct buf *wire)
{
    (void)t, (void)bytes, (void)len, (void)wire;
    return -EPROTO;
}

void tls_shutdown(struct tls *t, struct buf *wire)
{
    (void)t, (void)wire;
}

#endif
