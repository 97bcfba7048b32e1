/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_allowed_users.c - the users that processes may run as
 */
#include "test.h"

#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

TEST(a_process_runs_as_one_of_the_users_with_none_but_their_groups)
{
    struct keeper_user users[] = {{.uid = 5, .gid = 50, .group_count = 2, .groups = {51, 52}},
                                  {.uid = geteuid(), .gid = getegid()}};
    struct keeper_options o = {.users_only = true, .users = users, .user_count = 1};
    struct keeper k = {.options = &o};
    struct k_spawn m = {.set_user = 1, .uid = 5, .gid = 50, .group_count = 1, .groups = {52}};

    EXPECT(spawn_user_is_allowed(&k, &m));
    m.gid = 51;
    EXPECT(spawn_user_is_allowed(&k, &m));
    m.gid = 99;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.gid = 50;
    m.groups[0] = 99;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.groups[0] = 50;
    m.uid = 6;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.set_user = 0; /* as the keeper itself */
    EXPECT(!spawn_user_is_allowed(&k, &m));
    o.user_count = 2;
    EXPECT(spawn_user_is_allowed(&k, &m));
    m.set_user = 1;
    o.users_only = false;
    EXPECT(spawn_user_is_allowed(&k, &m));
}
