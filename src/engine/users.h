/* SPDX-License-Identifier: Apache-2.0 */
/*
 * users.h - resolves names to ids, from /etc/passwd and /etc/group
 *
 * The C library's lookup is not used: it would load modules at run time, which a static binary
 * cannot rely on. Layer: engine.
 */
#ifndef HF_ENGINE_USERS_H
#define HF_ENGINE_USERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "keeper/keeper_proto.h"

struct user {
    uint32_t uid, gid;
    uint32_t groups[K_GROUPS_MAX];
    size_t group_count;
    char name[64], home[256], shell[256]; /* "" where unknown */
};

/*
 * "name", "uid" or "uid:gid". -ENOENT and err user_unknown: there is no such user. Otherwise the
 * accounts could not be read, and the user may exist.
 */
int user_find(const char *who, struct user *out, struct hf_error *err);

#endif
