/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_fs_decode.h - decodes what a sprite's calls for files ask for. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_FS_DECODE_H
#define HF_DIALECTS_FLY_FLY_FS_DECODE_H

#include <limits.h>

#include "base/json.h"

/* The fields of all calls. Texts borrow from the tree or the query. */
struct fly_fs_request {
    const char *path, *source, *dest, *mode;
    const char *dir; /* of relative paths; NULL: "/" */
    json_t *uid, *gid, *paths;
    const char *type; /* of a message */
    bool recursive, as_root;
};

/* The fields of an object; what is absent stays as it is. */
int fly_fs_fields(struct fly_fs_request *f, const json_t *body, struct hf_error *err);
/* An absolute path. `path` NULL: `name` is missing. */
int fly_fs_resolve(const struct fly_fs_request *f, const char *name, const char *path,
                   char out[PATH_MAX], struct hf_error *err);
/* Octal digits, as file operations take them: the permissions alone, without a type. */
#define FLY_FS_MODE_BYTES 8
int fly_fs_mode(const char *text, char out[FLY_FS_MODE_BYTES], struct hf_error *err);
/* A number or a name of a user or group. 0 with "": absent. */
#define FLY_FS_OWNER_BYTES 64
int fly_fs_owner(const json_t *v, const char *name, char out[FLY_FS_OWNER_BYTES],
                 struct hf_error *err);
/* A message of a client that watches: subscribe, with 1 to LIMIT_FLY_WATCH_PATHS paths. */
int fly_fs_subscription(struct fly_fs_request *f, const json_t *message, struct hf_error *err);

#endif
