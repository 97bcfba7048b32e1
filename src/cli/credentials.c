/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.c - loads, reloads and saves tokens and certificate. Layer: cli.
 */
#include "cli/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/token_file.h"
#include "transport/tls.h"

#define SAVED_BYTES_MAX (4 * 1024 * 1024) /* all of them as JSON, every character escaped */

void credentials_fini(struct credentials *c)
{
    buf_wipe(&c->tokens);
    buf_wipe(&c->fixed);
    buf_wipe(&c->retired);
    buf_wipe(&c->cert);
    buf_wipe(&c->key);
    hf_wipe(c, sizeof *c);
}

/* --- parsing ----------------------------------------------------------------------------- */

/* The next line of `text`, without its end; false: there is none. */
static bool next_line(const struct buf *text, size_t *at, const char **line, size_t *len)
{
    const char *from = buf_data(text) + *at, *end;

    if (*at >= text->len)
        return false;
    end = memchr(from, '\n', text->len - *at);
    *line = from;
    *len = end != NULL ? (size_t)(end - from) : text->len - *at;
    *at += *len + 1;
    return true;
}

/* "UNTIL_MS ROLE TOKEN": the end, and the rest as a line of a token file. */
static int64_t retired_until(const char **line, size_t *len)
{
    char digits[24];
    const char *space = memchr(*line, ' ', *len);
    size_t n = space != NULL ? (size_t)(space - *line) : 0;
    int64_t until = 0;

    if (n == 0 || n >= sizeof digits)
        return 0;
    memcpy(digits, *line, n);
    digits[n] = '\0';
    *line += n + 1;
    *len -= n + 1;
    return text_to_i64(digits, 0, INT64_MAX, &until) ? until : 0;
}

int credentials_auth(const struct credentials *c, struct auth *a, struct hf_error *err)
{
    const char *line, *token;
    size_t at = 0, len;
    enum role role;
    int rc = auth_add_tokens(a, buf_data(&c->tokens), c->tokens.len, err);

    if (rc == 0 && c->fixed.len > 0)
        rc = auth_add_tokens(a, buf_data(&c->fixed), c->fixed.len, err);
    while (rc == 0 && next_line(&c->retired, &at, &line, &len)) {
        int64_t until = retired_until(&line, &len);

        if (until > 0 && auth_line_parse(line, len, &token, &len, &role))
            auth_add_retired(a, token, len, role, until);
    }
    auth_set_link_key(a, c->link_key);
    return rc;
}

static int check_tokens(const struct credentials *c, struct hf_error *err)
{
    struct auth *a = auth_new();
    int rc = credentials_auth(c, a, err);

    auth_free(a);
    return rc;
}

static int check_tls(const struct credentials *c, struct hf_error *err)
{
    struct tls_context *tls = tls_context_from_pem(&c->cert, &c->key, err);

    tls_context_free(tls);
    return tls != NULL ? 0 : -EINVAL;
}

int credentials_check(const struct credentials *c, const struct serve_options *o,
                      struct hf_error *err)
{
    int rc = o->no_auth ? 0 : check_tokens(c, err);

    return rc == 0 && o->tls_cert != NULL ? check_tls(c, err) : rc;
}

/* --- files ------------------------------------------------------------------------------- */

static int read_pem(const char *file, const char *what, struct buf *out, struct hf_error *err)
{
    int rc = io_read_file(file, LIMIT_PEM_BYTES, out);

    return rc < 0 ? hf_fail(err, HF_E_bad_value, "Cannot use the %s %.200s: %s.", what, file,
                            strerror(-rc))
                  : 0;
}

/* Both files, or neither: a new certificate does not work with the old key. */
static int read_tls(struct credentials *c, const struct serve_options *o, struct hf_error *err)
{
    struct credentials fresh = {0};
    struct hf_error why = {0};
    int rc = 0;

    if (!tls_is_built_in())
        rc = hf_fail(err, HF_E_not_implemented,
                     "This binary was built without TLS; build with TLS=1.");
    if (rc == 0)
        rc = read_pem(o->tls_cert, "certificate", &fresh.cert, err);
    if (rc == 0)
        rc = read_pem(o->tls_key, "private key", &fresh.key, err);
    if (rc == 0 && (rc = check_tls(&fresh, &why)) < 0)
        hf_fail(err, HF_E_bad_value, "%s (%.100s, %.100s)", why.detail, o->tls_cert, o->tls_key);
    if (rc == 0) {
        struct buf cert = c->cert, key = c->key;

        c->cert = fresh.cert;
        c->key = fresh.key;
        fresh.cert = cert;
        fresh.key = key;
    }
    credentials_fini(&fresh);
    return rc;
}

int credentials_load(struct credentials *c, const struct serve_options *o, struct hf_error *err)
{
    int rc = 0;

    crypto_random(c->link_key, sizeof c->link_key);
    if (!o->no_auth) {
        rc = token_load(o->token_file, &c->tokens, c->token_file, err);
        if (rc == 0)
            rc = check_tokens(c, err);
    }
    return rc == 0 && o->tls_cert != NULL ? read_tls(c, o, err) : rc;
}

/* --- reloading --------------------------------------------------------------------------- */

/* Is this token, with this role, among the lines? */
static bool lines_have(const struct buf *text, const char *token, size_t len, enum role role)
{
    const char *line, *other;
    size_t at = 0, n;
    enum role is;

    while (next_line(text, &at, &line, &n)) {
        if (auth_line_parse(line, n, &other, &n, &is) && is == role && n == len &&
            crypto_equal(other, token, n))
            return true;
    }
    return false;
}

static void retire(struct buf *out, const struct buf *stay, const char *line, size_t len,
                   int64_t until_ms)
{
    const char *token;
    enum role role;

    if (auth_line_parse(line, len, &token, &len, &role) && !lines_have(stay, token, len, role))
        buf_printf(out, "%lld %s %.*s\n", (long long)until_ms, http_role_name(role), (int)len,
                   token);
}

/* Retires the lines that `c->tokens` has replaced. */
static void retire_all(struct credentials *c, const struct buf *before, int64_t grace_ms)
{
    int64_t now = clock_wall_ms();
    struct buf out = {0};
    const char *line;
    size_t at = 0, len;

    for (at = 0; grace_ms > 0 && next_line(before, &at, &line, &len);)
        retire(&out, &c->tokens, line, len, now + grace_ms);
    for (at = 0; grace_ms != 0 && next_line(&c->retired, &at, &line, &len);) {
        int64_t until = retired_until(&line, &len);

        if (until > now)
            retire(&out, &c->tokens, line, len, until);
    }
    buf_wipe(&c->retired);
    c->retired = out;
}

static int reload_tokens(struct credentials *c, int64_t grace_ms, struct hf_error *err)
{
    struct credentials fresh = {.fixed = c->fixed}; /* they count towards the limit, too */
    int rc = token_read(c->token_file, &fresh.tokens, err);

    if (rc == 0)
        rc = check_tokens(&fresh, err);
    fresh.fixed = (struct buf){0};
    if (rc == 0) {
        struct buf before = c->tokens;

        c->tokens = fresh.tokens;
        fresh.tokens = before;
        retire_all(c, &before, grace_ms);
    }
    credentials_fini(&fresh);
    return rc;
}

static void note(int rc, const struct hf_error *err, const char *what, char *out, size_t size)
{
    snprintf(out, size, "%s", rc < 0 ? err->detail : "");
    if (rc < 0)
        log_error("%s; keeping the previous %s", err->detail, what);
}

void credentials_reload(struct credentials *c, const struct serve_options *o, int64_t grace_ms)
{
    struct hf_error err = {0};

    if (!o->no_auth && c->token_file[0] != '\0')
        note(reload_tokens(c, grace_ms, &err), &err, "tokens", c->token_error,
             sizeof c->token_error);
    if (o->tls_cert != NULL)
        note(read_tls(c, o, &err), &err, "certificate", c->tls_error, sizeof c->tls_error);
}

/* --- in memory --------------------------------------------------------------------------- */

static void write_buf(struct json_out *o, const char *key, const struct buf *b)
{
    json_key(o, key);
    json_strn(o, b->len > 0 ? buf_data(b) : "", b->len);
}

void credentials_write(const struct credentials *c, struct json_out *o)
{
    char hex[2 * AUTH_KEY_BYTES + 1];

    hex_encode(hex, c->link_key, sizeof c->link_key);
    write_buf(o, "tokens", &c->tokens);
    write_buf(o, "fixed_tokens", &c->fixed);
    write_buf(o, "retired", &c->retired);
    write_buf(o, "tls_cert", &c->cert);
    write_buf(o, "tls_key", &c->key);
    json_kstr(o, "token_file", c->token_file);
    json_kstr(o, "link_key", hex);
    json_kstr(o, "token_error", c->token_error);
    json_kstr(o, "tls_error", c->tls_error);
    hf_wipe(hex, sizeof hex);
}

static void read_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));

    if (text != NULL)
        snprintf(out, size, "%s", text);
}

static void read_buf(const json_t *o, const char *key, struct buf *out)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_string(v))
        return;
    buf_wipe(out);
    buf_put(out, json_string_value(v), json_string_length(v));
}

static void read_key(const json_t *o, uint8_t out[AUTH_KEY_BYTES])
{
    const char *hex = json_string_value(json_object_get(o, "link_key"));

    if (hex == NULL || strlen(hex) != 2 * AUTH_KEY_BYTES)
        return;
    for (size_t i = 0; i < AUTH_KEY_BYTES; i++)
        out[i] = (uint8_t)((hex_digit(hex[2 * i]) << 4) | hex_digit(hex[2 * i + 1]));
}

void credentials_read(struct credentials *c, const json_t *o)
{
    read_buf(o, "tokens", &c->tokens);
    read_buf(o, "fixed_tokens", &c->fixed);
    read_buf(o, "retired", &c->retired);
    read_buf(o, "tls_cert", &c->cert);
    read_buf(o, "tls_key", &c->key);
    read_text(o, "token_file", c->token_file, sizeof c->token_file);
    read_key(o, c->link_key);
    read_text(o, "token_error", c->token_error, sizeof c->token_error);
    read_text(o, "tls_error", c->tls_error, sizeof c->tls_error);
}

int credentials_save(const struct credentials *c, int fd)
{
    struct buf text = {0};
    struct json_out o;
    int rc;

    json_out_init(&o, &text);
    json_open(&o, '{');
    credentials_write(c, &o);
    json_close(&o, '}');
    rc = io_write_all(fd, buf_data(&text), text.len);
    buf_wipe(&text);
    if (rc == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        rc = -errno;
    return rc;
}

/* Mapped rather than read: read(2) would add to the count of base/io.h, and a worker that has
 * changed its user can no longer read the kernel's count. */
int credentials_open(struct credentials *c, int fd)
{
    struct stat st;
    struct hf_error err = {0};
    json_t *o;
    char *text;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size == 0 || st.st_size > SAVED_BYTES_MAX)
        return -EPROTO;
    text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return -errno;
    o = json_parse_secret(text, (size_t)st.st_size, &err);
    munmap(text, (size_t)st.st_size);
    if (o == NULL)
        return err.code == HF_E_no_memory ? -ENOMEM : -EPROTO;
    credentials_read(c, o);
    json_free_secret(o);
    return 0;
}
