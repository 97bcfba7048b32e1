/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url_query.h - percent-decoding of a request's path and query
 *
 * Decoding happens once. A path is first split at its slashes and each segment is then decoded, so
 * %2F inside a segment is data. Anything that two readers could understand differently is refused:
 * bad escapes, NUL, control characters, "." and ".." segments.
 *
 * Pure: bytes in, strings out. Owned by the request. Layer: transport.
 */
#ifndef HF_TRANSPORT_URL_QUERY_H
#define HF_TRANSPORT_URL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Decodes len bytes of s into out, which holds len + 1 bytes, and NUL-terminates. `plus`: '+' is a
 * space, as in forms. Returns the decoded length, or -EINVAL for a bad escape or a NUL. out may be
 * s.
 */
ssize_t url_percent_decode(const char *s, size_t len, bool plus, char *out);

/* A path's decoded segments, one after the other, each NUL-terminated. "/a/b" has two, "/" has one
 * that is empty, as do two adjacent slashes. */
struct path {
    char *mem;
    size_t count;
};

/* `raw` starts with '/'. 0, -EINVAL (err: bad_path) or -ENOMEM (err: no_memory). */
int path_parse(struct path *p, const char *raw, struct hf_error *err);
void path_fini(struct path *p);

struct query_pair {
    const char *name, *value; /* decoded; "a" alone has the value "" */
};
struct url_query {
    char *mem;
    struct query_pair *list;
    size_t count;
};

#define QUERY_PAIRS_MAX 256

/* `raw` is without '?'. 0, or err is bad_query (or no_memory) and *q is empty. */
int query_parse(struct url_query *q, const char *raw, struct hf_error *err);
void query_fini(struct url_query *q);
/* Each name must be one of `allowed` (separated by spaces; NULL: none) and occur at most once. */
int query_check(const struct url_query *q, const char *allowed, struct hf_error *err);
const char *query_get(const struct url_query *q, const char *name); /* the first; NULL */

#endif
