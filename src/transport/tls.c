/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.c - TLS on a server's connections, with OpenSSL
 *
 * Each connection has two memory BIOs: received ciphertext, and ciphertext to send. Layer:
 * transport.
 */
#include "transport/tls.h"

#if HF_TLS

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "transport/tls_own.h"

#define TLS_READ_BYTES (16 * 1024) /* one record */

bool tls_is_built_in(void)
{
    return true;
}

/* The last reason that OpenSSL recorded; empties its queue. */
static const char *tls_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return text != NULL ? text : "unknown reason";
}

/* HTTP/2 is preferred to HTTP/1.1 where it is enabled. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    const struct tls_context *c = arg;
    const unsigned skip = c->h2 ? 0 : 3;
    unsigned char *chosen;

    (void)ssl;
    if (SSL_select_next_proto(&chosen, out_len, both + skip, (unsigned)sizeof both - 1 - skip, in,
                              in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static int load_files(SSL_CTX *ctx, const struct tls_context *c, struct hf_error *err)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, c->cert_file) != 1)
        return hf_fail(err, HF_E_bad_value, "Cannot use the certificate %s: %s.", c->cert_file,
                       tls_reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, c->key_file, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return hf_fail(err, HF_E_bad_value, "Cannot use the private key %s: %s.", c->key_file,
                       tls_reason());
    return 0;
}

/* The certificate first, then its chain. */
static int load_chain(SSL_CTX *ctx, BIO *in)
{
    X509 *x = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL);
    int ok = x != NULL && SSL_CTX_use_certificate(ctx, x) == 1;

    X509_free(x);
    while (ok == 1 && (x = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL) {
        ok = SSL_CTX_add0_chain_cert(ctx, x) == 1;
        if (ok != 1)
            X509_free(x);
    }
    /* OpenSSL reports the end of the text as an error. */
    if (ok == 1 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
        ERR_clear_error();
    return ok == 1 && ERR_peek_error() == 0;
}

static int load_pem(SSL_CTX *ctx, const struct buf *cert, const struct buf *key,
                    struct hf_error *err)
{
    BIO *in = BIO_new_mem_buf(buf_data(cert), (int)cert->len);
    EVP_PKEY *pkey = NULL;
    int rc = 0;

    ERR_clear_error();
    if (in == NULL || !load_chain(ctx, in))
        rc = hf_fail(err, HF_E_bad_value, "Cannot use the certificate: %s.", tls_reason());
    BIO_free(in);
    in = BIO_new_mem_buf(buf_data(key), (int)key->len);
    if (rc == 0 && (in == NULL || (pkey = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL)) == NULL ||
                    SSL_CTX_use_PrivateKey(ctx, pkey) != 1 || SSL_CTX_check_private_key(ctx) != 1))
        rc = hf_fail(err, HF_E_bad_value, "Cannot use the private key: %s.", tls_reason());
    EVP_PKEY_free(pkey);
    BIO_free(in);
    return rc;
}

void tls_harden(SSL_CTX *ctx)
{
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20"); /* of TLS 1.2 */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
}

/* Returns NULL and sets err on failure. */
static SSL_CTX *make_ctx(struct tls_context *c, struct hf_error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (ctx == NULL) {
        hf_fail(err, HF_E_no_memory, "OpenSSL: %s.", tls_reason());
        return NULL;
    }
    tls_harden(ctx);
    SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, c);
    return ctx;
}

/* Replaces the old one, unless loading failed. */
static int put_ctx(struct tls_context *c, SSL_CTX *ctx, int rc)
{
    if (rc < 0) {
        SSL_CTX_free(ctx);
        return rc;
    }
    SSL_CTX_free(c->ctx);
    c->ctx = ctx;
    return 0;
}

int tls_context_reload(struct tls_context *c, struct hf_error *err)
{
    SSL_CTX *ctx = make_ctx(c, err);
    int rc = put_ctx(c, ctx, ctx == NULL ? -ENOMEM : load_files(ctx, c, err));

    io_count_sync(); /* OpenSSL reads files directly, including its own configuration */
    return rc;
}

int tls_context_set_pem(struct tls_context *c, const struct buf *cert, const struct buf *key,
                        struct hf_error *err)
{
    SSL_CTX *ctx = make_ctx(c, err);

    return put_ctx(c, ctx, ctx == NULL ? -ENOMEM : load_pem(ctx, cert, key, err));
}

struct tls_context *tls_context_from_pem(const struct buf *cert, const struct buf *key,
                                         struct hf_error *err)
{
    struct tls_context *c = hf_xalloc(sizeof *c);
    int rc = tls_context_set_pem(c, cert, key, err);

    io_count_sync(); /* OpenSSL has read its configuration directly */
    if (rc < 0) {
        tls_context_free(c);
        return NULL;
    }
    return c;
}

struct tls_context *tls_context_new(const char *cert_file, const char *key_file,
                                    struct hf_error *err)
{
    struct tls_context *c = hf_xalloc(sizeof *c);

    c->cert_file = hf_xstrdup(cert_file);
    c->key_file = hf_xstrdup(key_file);
    if (tls_context_reload(c, err) < 0) {
        tls_context_free(c);
        return NULL;
    }
    return c;
}

void tls_context_offer_h2(struct tls_context *c)
{
    c->h2 = true;
}

void tls_context_free(struct tls_context *c)
{
    if (c == NULL)
        return;
    SSL_CTX_free(c->ctx);
    free(c->cert_file);
    free(c->key_file);
    free(c);
}

struct tls *tls_new(struct tls_context *c)
{
    struct tls *t = hf_xalloc(sizeof *t);

    t->from = c;
    return t;
}

void tls_begin(struct tls *t)
{
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

    t->ssl = SSL_new(t->from->ctx);
    t->from = NULL;
    if (t->ssl == NULL || in == NULL || out == NULL) {
        BIO_free(in);
        BIO_free(out);
        SSL_free(t->ssl);
        t->ssl = NULL; /* every use of it fails, which ends the connection */
        return;
    }
    SSL_set_bio(t->ssl, in, out);
    SSL_set_accept_state(t->ssl);
}

bool tls_chose_h2(const struct tls *t)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    if (t->ssl != NULL)
        SSL_get0_alpn_selected(t->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

void tls_discard(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl); /* and its BIOs */
    free(t);
}

/* Moves what OpenSSL wants to send; its buffer is emptied, not kept. */
static int take_wire(struct tls *t, struct buf *wire)
{
    BIO *out = SSL_get_wbio(t->ssl);
    char *bytes;
    long len = BIO_get_mem_data(out, &bytes);

    if (len <= 0)
        return 0;
    if (buf_reserve(wire, (size_t)len) < 0)
        return -ENOMEM;
    buf_put(wire, bytes, (size_t)len);
    BIO_reset(out);
    return 0;
}

/* 0: OpenSSL needs more ciphertext. */
static int read_plain(struct tls *t, struct buf *plain)
{
    for (;;) {
        int n;

        if (buf_reserve(plain, TLS_READ_BYTES) < 0)
            return -ENOMEM;
        ERR_clear_error();
        n = SSL_read(t->ssl, buf_data(plain) + plain->len, TLS_READ_BYTES);
        if (n > 0) {
            plain->len += (size_t)n;
            continue;
        }
        switch (SSL_get_error(t->ssl, n)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return 0;
        case SSL_ERROR_ZERO_RETURN: return -ECONNRESET;
        default: snprintf(t->why, sizeof t->why, "%s", tls_reason()); return -EPROTO;
        }
    }
}

int tls_receive(struct tls *t, const void *bytes, size_t len, struct buf *plain, struct buf *wire)
{
    int rc, wrc;

    if (t->from != NULL)
        tls_begin(t);
    if (t->ssl == NULL || (len > 0 && BIO_write(SSL_get_rbio(t->ssl), bytes, (int)len) != (int)len))
        return -EPROTO;
    rc = read_plain(t, plain); /* also does the handshake */
    ERR_clear_error();
    wrc = take_wire(t, wire);
    return rc < 0 ? rc : wrc;
}

int tls_send(struct tls *t, const void *bytes, size_t len, struct buf *wire)
{
    const char *p = bytes;

    if (t->ssl == NULL)
        return -EPROTO;
    while (len > 0) {
        int n;

        ERR_clear_error();
        n = SSL_write(t->ssl, p, len > INT32_MAX ? INT32_MAX : (int)len);
        if (n <= 0)
            return -EPROTO;
        p += n;
        len -= (size_t)n;
    }
    return take_wire(t, wire);
}

void tls_shutdown(struct tls *t, struct buf *wire)
{
    if (t->ssl == NULL || !SSL_is_init_finished(t->ssl))
        return;
    SSL_shutdown(t->ssl);
    ERR_clear_error();
    take_wire(t, wire);
}

#else

typedef int tls_is_not_empty;

#endif
