/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router.c - finds the route of a request
 *
 * Layer: transport.
 */
#include "transport/router.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A position in a path: the same segment decoded and raw (raw points after its slash). */
struct router_place {
    const char *segment;
    const char *raw;
    size_t left; /* segments from here on */
};

static void place_next(struct router_place *at)
{
    at->segment += strlen(at->segment) + 1;
    at->raw += strcspn(at->raw, "/");
    if (*at->raw == '/')
        at->raw++;
    at->left--;
}

static const struct route_table *find_table(const struct route_table *const *tables, size_t count,
                                            const char *raw)
{
    const struct route_table *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(tables[i]->prefix);

        if (strncmp(raw, tables[i]->prefix, len) != 0 || (raw[len] != '/' && raw[len] != '\0'))
            continue;
        if (best == NULL || len > best_len) {
            best = tables[i];
            best_len = len;
        }
    }
    return best;
}

/* Matches one pattern segment with one of the path; a {x} is recorded in m. */
static bool segment_fits(const char *pattern, size_t len, const char *segment,
                         struct route_match *m)
{
    struct route_param *p;

    if (len < 2 || pattern[0] != '{')
        return strlen(segment) == len && memcmp(segment, pattern, len) == 0;
    if (segment[0] == '\0')
        return false;
    assert(m->param_count < ROUTER_PARAMS_MAX);
    p = &m->params[m->param_count++];
    p->name = pattern + 1;
    p->name_len = len - 2;
    p->value = segment;
    return true;
}

/* Fills params and rest of m as it matches; they are valid only if the whole pattern matches. */
static bool route_fits(const struct route *r, struct router_place at, struct route_match *m)
{
    const char *p = r->pattern;

    m->param_count = 0;
    m->rest = NULL;
    while (*p == '/') {
        size_t len = strcspn(++p, "/");
        bool open_end = len == 0 && *p == '\0' && (r->flags & ROUTE_PREFIX) != 0;

        if (at.left == 0)
            return false;
        if (open_end) {
            m->rest = at.raw;
            return true;
        }
        if (!segment_fits(p, len, at.segment, m))
            return false;
        p += len;
        place_next(&at);
    }
    if (r->flags & ROUTE_PREFIX)
        m->rest = at.left > 0 ? at.raw - 1 : "";
    return at.left == 0 || (r->flags & ROUTE_PREFIX) != 0;
}

static unsigned route_methods(const struct route *r)
{
    return r->methods | (r->methods & HTTP_GET_M ? HTTP_HEAD_M : 0);
}

void router_find(const struct route_table *const *tables, size_t count, bool at_root,
                 const char *raw, const struct path *path, unsigned method, struct route_match *out)
{
    const struct route_table *table = at_root ? tables[0] : find_table(tables, count, raw);
    struct router_place at = {path->mem, raw + 1, path->count};

    bool named = false;

    *out = (struct route_match){.table = table};
    if (table == NULL)
        return;
    for (const char *p = at_root ? "" : table->prefix; *p != '\0'; p++) {
        if (*p == '/')
            place_next(&at);
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct route *r = &table->routes[i];

        if (!route_fits(r, at, out))
            continue;
        /* A literal segment wins over a parameter: /things/run is not {id}. */
        if (out->allow != 0 && named && out->param_count > 0)
            continue;
        if (out->param_count == 0 && out->allow == 0)
            named = true;
        out->allow |= route_methods(r);
        if (route_methods(r) & method) {
            out->route = r;
            return;
        }
    }
    out->param_count = 0;
    out->rest = NULL;
}

const char *router_param_get(const struct route_match *m, const char *name)
{
    size_t len = strlen(name);

    if (strcmp(name, "*") == 0)
        return m->rest;
    for (size_t i = 0; i < m->param_count; i++) {
        if (m->params[i].name_len == len && memcmp(m->params[i].name, name, len) == 0)
            return m->params[i].value;
    }
    return NULL;
}

void router_methods_text(unsigned methods, char *out)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (methods & 1u << i)
            len += (size_t)snprintf(out + len, METHODS_TEXT_BYTES - len, "%s%s",
                                    len > 0 ? ", " : "", names[i]);
    }
}
