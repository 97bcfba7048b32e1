/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_group.h - the rows of a dialect, and the patterns below which it serves them
 *
 * Some platforms serve the same calls below several paths: with or without a version,
 * directly or through a proxy's path. A group names the rows once for each such path.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_ROUTE_GROUP_H
#define HF_DIALECTS_COMMON_ROUTE_GROUP_H

#include "base/braces.h"
#include "transport/http.h"

/* A list of groups ends with one whose rows are NULL. */
struct route_group {
    const char *below; /* prefix of each row's pattern: "" or "/{version}" */
    const struct route *rows;
    size_t count;
};

/* The usual list: these rows once, without a prefix. */
#define ROUTE_GROUPS(rows)                                                                         \
    ((const struct route_group[]){BRACES("", rows, sizeof(rows) / sizeof *(rows)),                 \
                                  BRACES(NULL, NULL, 0)})

/* Every row of a list of groups, in order, with its whole pattern. */
struct route_rows {
    struct route *rows;
    size_t count;
    struct buf patterns; /* what the rows' patterns point into */
};
void route_rows_make(struct route_rows *out, const struct route_group *groups);
void route_rows_fini(struct route_rows *rows);

#endif
