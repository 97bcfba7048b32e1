/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_users.c - Users by name and number, without the C library's look-up.
 */
#include "engine/users.h"
#include "test.h"

TEST(users_finds_root_by_name_and_number)
{
    struct hf_error err = {0};
    struct user u;

    EXPECT_INT(user_find("root", &u, &err), 0);
    EXPECT_INT(u.uid, 0);
    EXPECT_STR(u.home, "/root");
    EXPECT_INT(user_find("0", &u, &err), 0);
    EXPECT_STR(u.name, "root");
    EXPECT_INT(u.groups[0], 0);
}

TEST(users_takes_numbers_that_nobody_has)
{
    struct hf_error err = {0};
    struct user u;

    EXPECT_INT(user_find("54321:12345", &u, &err), 0);
    EXPECT_INT(u.uid, 54321);
    EXPECT_INT(u.gid, 12345);
    EXPECT_STR(u.name, "");
}

TEST(users_refuses_what_is_neither)
{
    static const char *const bad[] = {
        "no-such-user", "", ":", "1:", "-1", "4294967295", "1:2:3", "99999999999"};
    struct hf_error err = {0};
    struct user u;
    size_t i;

    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT(user_find(bad[i], &u, &err) < 0);
        EXPECT_INT(err.code, HF_E_user_unknown);
    }
}
