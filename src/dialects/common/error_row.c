/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_row.c - a platform's words for error codes. Layer: dialects.
 */
#include "dialects/common/error_row.h"

static bool row_matches(const struct error_row *row, enum hf_code code, int status)
{
    if (row->code != HF_OK)
        return row->code == code;
    return row->status == status || row->status == status / 100;
}

struct error_row error_row_find(const struct error_row *rows, size_t count, enum hf_code code)
{
    struct error_row found = {0};
    int status = hf_code_status(code);

    for (size_t i = 0; i < count && found.word == NULL; i++) {
        if (row_matches(&rows[i], code, status))
            found = rows[i];
    }
    if (found.status < 100)
        found.status = status;
    if (found.word == NULL)
        found.word = hf_code_name(code);
    if (found.title == NULL)
        found.title = hf_code_title(code);
    if (found.prefix == NULL)
        found.prefix = "";
    return found;
}
