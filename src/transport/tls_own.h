/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_own.h - what tls.c and tls_client.c share. Layer: transport.
 */
#ifndef HF_TRANSPORT_TLS_OWN_H
#define HF_TRANSPORT_TLS_OWN_H

#include <openssl/ssl.h>

#include "transport/tls.h"

struct tls_context {
    SSL_CTX *ctx; /* connections hold their own reference: a reload leaves them alone */
    char *cert_file, *key_file;
    bool h2; /* may be agreed on */
};

struct tls {
    struct tls_context *from; /* not begun: a peer that says nothing costs no session */
    SSL *ssl;
    char why[160]; /* of the last failure; "" */
};

void tls_begin(struct tls *t); /* makes the session, once */
/* What every context has, of a server or a client: nothing older than TLS 1.2, and of its suites
 * those with forward secrecy and authenticated encryption, which is all that TLS 1.3 has. */
void tls_harden(SSL_CTX *ctx);

#endif
