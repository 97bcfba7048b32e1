/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_expand_path.c - expands $VAR, ${VAR} and ~ in a path. Layer: dialects.
 */
#include "dialects/opensandbox/osb_expand_path.h"

#include <limits.h>
#include <string.h>

#define NAME_BYTES 256
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static int put_variable(const char *name, size_t len, expand_fn *lookup, struct buf *out,
                        struct hf_error *err)
{
    char copy[NAME_BYTES];
    const char *value;

    if (len >= sizeof copy)
        return hf_fail_field(err, HF_E_bad_value, "cwd", "cwd names a variable that is too long");
    memcpy(copy, name, len);
    copy[len] = '\0';
    value = lookup(copy);
    if (value == NULL)
        return hf_fail_field(err, HF_E_bad_value, "cwd",
                             "cwd names the variable %.100s, which is not set", copy);
    buf_puts(out, value);
    return 0;
}

/* What follows a '$': how many bytes it consumes, or a negative errno. None: a plain '$'. */
static int put_dollar(const char *at, expand_fn *lookup, struct buf *out, struct hf_error *err)
{
    bool brace = *at == '{';
    const char *name = at + brace;
    size_t len = strspn(name, NAME_CHARS);
    int rc;

    if (!brace && len == 0) {
        buf_putc(out, '$');
        return 0;
    }
    if (brace && (len == 0 || name[len] != '}'))
        return hf_fail_field(err, HF_E_bad_value, "cwd", "cwd has \"${\" without a name and \"}\"");
    rc = put_variable(name, len, lookup, out, err);
    return rc < 0 ? rc : (int)len + 2 * brace;
}

int osb_expand(const char *path, expand_fn *lookup, struct buf *out, struct hf_error *err)
{
    int n;

    if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
        n = put_variable("HOME", 4, lookup, out, err);
        if (n < 0)
            return n;
        path++;
    }
    while (*path != '\0') {
        size_t plain = strcspn(path, "$");

        buf_put(out, path, plain);
        path += plain;
        if (*path == '$') {
            n = put_dollar(path + 1, lookup, out, err);
            if (n < 0)
                return n;
            path += 1 + n;
        }
        if (out->len >= PATH_MAX)
            return hf_fail_field(err, HF_E_bad_value, "cwd", "cwd is too long for a path");
    }
    (void)buf_cstr(out);
    return 0;
}
