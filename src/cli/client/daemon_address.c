/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_address.c - finds the daemon's URL and token. Layer: cli.
 */
#include "cli/client/daemon_address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/token_file.h"
#include "transport/auth.h"

#define DEFAULT_URL "http://127.0.0.1:7070"
#define TOKEN_FILE_MAX_BYTES 65536

static int bad_url(struct hf_error *err, const char *url)
{
    return hf_fail(err, HF_E_bad_value,
                   "%.120s is not a valid daemon URL; write http://HOST:PORT, https://HOST:PORT or "
                   "unix:PATH",
                   url);
}

/* "host", "host:port", "[v6]:port" */
static bool parse_authority(struct daemon_address *p, const char *text, size_t len)
{
    hf_autofree char *copy = hf_xstrndup(text, len);
    char *host = copy, *end, *colon;
    uint64_t port = p->tls ? 443 : 80;

    if (strpbrk(copy, "@ ") != NULL)
        return false;
    if (copy[0] == '[') {
        host = copy + 1;
        end = strchr(host, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return false;
        *end = '\0';
        colon = end[1] == ':' ? end + 1 : NULL;
    } else {
        colon = strchr(copy, ':');
        if (colon != NULL && strchr(colon + 1, ':') != NULL)
            return false;
        if (colon != NULL)
            *colon = '\0';
    }
    if (host[0] == '\0' || (colon != NULL && (!text_to_u64(colon + 1, 65535, &port) || port == 0)))
        return false;
    p->host = hf_xstrdup(host);
    p->port = (uint16_t)port;
    return true;
}

static int parse_http(struct daemon_address *p, const char *rest, const char *url,
                      struct hf_error *err)
{
    size_t len = strcspn(rest, "/?#"), tail = strlen(rest + len);

    if (strpbrk(rest, "?#") != NULL || !parse_authority(p, rest, len))
        return bad_url(err, url);
    while (tail > 0 && rest[len + tail - 1] == '/')
        tail--;
    p->prefix = hf_xstrndup(rest + len, tail);
    return 0;
}

int daemon_address_parse(struct daemon_address *p, const char *url, struct hf_error *err)
{
    const char *path;

    daemon_address_fini(p);
    p->url = hf_xstrdup(url);
    if (strncmp(url, "unix:", 5) == 0) {
        path = strncmp(url, "unix:///", 8) == 0 ? url + 7 : url + 5;
        if (path[0] == '\0')
            return bad_url(err, url);
        p->unix_path = hf_xstrdup(path);
        p->prefix = hf_xstrdup("");
        return 0;
    }
    if (strncmp(url, "http://", 7) == 0)
        return parse_http(p, url + 7, url, err);
    if (strncmp(url, "https://", 8) == 0) {
        p->tls = true;
        return parse_http(p, url + 8, url, err);
    }
    return bad_url(err, url);
}

bool daemon_address_is_local(const struct daemon_address *p)
{
    if (p->unix_path != NULL || p->host == NULL)
        return p->unix_path != NULL;
    return strncmp(p->host, "127.", 4) == 0 || strcmp(p->host, "::1") == 0 ||
           strcmp(p->host, "localhost") == 0;
}

/* A socket that exists at a usual path. */
static bool find_socket(char *out, size_t size)
{
    static const char *const paths[] = {"/run/holdfast.sock", "/run/holdfast/holdfast.sock"};
    const char *dir = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    size_t i;

    if (dir != NULL) {
        snprintf(out, size, "unix:%s/holdfast.sock", dir);
        if (stat(out + 5, &st) == 0 && S_ISSOCK(st.st_mode))
            return true;
    }
    for (i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(out, size, "unix:%s", paths[i]);
        if (stat(out + 5, &st) == 0 && S_ISSOCK(st.st_mode))
            return true;
    }
    return false;
}

/*
 * The first token with the role `own`, else the first of all, parsed as the daemon parses it.
 * Modifies the text; NULL: there is none.
 */
static char *first_token(char *text)
{
    char *line, *save = NULL, *any = NULL;

    for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        const char *token;
        enum role role;
        size_t len;

        if (!auth_line_parse(line, strlen(line), &token, &len, &role) || len == 0)
            continue;
        line[(size_t)(token - line) + len] = '\0';
        if (role == ROLE_OWN)
            return line + (token - line);
        if (any == NULL)
            any = line + (token - line);
    }
    return any;
}

static int token_from_file(struct daemon_address *p, const char *file, struct hf_error *err)
{
    struct buf text = {0};
    int rc = io_read_file(file, TOKEN_FILE_MAX_BYTES, &text);
    char *all, *token;

    if (rc < 0)
        return hf_fail(err, HF_E_bad_value, "cannot read the token file %s: %s", file,
                       strerror(-rc));
    all = hf_xstrdup(buf_cstr(&text));
    token = first_token(all);
    p->token = hf_xstrdup(token);
    hf_wipe(all, text.len);
    free(all);
    buf_wipe(&text);
    return token != NULL ? 0 : hf_fail(err, HF_E_bad_value, "%s contains no token", file);
}

static int find_token(struct daemon_address *p, const char *file, struct hf_error *err)
{
    const char *token = getenv("HOLDFAST_TOKEN");
    char path[500];

    if (file != NULL)
        return token_from_file(p, file, err);
    if (token != NULL && token[0] != '\0')
        p->token = hf_xstrdup(token);
    else if (daemon_address_is_local(p) && token_default_path(path, sizeof path))
        token_from_file(p, path,
                        NULL); /* a missing file is not an error: unix sockets, --no-auth */
    return 0;
}

/* The token becomes part of a header line. */
static bool token_is_sound(const char *t)
{
    for (; *t != '\0'; t++)
        if (*t <= ' ' || *t > '~')
            return false;
    return true;
}

int daemon_address_find(struct daemon_address *p, const char *url, const char *token_file,
                        struct hf_error *err)
{
    const char *ca = p->ca_file;
    char found[256];
    int rc;

    if (url == NULL)
        url = getenv("HOLDFAST_URL");
    if ((url == NULL || url[0] == '\0') && find_socket(found, sizeof found))
        url = found;
    rc = daemon_address_parse(p, url != NULL && url[0] != '\0' ? url : DEFAULT_URL, err);
    p->ca_file = ca;
    if (rc == 0)
        rc = find_token(p, token_file, err);
    if (rc == 0 && p->token != NULL && !token_is_sound(p->token))
        return hf_fail(err, HF_E_bad_value, "the token contains an invalid character");
    return rc;
}

bool daemon_address_renew_token(struct daemon_address *p, const char *token_file)
{
    struct daemon_address fresh = *p;
    bool changed;

    fresh.token = NULL;
    changed = find_token(&fresh, token_file, NULL) == 0 && fresh.token != NULL &&
              token_is_sound(fresh.token) &&
              (p->token == NULL || strcmp(p->token, fresh.token) != 0);
    if (changed) {
        char *old = p->token;

        p->token = fresh.token;
        fresh.token = old;
    }
    if (fresh.token != NULL)
        hf_wipe(fresh.token, strlen(fresh.token));
    free(fresh.token);
    return changed;
}

void daemon_address_fini(struct daemon_address *p)
{
    if (p->token != NULL)
        hf_wipe(p->token, strlen(p->token));
    free(p->url);
    free(p->unix_path);
    free(p->host);
    free(p->prefix);
    free(p->token);
    *p = (struct daemon_address){0};
}
