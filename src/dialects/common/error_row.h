/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_row.h - a platform's words for the daemon's error codes, by the platform's table
 *
 * The first row that matches decides, so a table goes from the specific to the general: one code,
 * one status, a class of statuses, all. A member that a row omits keeps the code's own value.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_ERROR_ROW_H
#define HF_DIALECTS_COMMON_ERROR_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct error_row {
    enum hf_code code; /* HF_OK: every code of this status, or of its class (5: 500 to 599) */
    int status;        /* of the reply; 0: the code's own */
    const char *word;
    const char *title, *prefix; /* of the text; for platforms that have them */
    const char *text;           /* instead of the error's detail; NULL: that */
};

/* The row for this code with status, word, title and prefix filled in. A code without a row has its
 * own name as the word. */
struct error_row error_row_find(const struct error_row *rows, size_t count, enum hf_code code);
#define ERROR_ROW(rows, code) error_row_find(rows, sizeof(rows) / sizeof *(rows), code)

#endif
