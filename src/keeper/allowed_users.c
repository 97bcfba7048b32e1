/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allowed_users.c - checks which user a process may run as
 *
 * The keeper decides this, not the worker: the worker faces the network, and an attacker who
 * controls it can request any user. One message must not be enough to become root. Layer: keeper.
 */
#include <unistd.h>

#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"
#include "keeper/spawn.h"

static bool has_group(const struct keeper_user *u, uint32_t gid)
{
    for (uint32_t i = 0; i < u->group_count; i++)
        if (u->groups[i] == gid)
            return true;
    return u->gid == gid;
}

/* The request names this user, with no groups other than the user's own. */
static bool is_user(const struct keeper_user *u, const struct k_spawn *m)
{
    if (!m->set_user)
        return u->uid == geteuid();
    for (uint32_t i = 0; i < m->group_count; i++)
        if (!has_group(u, m->groups[i]))
            return false;
    return u->uid == m->uid && has_group(u, m->gid);
}

bool spawn_user_is_allowed(const struct keeper *k, const struct k_spawn *m)
{
    const struct keeper_options *o = k->options;

    for (size_t i = 0; i < o->user_count; i++)
        if (is_user(&o->users[i], m))
            return true;
    return !o->users_only;
}
