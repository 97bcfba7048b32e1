/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - TLS on connections, with OpenSSL
 *
 * Built with TLS=1; otherwise tls_context_new() fails with an error that says so. OpenSSL reads and
 * writes memory only; the sockets stay ours (see io.h for why). Layer: transport.
 */
#ifndef HF_TRANSPORT_TLS_H
#define HF_TRANSPORT_TLS_H

#include "base/buf.h"
#include "base/error.h"

struct tls_context;
struct tls;

bool tls_is_built_in(void);
struct tls_context *tls_context_new(const char *cert_file, const char *key_file,
                                    struct hf_error *err);
/* From memory: the chain and its private key in PEM. */
struct tls_context *tls_context_from_pem(const struct buf *cert, const struct buf *key,
                                         struct hf_error *err);
/* Replaces them for new connections; on failure the old ones stay. */
int tls_context_set_pem(struct tls_context *c, const struct buf *cert, const struct buf *key,
                        struct hf_error *err);
/* Offers HTTP/2 to clients; without it they can use HTTP/1.1 only. */
void tls_context_offer_h2(struct tls_context *c);
bool tls_chose_h2(const struct tls *t); /* the client has chosen it */
void tls_context_free(struct tls_context *c);
/* Reads the files again; on failure the old ones stay. */
int tls_context_reload(struct tls_context *c, struct hf_error *err);

/* The client side: `ca_file` (PEM) is trusted; NULL: the system's CA certificates. */
struct tls_context *tls_client_context_new(const char *ca_file, struct hf_error *err);
/* The certificate must match `host`, a name or an address. An empty tls_receive() begins. */
struct tls *tls_client_new(struct tls_context *c, const char *host);
bool tls_is_ready(const struct tls *t);   /* the handshake is done */
const char *tls_why(const struct tls *t); /* why it failed, as text */

struct tls *tls_new(struct tls_context *c);
void tls_discard(struct tls *t); /* static OpenSSL has a tls_free() of its own */
/* Ciphertext in; plaintext appended to *plain, ciphertext to send appended to *wire.
 * 0, or -EPROTO (alert is in *wire), or -ECONNRESET after the peer's close_notify. */
int tls_receive(struct tls *t, const void *bytes, size_t len, struct buf *plain, struct buf *wire);
int tls_send(struct tls *t, const void *bytes, size_t len, struct buf *wire);
void tls_shutdown(struct tls *t, struct buf *wire);

#endif
