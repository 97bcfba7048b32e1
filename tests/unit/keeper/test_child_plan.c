/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child_plan.c - the plan of a child, made before it exists
 */
#include "test.h"

#include <errno.h>
#include <sys/wait.h>

#include "keeper/spawn.h"
#include "sound_spawn.h"

TEST(a_plan_has_its_arrays_in_place)
{
    struct spawn *s;

    sound_spawn();
    REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
    EXPECT_STR(s->plan.cwd, "/tmp");
    EXPECT_STR(s->plan.paths[1], "/bin/b");
    EXPECT_STR(s->plan.argv[0], "a");
    EXPECT_STR(s->plan.argv[1], "-x");
    EXPECT(s->plan.argv[2] == NULL);
    EXPECT_STR(s->plan.envp[0], "A=1");
    EXPECT_STR(s->plan.envp[1], "HOLDFAST_PROCESS_ID=proc_abc123");
    EXPECT(s->plan.envp[2] == NULL);
    spawn_free(s);
    room.m.env_count = 2;
    EXPECT_INT(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s), -EBADMSG);
    room.m.path_count = SPAWN_STRINGS_MAX;
    EXPECT_INT(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s), -E2BIG);
}

/* To become who one is needs no change, which only root may ask for. */
TEST(a_user_is_changed_only_where_it_makes_a_difference)
{
    static const struct {
        uint32_t uid, gid;
        bool changes;
    } cases[] = {{0, 0, true}, {4711, 0, true}, {4711, 4711, true}};
    struct spawn *s;

    for (size_t i = 0; i < 3; i++) {
        sound_spawn();
        room.m.set_user = 1;
        room.m.uid = cases[i].uid;
        room.m.gid = cases[i].gid;
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT_INT(s->plan.set_user, cases[i].changes);
        spawn_free(s);
    }
    if (fork() == 0) {
        if (geteuid() == 0 && (setresgid(4711, 4711, 4711) < 0 || setresuid(4711, 4711, 4711) < 0))
            _exit(1);
        room.m.uid = geteuid();
        room.m.gid = getegid();
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT(!s->plan.set_user);
        spawn_free(s);
        room.m.gid++;
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT(s->plan.set_user);
        spawn_free(s);
        _exit(test_failures > 0);
    }
    {
        int status = -1;

        wait(&status);
        EXPECT_INT(status, 0);
    }
}
