/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_fs_decode.c - decodes paths, modes, owners and subscriptions. Layer: dialects.
 */
#include "dialects/fly/fly_fs_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/fly/fly_limits.h"

#define MODE_DIGITS 11 /* 32 bits: Go and Node send the type of a file, too */

#define FIELD(n, k, m, ...)                                                                        \
    JSON_FIELD_AS(n, k, struct fly_fs_request, m, .nullable = true, __VA_ARGS__)

int fly_fs_fields(struct fly_fs_request *f, const json_t *body, struct hf_error *err)
{
    static const struct json_field fields[] = {
        FIELD("path", STR, path),       FIELD("source", STR, source),
        FIELD("dest", STR, dest),       FIELD("workingDir", STR, dir),
        FIELD("mode", STR, mode),       FIELD("type", STR, type),
        FIELD("uid", ANY, uid),         FIELD("gid", ANY, gid),
        FIELD("paths", ARRAY, paths),   FIELD("recursive", BOOL, recursive),
        FIELD("asRoot", BOOL, as_root),
    };

    return json_decode_known(body, fields, sizeof fields / sizeof *fields, f, err);
}

int fly_fs_resolve(const struct fly_fs_request *f, const char *name, const char *path,
                   char out[PATH_MAX], struct hf_error *err)
{
    const char *dir = f->dir != NULL && f->dir[0] != '\0' ? f->dir : "/";
    int n;

    if (path == NULL || path[0] == '\0')
        return hf_fail_field(err, HF_E_missing_field, name, "%s is required", name);
    if (path[0] == '/')
        n = snprintf(out, PATH_MAX, "%s", path);
    else if (dir[0] != '/')
        return hf_fail_field(err, HF_E_bad_path, "workingDir",
                             "workingDir must be an absolute path");
    else
        n = snprintf(out, PATH_MAX, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", path);
    return n < PATH_MAX ? 0
                        : hf_fail_field(err, HF_E_bad_path, name, "%s is longer than %d bytes",
                                        name, PATH_MAX - 1);
}

int fly_fs_mode(const char *text, char out[FLY_FS_MODE_BYTES], struct hf_error *err)
{
    size_t len = strlen(text);

    if (len < 1 || len > MODE_DIGITS || strspn(text, "01234567") != len)
        return hf_fail_field(err, HF_E_bad_value, "mode",
                             "mode must be octal digits, such as 0644");
    snprintf(out, FLY_FS_MODE_BYTES, "%04o", (unsigned)(strtoull(text, NULL, 8) & 07777));
    return 0;
}

int fly_fs_owner(const json_t *v, const char *name, char out[FLY_FS_OWNER_BYTES],
                 struct hf_error *err)
{
    json_int_t number = json_integer_value(v);
    const char *text = json_string_value(v);

    out[0] = '\0';
    if (v == NULL || json_is_null(v))
        return 0;
    if (json_is_integer(v) && number >= 0 && number < UINT32_MAX) {
        snprintf(out, FLY_FS_OWNER_BYTES, "%lld", (long long)number);
        return 0;
    }
    if (text == NULL || text[0] == '\0' || strlen(text) != json_string_length(v) ||
        strlen(text) >= FLY_FS_OWNER_BYTES)
        return hf_fail_field(err, HF_E_bad_value, name, "%s must be a number or a name", name);
    snprintf(out, FLY_FS_OWNER_BYTES, "%s", text);
    return 0;
}

int fly_fs_subscription(struct fly_fs_request *f, const json_t *message, struct hf_error *err)
{
    char path[PATH_MAX];
    size_t count;
    int rc = fly_fs_fields(f, message, err);

    if (rc < 0)
        return rc;
    if (f->type == NULL || strcmp(f->type, "subscribe") != 0)
        return hf_fail_field(err, HF_E_bad_value, "type", "the message must be a subscribe");
    count = json_array_size(f->paths);
    if (count < 1 || count > LIMIT_FLY_WATCH_PATHS)
        return hf_fail_field(err, HF_E_bad_value, "paths", "watch 1 to %d paths",
                             LIMIT_FLY_WATCH_PATHS);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const char *text = json_text(json_array_get(f->paths, i), "paths", err);

        rc = text == NULL ? hf_fail_field(err, HF_E_bad_type, "paths", "paths must be strings")
                          : fly_fs_resolve(f, "paths", text, path, err);
    }
    return rc;
}
