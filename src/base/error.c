/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - one reason for a failure: status, stable code and a sentence. Layer: base.
 */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct code_row {
    const char *name;
    int status, errnum;
    const char *title;
};

static const struct code_row code_rows[HF_CODE_COUNT] = {[HF_OK] = {"ok", 200, 0, "OK"},
#define X(name, status, err, title) [HF_E_##name] = {#name, status, err, title},
                                                         HF_CODES(X)
#undef X
};

static const struct code_row *code_row(enum hf_code code)
{
    assert((unsigned)code < HF_CODE_COUNT);
    return &code_rows[code];
}

const char *hf_code_name(enum hf_code code)
{
    return code_row(code)->name;
}

const char *hf_code_title(enum hf_code code)
{
    return code_row(code)->title;
}

int hf_code_status(enum hf_code code)
{
    return code_row(code)->status;
}

/* Truncated text must not end inside a character. */
static void trim_open_tail(char *s)
{
    size_t len = strlen(s);

    s[len - utf8_open_tail(s, len)] = '\0';
}

static void error_fill(struct hf_error *err, enum hf_code code, const char *fmt, va_list ap)
{
    *err = (struct hf_error){.code = code};
    vsnprintf(err->detail, sizeof err->detail, fmt, ap);
    trim_open_tail(err->detail);
}

int hf_fail(struct hf_error *err, enum hf_code code, const char *fmt, ...)
{
    va_list ap;

    if (err != NULL) {
        va_start(ap, fmt);
        error_fill(err, code, fmt, ap);
        va_end(ap);
    }
    return -code_row(code)->errnum;
}

int hf_fail_field(struct hf_error *err, enum hf_code code, const char *field, const char *fmt, ...)
{
    va_list ap;

    if (err != NULL) {
        va_start(ap, fmt);
        error_fill(err, code, fmt, ap);
        va_end(ap);
        snprintf(err->field, sizeof err->field, "%s", field);
        trim_open_tail(err->field);
    }
    return -code_row(code)->errnum;
}

const char *hf_errno_name(int errnum)
{
    const char *name = strerrorname_np(errnum < 0 ? -errnum : errnum);

    return name != NULL && errnum != 0 ? name : "E?";
}
