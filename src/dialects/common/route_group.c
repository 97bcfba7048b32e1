/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_group.c - expands the rows of a dialect below each of its patterns. Layer: dialects.
 */
#include "dialects/common/route_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void add_rows(struct route_rows *out, const struct route_group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        out->rows[out->count++] = g->rows[i];
        buf_printf(&out->patterns, "%s%s", g->below, g->rows[i].pattern);
        buf_putc(&out->patterns, '\0');
    }
}

void route_rows_make(struct route_rows *out, const struct route_group *groups)
{
    const struct route_group *g;
    const char *pattern;
    size_t total = 0;

    for (g = groups; g->rows != NULL; g++)
        total += g->count;
    *out = (struct route_rows){.rows = hf_xalloc((total + 1) * sizeof *out->rows)};
    for (g = groups; g->rows != NULL; g++)
        add_rows(out, g);
    /* Only now: the buffer may have moved while it grew. */
    pattern = buf_data(&out->patterns);
    for (size_t i = 0; i < out->count; i++, pattern += strlen(pattern) + 1)
        out->rows[i].pattern = pattern;
}

void route_rows_fini(struct route_rows *rows)
{
    free(rows->rows);
    buf_fini(&rows->patterns);
}
