/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_client.c - TLS on connections that we open
 *
 * Layer: transport.
 */
#include "transport/tls.h"

#if HF_TLS

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/mem.h"
#include "transport/tls_own.h"

struct tls_context *tls_client_context_new(const char *ca_file, struct hf_error *err)
{
    struct tls_context *c = hf_xalloc(sizeof *c);
    int ok;

    c->ctx = SSL_CTX_new(TLS_client_method());
    if (c->ctx == NULL) {
        tls_context_free(c);
        hf_fail(err, HF_E_no_memory, "OpenSSL is out of memory");
        return NULL;
    }
    tls_harden(c->ctx);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    ok = ca_file != NULL ? SSL_CTX_load_verify_locations(c->ctx, ca_file, NULL)
                         : SSL_CTX_set_default_verify_paths(c->ctx);
    ERR_clear_error();
    if (ok == 1)
        return c;
    hf_fail(err, HF_E_bad_value, "cannot use the certificates of %s",
            ca_file != NULL ? ca_file : "this system");
    tls_context_free(c);
    return NULL;
}

static void expect_host(SSL *ssl, const char *host)
{
    unsigned char address[16];

    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
        return;
    }
    SSL_set_tlsext_host_name(ssl, host);
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, host);
}

struct tls *tls_client_new(struct tls_context *c, const char *host)
{
    struct tls *t = tls_new(c);

    tls_begin(t);
    if (t->ssl != NULL) {
        expect_host(t->ssl, host);
        SSL_set_connect_state(t->ssl);
    }
    return t;
}

bool tls_is_ready(const struct tls *t)
{
    return t->ssl != NULL && SSL_is_init_finished(t->ssl);
}

const char *tls_why(const struct tls *t)
{
    long verified = t->ssl != NULL ? SSL_get_verify_result(t->ssl) : X509_V_OK;

    if (verified != X509_V_OK)
        return X509_verify_cert_error_string(verified);
    return t->why[0] != '\0' ? t->why : "the connection was lost";
}

#else

typedef int tls_client_is_not_empty;

#endif
