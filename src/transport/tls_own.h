/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_own.h - what tls.c and tls_client.c share
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_TLS_OWN_H
#define HF_TRANSPORT_TLS_OWN_H

#include <openssl/ssl.h>

#include "transport/tls.h"

struct tls_context {
    SSL_CTX *ctx; /* connections hold their own reference: a reload does not affect them */
    char *cert_file, *key_file;
    bool h2; /* may be negotiated */
};

struct tls {
    struct tls_context *from; /* not begun: a silent peer costs no session */
    SSL *ssl;
    char why[160]; /* of the last failure; "" */
};

void tls_begin(struct tls *t); /* creates the session, once */
/* The settings of every context, server or client: nothing older than TLS 1.2, and only suites with
 * forward secrecy and authenticated encryption, which is all that TLS 1.3 has. */
void tls_harden(SSL_CTX *ctx);

#endif
