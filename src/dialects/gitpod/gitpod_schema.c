/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_schema.c - the tables of supervisor.TerminalService's requests. Layer: dialects.
 */
#include "dialects/gitpod/gitpod.h"

#include "base/braces.h"

#define MESSAGE(name, ...)                                                                         \
    static const struct pb_field name##_fields[] = {__VA_ARGS__};                                  \
    const struct pb_message gitpod_##name = {name##_fields,                                        \
                                             sizeof name##_fields / sizeof *name##_fields}
#define FIELD(n, text, k, ...) BRACES(.number = (n), .name = (text), .kind = PB_##k, __VA_ARGS__)

const struct pb_message gitpod_none = {NULL, 0};

static const struct pb_field size_fields[] = {
    FIELD(1, "rows", U32),
    FIELD(2, "cols", U32),
    FIELD(3, "widthPx", U32),
    FIELD(4, "heightPx", U32),
};
static const struct pb_message size = {size_fields, 4};

MESSAGE(alias_request, FIELD(1, "alias", TEXT));
MESSAGE(open_request, FIELD(1, "workdir", TEXT), FIELD(2, "env", MAP), FIELD(3, "annotations", MAP),
        FIELD(4, "shell", TEXT), FIELD(5, "shellArgs", TEXT, .many = true),
        FIELD(6, "size", MESSAGE, .message = &size));
MESSAGE(shutdown_request, FIELD(1, "alias", TEXT), FIELD(2, "forceSuccess", BOOL));
MESSAGE(write_request, FIELD(1, "alias", TEXT), FIELD(2, "stdin", BYTES));
MESSAGE(size_request, FIELD(1, "alias", TEXT), FIELD(2, "token", TEXT, .oneof = 1),
        FIELD(3, "force", BOOL, .oneof = 1), FIELD(4, "size", MESSAGE, .message = &size));
MESSAGE(title_request, FIELD(1, "alias", TEXT), FIELD(2, "title", TEXT));
MESSAGE(annotate_request, FIELD(1, "alias", TEXT), FIELD(2, "changed", MAP),
        FIELD(3, "deleted", TEXT, .many = true));
