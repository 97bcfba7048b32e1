/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_url.c - writes the address at which a client reached this daemon. Layer: dialects.
 */
#include "dialects/common/own_url.h"

#include <string.h>

const char *own_url_host(const struct http_request *rq)
{
    const char *host = http_header(rq, "X-Forwarded-Host");

    if (host == NULL)
        host = http_header(rq, "Host");
    return host != NULL ? host : "localhost";
}

/* A value that is neither of the two schemes is ignored. */
static bool is_tls(const struct http_request *rq)
{
    const char *proto = http_header(rq, "X-Forwarded-Proto");

    if (proto != NULL && strcmp(proto, "https") == 0)
        return true;
    return (proto == NULL || strcmp(proto, "http") != 0) && http_is_tls(rq);
}

size_t own_url_mount(const struct http_request *rq, const char *route)
{
    const char *path = http_path(rq), *at = path, *found = path;

    while ((at = strstr(at, route)) != NULL)
        found = at++;
    return (size_t)(found - path);
}

void own_url_put(struct buf *out, const struct http_request *rq, const char *scheme, size_t mount)
{
    const char *prefix = http_header(rq, "X-Forwarded-Prefix");

    buf_printf(out, "%s%s://%s%s", scheme, is_tls(rq) ? "s" : "", own_url_host(rq),
               prefix != NULL ? prefix : "");
    buf_put(out, http_path(rq), mount);
}
