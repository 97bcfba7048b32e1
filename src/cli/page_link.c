/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_link.c - picks the listener URL that a browser can open. Layer: cli.
 */
#include "cli/page_link.h"

#include <stdbool.h>

static const struct {
    const char *host, *local;
} everywhere[] = {{"0.0.0.0", "127.0.0.1"}, {"[::]", "[::1]"}};
#define EVERYWHERE (sizeof everywhere / sizeof everywhere[0])

/* The part after "http://" or "https://"; NULL: another URL. */
static const char *authority_of(const char *url)
{
    if (strncmp(url, "http://", 7) == 0)
        return url + 7;
    return strncmp(url, "https://", 8) == 0 ? url + 8 : NULL;
}

static bool host_is(const char *authority, const char *host)
{
    size_t len = strlen(host);

    return strncmp(authority, host, len) == 0 && strchr(":/", authority[len]) != NULL;
}

int link_rank(const char *url)
{
    const char *at = authority_of(url);

    if (at == NULL)
        return 0;
    for (size_t i = 0; i < EVERYWHERE; i++)
        if (host_is(at, everywhere[i].host))
            return 2;
    return strncmp(at, "127.", 4) == 0 || host_is(at, "[::1]") || host_is(at, "localhost") ? 2 : 1;
}

const char *link_better(const char *first, const char *second)
{
    int rank = first != NULL ? link_rank(first) : 0;

    return second != NULL && link_rank(second) > rank ? second : first;
}

void link_put(struct buf *out, const char *url)
{
    const char *at = authority_of(url);
    size_t len = strlen(url);

    while (len > 0 && url[len - 1] == '/')
        len--;
    for (size_t i = 0; at != NULL && i < EVERYWHERE; i++) {
        size_t host = strlen(everywhere[i].host);

        if (!host_is(at, everywhere[i].host))
            continue;
        buf_put(out, url, (size_t)(at - url));
        buf_puts(out, everywhere[i].local);
        len -= (size_t)(at - url) + host;
        url = at + host;
        break;
    }
    buf_put(out, url, len);
}
