/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.c - Host and Origin checks, and CORS for an allow-list
 *
 * Layer: transport.
 */
#include "transport/origin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct origin {
    char **hosts, **origins;
    size_t host_count, origin_count;
};

/* Splits "name:80". The brackets of an IPv6 address are not part of the name. */
struct authority {
    const char *name;
    size_t len;
    bool v6;
    int port; /* -1: none */
};

static bool parse_port(const char *s, int *port)
{
    int value = 0;

    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9' || (value = value * 10 + *s - '0') > 65535)
            return false;
    }
    *port = value;
    return true;
}

static bool name_is_valid(const char *s, size_t len)
{
    if (len == 0 || len > 255)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = s[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';

        if (!ok)
            return false;
    }
    return true;
}

static bool is_v6(const char *s, size_t len)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr addr;

    if (len >= sizeof copy)
        return false;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return inet_pton(AF_INET6, copy, &addr) == 1;
}

static bool is_v4(const char *s, size_t len)
{
    char copy[INET_ADDRSTRLEN];
    struct in_addr addr;

    if (len >= sizeof copy)
        return false;
    memcpy(copy, s, len);
    copy[len] = '\0';
    return inet_pton(AF_INET, copy, &addr) == 1;
}

static bool parse_authority(const char *s, struct authority *out)
{
    const char *rest;

    *out = (struct authority){.port = -1};
    if (*s == '[') {
        const char *end = strchr(s, ']');

        out->v6 = true;
        out->name = s + 1;
        if (end == NULL)
            return false;
        out->len = (size_t)(end - out->name);
        rest = end + 1;
        if (!is_v6(out->name, out->len))
            return false;
    } else {
        out->name = s;
        out->len = strcspn(s, ":");
        rest = s + out->len;
        if (!name_is_valid(out->name, out->len))
            return false;
    }
    if (*rest == ':')
        return parse_port(rest + 1, &out->port);
    return *rest == '\0';
}

/* The dot at the end of a complete name is ignored. */
static size_t name_length(const struct authority *a)
{
    return !a->v6 && a->len > 1 && a->name[a->len - 1] == '.' ? a->len - 1 : a->len;
}

static bool name_is(const struct authority *a, const char *name)
{
    return strlen(name) == name_length(a) && strncasecmp(a->name, name, name_length(a)) == 0;
}

static bool name_ends_with(const struct authority *a, const char *end)
{
    size_t n = strlen(end), len = name_length(a);

    return len > n && strncasecmp(a->name + len - n, end, n) == 0;
}

struct origin *origin_new(void)
{
    return hf_xalloc(sizeof(struct origin));
}

static void free_list(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void origin_free(struct origin *o)
{
    if (o == NULL)
        return;
    free_list(o->hosts, o->host_count);
    free_list(o->origins, o->origin_count);
    free(o);
}

static void list_add(char ***list, size_t *count, const char *text)
{
    *list = hf_xrealloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = hf_xstrdup(text);
}

void origin_allow_host(struct origin *o, const char *host)
{
    list_add(&o->hosts, &o->host_count, host);
}

/* Splits "https://name:port" into its scheme, as that scheme's default port, and its place. */
static bool parse_origin(const char *s, int *default_port, struct authority *out)
{
    if (strncasecmp(s, "http://", 7) == 0) {
        *default_port = 80;
        return parse_authority(s + 7, out);
    }
    if (strncasecmp(s, "https://", 8) == 0) {
        *default_port = 443;
        return parse_authority(s + 8, out);
    }
    return false;
}

static bool same_authority(const struct authority *a, const struct authority *b, int default_port)
{
    int port_a = a->port < 0 ? default_port : a->port;
    int port_b = b->port < 0 ? default_port : b->port;

    return port_a == port_b && a->v6 == b->v6 && name_length(a) == name_length(b) &&
           strncasecmp(a->name, b->name, name_length(a)) == 0;
}

int origin_allow_origin(struct origin *o, const char *origin)
{
    struct authority a;
    int port;

    if (!parse_origin(origin, &port, &a))
        return -EINVAL;
    list_add(&o->origins, &o->origin_count, origin);
    return 0;
}

bool origin_host_is_valid(const char *host_header)
{
    struct authority a;

    return parse_authority(host_header, &a);
}

bool origin_host_ok(const struct origin *o, const char *host_header, bool unix_socket)
{
    struct authority a;

    if (unix_socket)
        return true; /* DNS cannot point there, and some clients send the path of the socket */
    if (!parse_authority(host_header, &a))
        return false;
    if (a.v6 || is_v4(a.name, a.len) || name_is(&a, "localhost") ||
        name_ends_with(&a, ".localhost"))
        return true;
    for (size_t i = 0; i < o->host_count; i++) {
        if (name_is(&a, o->hosts[i]))
            return true;
    }
    return false;
}

bool origin_is_same(const char *origin, const char *host_header, bool tls)
{
    struct authority a, host;
    int port;

    return host_header != NULL && parse_origin(origin, &port, &a) && port == (tls ? 443 : 80) &&
           parse_authority(host_header, &host) && same_authority(&a, &host, port);
}

bool origin_is_listed(const struct origin *o, const char *origin)
{
    struct authority a, listed;
    int port, listed_port;

    if (!parse_origin(origin, &port, &a))
        return false;
    for (size_t i = 0; i < o->origin_count; i++) {
        if (parse_origin(o->origins[i], &listed_port, &listed) && listed_port == port &&
            same_authority(&a, &listed, port))
            return true;
    }
    return false;
}

bool origin_origin_ok(const struct origin *o, const char *origin, const char *host_header, bool tls)
{
    return origin_is_same(origin, host_header, tls) || origin_is_listed(o, origin);
}
