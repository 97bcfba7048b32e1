/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_target.c - parses the target of a request
 *
 * Layer: gateway.
 */
#include "gateway/route_target.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "transport/origin.h"

static bool is_id_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

bool route_target_id_is_valid(const char *id, size_t len)
{
    if (len == 0 || len > PLACE_ID_BYTES || id[0] == '.' || id[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_id_char(id[i]) || (id[i] == '.' && i + 1 < len && id[i + 1] == '.'))
            return false;
    }
    return true;
}

/* Digits up to `stop` or the end; no sign, no leading zero. Returns the number of digits, 0: no
 * port. */
static size_t read_port(const char *s, const char *stops, uint16_t *port)
{
    uint32_t value = 0;
    size_t n = 0;

    if (s[0] == '0')
        return 0;
    for (; s[n] >= '0' && s[n] <= '9'; n++) {
        value = value * 10 + (uint32_t)(s[n] - '0');
        if (value > UINT16_MAX)
            return 0;
    }
    if (n == 0 || (s[n] != '\0' && strchr(stops, s[n]) == NULL))
        return 0;
    *port = (uint16_t)value;
    return n;
}

static bool skip(const char **s, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*s, word, n) != 0)
        return false;
    *s += n;
    return true;
}

static int parse_path(struct route_target *p)
{
    const char *s = p->path;
    size_t n;

    skip(&s, "/v1");
    if (!skip(&s, "/sandboxes/"))
        return -ENOENT;
    n = strcspn(s, "/?");
    if (!route_target_id_is_valid(s, n))
        return -ENOENT;
    memcpy(p->id, s, n);
    p->id[n] = '\0';
    s += n;
    if (!skip(&s, "/proxy/") || (n = read_port(s, "/?", &p->port)) == 0)
        return -ENOENT;
    s += n;
    p->prefix_len = (size_t)(s - p->path);
    p->rest = s;
    p->rest_len = (size_t)(p->query - s);
    return 0;
}

/* "8080-alpha.example.org:443" below example.org. Names are case-insensitive. */
static int parse_host(struct route_target *p, const char *domain)
{
    const char *colon = strrchr(p->host, ':');
    size_t len = colon != NULL ? (size_t)(colon - p->host) : strlen(p->host);
    size_t dlen = strlen(domain), n, id_len;

    if (len <= dlen + 1 || p->host[len - dlen - 1] != '.' ||
        strncasecmp(p->host + len - dlen, domain, dlen) != 0)
        return -ENOENT;
    len -= dlen + 1;
    n = read_port(p->host, "-", &p->port);
    if (n == 0 || n >= len)
        return -ENOENT;
    id_len = len - n - 1;
    if (!route_target_id_is_valid(p->host + n + 1, id_len))
        return -ENOENT;
    for (size_t i = 0; i < id_len; i++) {
        char c = p->host[n + 1 + i];

        p->id[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    p->id[id_len] = '\0';
    p->by_host = true;
    p->rest = p->path;
    p->rest_len = (size_t)(p->query - p->path);
    return 0;
}

static int bad_target(struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_path,
                   "The request target must be a path, or a http or https address.");
}

static int take_host(struct route_target *p, const char *host, size_t len, struct hf_error *err)
{
    if (len >= sizeof p->host)
        return hf_fail(err, HF_E_bad_request, "The Host is too long.");
    memcpy(p->host, host, len);
    p->host[len] = '\0';
    if (!origin_host_is_valid(p->host))
        return hf_fail(err, HF_E_bad_request, "The Host is not valid.");
    return 0;
}

/* "http://host/path". Two different hosts in one request are an attack. */
static int parse_absolute(struct route_target *p, const char *target, struct hf_error *err)
{
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    size_t len;

    if (scheme == 0)
        return bad_target(err);
    target += scheme;
    len = strcspn(target, "/?");
    if (p->host[0] != '\0' && (strlen(p->host) != len || strncasecmp(p->host, target, len) != 0))
        return hf_fail(err, HF_E_bad_request, "The target and the Host header differ.");
    p->path = target[len] == '/' ? target + len : "/";
    p->query = target + len + strcspn(target + len, "?");
    if (p->path[0] != '/' || target[len] != '/')
        return bad_target(err);
    return take_host(p, target, len, err);
}

int route_target_parse(const char *target, const char *host, const char *domain,
                       struct route_target *out, struct hf_error *err)
{
    int rc = 0;

    *out = (struct route_target){.path = "/", .rest = "", .query = ""};
    if (strchr(target, '#') != NULL)
        return bad_target(err);
    if (host != NULL && host[0] != '\0')
        rc = take_host(out, host, strlen(host), err);
    if (rc < 0)
        return rc;
    if (target[0] == '/') {
        out->path = target;
        out->query = target + strcspn(target, "?");
    } else {
        rc = parse_absolute(out, target, err);
        if (rc < 0)
            return rc;
    }
    if (domain != NULL && out->host[0] != '\0' && parse_host(out, domain) == 0)
        return 0;
    return parse_path(out);
}
