/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router.h - finds the route of a request
 *
 * Of the tables whose prefix matches the path, only the one with the longest prefix is searched. In
 * it, the first row that matches path and method wins, so a row with literal segments must precede
 * one with {x} in the same place. Rows that match the path but not the method make up the Allow of
 * a 405.
 *
 * Pure: strings in, a row out. Layer: transport; includes base only.
 */
#ifndef HF_TRANSPORT_ROUTER_H
#define HF_TRANSPORT_ROUTER_H

#include "transport/http.h"
#include "transport/url_query.h"

#define ROUTER_PARAMS_MAX 8

struct route_param {
    const char *name; /* in the pattern, so it ends at '}' */
    size_t name_len;
    const char *value; /* in the decoded path */
};

struct route_match {
    const struct route_table *table; /* NULL: no table has the prefix */
    const struct route *route;       /* NULL: see allow */
    unsigned allow;                  /* methods of all rows that match the path; 0: 404 */
    struct route_param params[ROUTER_PARAMS_MAX];
    size_t param_count;
    const char *rest; /* ROUTE_PREFIX: raw rest of the path after the pattern; else NULL */
};

/* `raw` is the path as sent and `path` the same, parsed. at_root: table prefixes are ignored and
 * the first table serves everything (a dialect's own listener). */
void router_find(const struct route_table *const *tables, size_t count, bool at_root,
                 const char *raw, const struct path *path, unsigned method,
                 struct route_match *out);
const char *router_param_get(const struct route_match *m, const char *name); /* NULL */

/* "GET, HEAD, POST" of a set of methods, for Allow. out: 64 bytes. */
#define METHODS_TEXT_BYTES 64
void router_methods_text(unsigned methods, char *out);

#endif
