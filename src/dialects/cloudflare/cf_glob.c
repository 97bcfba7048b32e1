/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_glob.c - matches patterns without going back: all places in the pattern at once.
 * Layer: dialects.
 */
#include "dialects/cloudflare/cf_glob.h"

#include <string.h>

#include "dialects/cloudflare/cloudflare_limits.h"

struct cf_glob {
    const char *pattern;
    size_t len;
    bool at[LIMIT_CF_GLOB_BYTES + 1]; /* the places that the path has reached */
};

bool cf_glob_is_valid(const char *pattern)
{
    size_t len = strlen(pattern);

    return len > 0 && len <= LIMIT_CF_GLOB_BYTES && strpbrk(pattern, "[]{}") == NULL;
}

/* A star also matches nothing. */
static void skip_stars(struct cf_glob *g)
{
    for (size_t i = 0; i < g->len; i++)
        if (g->at[i] && g->pattern[i] == '*')
            g->at[i + 1] = true;
}

static bool is_double(const struct cf_glob *g, size_t i)
{
    return g->pattern[i] == '*' &&
           ((i > 0 && g->pattern[i - 1] == '*') || g->pattern[i + 1] == '*');
}

static void step(struct cf_glob *g, char c)
{
    bool next[LIMIT_CF_GLOB_BYTES + 1] = {false};

    for (size_t i = 0; i < g->len; i++) {
        if (!g->at[i])
            continue;
        if (g->pattern[i] == '*')
            next[i] = next[i] || c != '/' || is_double(g, i);
        else if (g->pattern[i] == c || (g->pattern[i] == '?' && c != '/'))
            next[i + 1] = true;
    }
    memcpy(g->at, next, sizeof next);
}

bool cf_glob_matches(const char *pattern, const char *path)
{
    struct cf_glob g = {.pattern = pattern, .len = strlen(pattern)};

    if (!cf_glob_is_valid(pattern))
        return false;
    for (const char *p = path;; p++) {
        if (p == path || p[-1] == '/')
            g.at[0] = true;
        skip_stars(&g);
        if ((*p == '/' || *p == '\0') && g.at[g.len])
            return true;
        if (*p == '\0')
            return false;
        step(&g, *p);
        if (memchr(g.at, 1, g.len + 1) == NULL) { /* nothing matches in this component */
            p += strcspn(p, "/");
            p -= *p == '\0';
        }
    }
}
