/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router.h - which row of which table a request belongs to
 *
 * Of the tables whose prefix the path has, the one with the longest prefix is
 * asked and no other. In it the first row that fits path and method wins, so
 * a row with fixed words stands above one with {x} in the same place. Rows
 * that fit the path but not the method make up the Allow of a 405.
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
    unsigned allow;                  /* methods of all rows that fit the path; 0: 404 */
    struct route_param params[ROUTER_PARAMS_MAX];
    size_t param_count;
    const char *rest; /* ROUTE_PREFIX: raw rest of the path behind the pattern; else NULL */
};

/* `raw` is the path as sent and `path` the same, parsed. at_root: table prefixes are not
 * looked at and the first table serves everything (a dialect's own listener). */
void router_find(const struct route_table *const *tables, size_t count, bool at_root,
                 const char *raw, const struct path *path, unsigned method,
                 struct route_match *out);
const char *router_param_get(const struct route_match *m, const char *name); /* NULL */

/* "GET, HEAD, POST" of a set of methods, for Allow. out: 64 bytes. */
#define METHODS_TEXT_BYTES 64
void router_methods_text(unsigned methods, char *out);

#endif
