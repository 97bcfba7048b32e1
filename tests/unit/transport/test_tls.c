/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tls.c - the same server behind TLS, and on a unix socket
 */
#include "http_rig.h"

#include <sys/un.h>

#include "base/io.h"
#include "transport/tls.h"

static void on_hello(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", http_is_tls(rq) ? "tls" : "plain", http_is_tls(rq) ? 3 : 5);
}

static void on_peer(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", http_peer(rq), strlen(http_peer(rq)));
}

static void on_echo(struct http_request *rq)
{
    size_t len;
    const char *body = http_body(rq, &len);

    http_reply(rq, 200, "text/plain", body, len);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/hello", on_hello, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/peer", on_peer, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/echo", on_echo, ROLE_OWN, 0, 8 << 20, NULL},
};
#define COUNT (sizeof routes / sizeof *routes)
#define HEAD "Host: localhost\r\n" RIG_AUTH
#define LAST HEAD "Connection: close\r\n"

#if HF_TLS

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static char dir[] = "/tmp/holdfast-tls-XXXXXX", cert_file[64], key_file[64];

/* A key and a certificate signed by itself. */
static void make_files(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    FILE *f;

    REQUIRE(mkdtemp(dir) != NULL && key != NULL && cert != NULL);
    snprintf(cert_file, sizeof cert_file, "%s/cert.pem", dir);
    snprintf(key_file, sizeof key_file, "%s/key.pem", dir);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_sign(cert, key, EVP_sha256());
    f = fopen(cert_file, "w");
    PEM_write_X509(f, cert);
    fclose(f);
    f = fopen(key_file, "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void remove_files(void)
{
    unlink(cert_file);
    unlink(key_file);
    rmdir(dir);
}

static SSL *tls_connect(struct rig *r, SSL_CTX *ctx, int *fd)
{
    SSL *ssl = SSL_new(ctx);

    *fd = rig_connect(r);
    SSL_set_fd(ssl, *fd);
    REQUIRE(SSL_connect(ssl) == 1);
    return ssl;
}

static void tls_read_all(SSL *ssl, struct buf *b)
{
    char part[4096];
    int n;

    while ((n = SSL_read(ssl, part, sizeof part)) > 0)
        buf_put(b, part, (size_t)n);
    EXPECT_INT(SSL_get_error(ssl, n), SSL_ERROR_ZERO_RETURN); /* a proper end, not a cut */
    buf_cstr(b);
}

static void client_tls(struct rig *r)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    size_t len = 3 << 20;
    char *body = malloc(len), *text;
    struct buf b = {0};
    int fd;
    SSL *ssl = tls_connect(r, ctx, &fd);

    memset(body, 'x', len);
    text = (char *)(uintptr_t)("GET /hello HTTP/1.1\r\n" HEAD "\r\nPOST /echo HTTP/1.1\r\n" LAST
                               "Content-Length: 3145728\r\n\r\n");
    REQUIRE(SSL_write(ssl, text, (int)strlen(text)) > 0);
    REQUIRE(SSL_write(ssl, body, (int)len) == (int)len);
    tls_read_all(ssl, &b);
    EXPECT(strstr(b.mem, "\r\n\r\ntlsHTTP/1.1 200 OK") != NULL);
    EXPECT(b.len > len && memcmp(buf_data(&b) + b.len - len, body, len) == 0);
    buf_fini(&b);
    SSL_free(ssl);
    close(fd);
    fd = rig_connect(r); /* plain text at a TLS port is cut, not answered */
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" LAST "\r\n");
    text = rig_read_all(fd);
    EXPECT(strstr(text, "HTTP/1.1 200") == NULL);
    free(text);
    close(fd);
    SSL_CTX_free(ctx);
    free(body);
}

TEST(requests_pass_through_tls)
{
    struct hf_error err = {0};
    struct rig r;

    make_files();
    rig_setup(&r, routes, COUNT);
    r.tls = tls_context_new(cert_file, key_file, &err);
    REQUIRE(r.tls != NULL);
    EXPECT_INT(tls_context_reload(r.tls, &err), 0);
    rig_run(&r, client_tls);
    tls_context_free(r.tls);
    remove_files();
}

static void read_pem(const char *file, struct buf *out)
{
    REQUIRE(io_read_file(file, 1 << 20, out) == 0);
}

TEST(a_certificate_may_come_from_memory)
{
    struct buf cert = {0}, key = {0}, none = {0}, chain = {0};
    struct hf_error err = {0};
    struct tls_context *c;

    make_files();
    read_pem(cert_file, &cert);
    read_pem(key_file, &key);
    remove_files();
    c = tls_context_from_pem(&cert, &key, &err);
    REQUIRE(c != NULL);
    /* What cannot be used leaves what there was. */
    EXPECT(tls_context_set_pem(c, &none, &key, &err) < 0);
    EXPECT(strstr(err.detail, "certificate") != NULL);
    EXPECT(tls_context_set_pem(c, &cert, &none, &err) < 0);
    EXPECT(strstr(err.detail, "private key") != NULL);
    EXPECT(tls_context_set_pem(c, &cert, &cert, &err) < 0);
    /* A chain, with text between its parts; but not with half a part. */
    buf_put(&chain, buf_data(&cert), cert.len);
    buf_puts(&chain, "\nintermediate:\n");
    buf_put(&chain, buf_data(&cert), cert.len);
    EXPECT_INT(tls_context_set_pem(c, &chain, &key, &err), 0);
    buf_put(&chain, buf_data(&cert), cert.len / 2);
    EXPECT(tls_context_set_pem(c, &chain, &key, &err) < 0);
    EXPECT(tls_context_from_pem(&none, &none, &err) == NULL);
    tls_context_free(c);
    buf_fini(&cert);
    buf_fini(&key);
    buf_fini(&chain);
}

TEST(files_that_cannot_be_used_are_named)
{
    struct hf_error err = {0};

    EXPECT(tls_is_built_in());
    EXPECT(tls_context_new("/nonexistent/cert", "/nonexistent/key", &err) == NULL);
    EXPECT(strstr(err.detail, "/nonexistent/cert") != NULL);
}

#else

TEST(a_build_without_tls_says_so)
{
    struct hf_error err = {0};

    EXPECT(!tls_is_built_in());
    EXPECT(tls_context_new("cert", "key", &err) == NULL);
    EXPECT_INT(err.code, HF_E_not_implemented);
}

#endif

/* --- unix sockets -------------------------------------------------------------------------------- */

static char *ask_unix(const char *path, const char *request)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *answer;

    strcpy(a.sun_path, path);
    REQUIRE(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    rig_puts(fd, request);
    answer = rig_read_all(fd);
    close(fd);
    return answer;
}

static void client_unix(struct rig *r)
{
    char want[64], *answer;

    snprintf(want, sizeof want, "\r\n\r\nunix:uid=%d", (int)getuid());
    answer = ask_unix(r->address + 5,
                      "GET /peer HTTP/1.1\r\nHost: any.name\r\nConnection: close\r\n\r\n");
    EXPECT(strstr(answer, want) != NULL); /* no token: the uid is enough */
    free(answer);
}

TEST(on_a_unix_socket_the_peer_needs_no_token)
{
    char folder[] = "/tmp/holdfast-unix-XXXXXX", address[80];
    struct rig r;

    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(address, sizeof address, "unix:%s/s", folder);
    rig_setup(&r, routes, COUNT);
    auth_set_uid(r.auth, getuid());
    r.address = address;
    rig_run(&r, client_unix);
    unlink(address + 5);
    rmdir(folder);
}
