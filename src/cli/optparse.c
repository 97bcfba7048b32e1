/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optparse.c - parses options by a table, and prints their help. Layer: cli.
 */
#include "cli/optparse.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int optparse_complain(const struct optparse *p, const char *what, const char *name)
{
    fprintf(stderr, "%s: %s '%s'; see %s --help\n", p->command, what, name, p->command);
    return 2;
}

static int store(const struct optparse *p, const struct optparse_row *r, const char *value,
                 void *out)
{
    void *to = (char *)out + r->offset;
    struct optparse_list *list = to;

    switch (r->kind) {
    case OPTPARSE_FLAG: *(bool *)to = true; return 0;
    case OPTPARSE_TEXT: *(const char **)to = value; return 0;
    case OPTPARSE_LIST:
        if (list->count >= OPTPARSE_LIST_MAX)
            return optparse_complain(p, "too many uses of", r->name);
        list->items[list->count++] = value;
        return 0;
    default:
        if (text_to_i64(value, r->min, r->max, to))
            return 0;
        fprintf(stderr, "%s: %s must be a number from %lld to %lld\n", p->command, r->name,
                (long long)r->min, (long long)r->max);
        return 2;
    }
}

static const struct optparse_row *row_find(const struct optparse *p, const char *arg, size_t len)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strlen(p->rows[i].name) == len && strncmp(p->rows[i].name, arg, len) == 0)
            return &p->rows[i];
    }
    return NULL;
}

int optparse_run(const struct optparse *p, int argc, char **argv, void *out)
{
    for (int i = 0; i < argc; i++) {
        const char *eq = strchr(argv[i], '='), *value = eq != NULL ? eq + 1 : NULL;
        const struct optparse_row *r =
            row_find(p, argv[i], eq != NULL ? (size_t)(eq - argv[i]) : strlen(argv[i]));
        int rc;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return 1;
        if (r == NULL)
            return optparse_complain(p, "unknown option", argv[i]);
        if (r->kind == OPTPARSE_FLAG && value != NULL)
            return optparse_complain(p, "no value allowed for", r->name);
        if (r->kind != OPTPARSE_FLAG && value == NULL) {
            if (i + 1 >= argc)
                return optparse_complain(p, "a value is missing for", r->name);
            value = argv[++i];
        }
        rc = store(p, r, value, out);
        if (rc != 0)
            return rc;
    }
    return 0;
}

void optparse_help(const struct optparse *p, struct buf *out)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct optparse_row *r = &p->rows[i];
        char left[64];

        snprintf(left, sizeof left, "%s%s%s", r->name, r->value != NULL ? " " : "",
                 r->value != NULL ? r->value : "");
        buf_printf(out, "  %-28s %s\n", left, r->help);
    }
}
