/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_request_check.c - each field of a worker's request is checked
 */
#include "test.h"

#include "keeper/request_check.h"
#include "sound_spawn.h"

TEST(a_sound_spawn_is_taken_with_its_strings_inline_or_beside_it)
{
    size_t len = sound_spawn();

    EXPECT_STR(request_check_fault(&room, len, 1), NULL);
    EXPECT_STR(request_check_fault(&room, sizeof room.m, 2), NULL);
}

#define EXPECT_FAULT(change, word)                                                                 \
    do {                                                                                           \
        size_t len_ = sound_spawn();                                                               \
        change;                                                                                    \
        EXPECT_STR(request_check_fault(&room, len_, 1), word);                                     \
    } while (0)

TEST(each_field_of_a_spawn_is_checked)
{
    EXPECT_FAULT(room.m.path_count = 0, "paths");
    EXPECT_FAULT(room.m.path_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.arg_count = 0, "arguments");
    EXPECT_FAULT(room.m.arg_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.env_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.group_count = K_GROUPS_MAX + 1, "groups");
    EXPECT_FAULT(room.m.strings_len = 0, "strings");
    EXPECT_FAULT(room.m.strings_len = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.strings_len++, "length");
    EXPECT_FAULT(room.m.pty = 2, "flag");
    EXPECT_FAULT(room.m.set_user = 255, "flag");
    EXPECT_FAULT(room.m.set_nice = 2, "flag");
    EXPECT_FAULT(room.m.set_oom = 2, "flag");
    EXPECT_FAULT(room.m.quiet = 2, "flag");
    EXPECT_FAULT(room.m.side = 2, "flag");
    EXPECT_FAULT(room.m.stdin_mode = 2, "stdin");
    EXPECT_FAULT(room.m.rows = 0, "size");
    EXPECT_FAULT(room.m.rows = 4097, "size");
    EXPECT_FAULT(room.m.cols = 0, "size");
    EXPECT_FAULT(room.m.cols = 4097, "size");
    EXPECT_FAULT(room.m.id[0] = '\0', "id");
    EXPECT_FAULT(room.m.id[2] = '/', "id");
    EXPECT_FAULT(room.m.id[2] = 'A', "id");
    EXPECT_FAULT(room.m.id[2] = '~', "id");
    EXPECT_FAULT(room.m.id[2] = ':', "id");
    EXPECT_FAULT(memset(room.m.id, 'a', sizeof room.m.id), "id");
    EXPECT_FAULT(len_ = sizeof room.m - 1, "length");
    EXPECT_FAULT(len_++, "length");
    EXPECT_FAULT(len_ = 3, "length");
    sound_spawn();
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 0), "descriptors");
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 3), "descriptors");
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 2), "length");
}

TEST(the_other_messages_are_checked)
{
    struct k_simple s = {.type = K_READY};
    struct k_signal g = {.type = K_SIGNAL, .signum = 15, .target = K_TREE};
    struct k_close c = {.type = K_CLOSE, .which = 31};

    EXPECT_STR(request_check_fault(&s, sizeof s, 0), NULL);
    EXPECT_STR(request_check_fault(&s, sizeof s + 1, 0), "length");
    EXPECT_STR(request_check_fault(&s, sizeof s, 1), "descriptors");
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), NULL);
    EXPECT_STR(request_check_fault(&c, sizeof c, 0), NULL);
    g.signum = 0;
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "signal");
    g.signum = 65;
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "signal");
    g = (struct k_signal){.type = K_SIGNAL, .signum = 15, .target = K_RECENT + 1};
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "target");
    c.which = 32;
    EXPECT_STR(request_check_fault(&c, sizeof c, 0), "descriptors");
    for (uint32_t type = 0; type < 30; type++) {
        s.type = type;
        if (type != K_READY && type != K_SURVEY && type != K_FORGET && type != K_UPGRADE &&
            type != K_CLOSE && type != K_PROBE)
            EXPECT(request_check_fault(&s, sizeof s, 0) != NULL);
    }
}

TEST(a_question_for_sockets_names_some_and_not_too_many)
{
    struct k_holds h = {.type = K_HOLDS, .count = 1};

    EXPECT_STR(request_check_fault(&h, sizeof h, 0), NULL);
    EXPECT_STR(request_check_fault(&h, sizeof h - 1, 0), "length");
    h.count = 0;
    EXPECT_STR(request_check_fault(&h, sizeof h, 0), "count");
    h.count = K_HOLDS_MAX + 1;
    EXPECT_STR(request_check_fault(&h, sizeof h, 0), "count");
}

TEST(a_flood_is_there_or_not)
{
    struct k_flood f = {.type = K_FLOOD, .on = 1};

    EXPECT_STR(request_check_fault(&f, sizeof f, 0), NULL);
    EXPECT_STR(request_check_fault(&f, sizeof f - 4, 0), "length");
    f.on = 2;
    EXPECT_STR(request_check_fault(&f, sizeof f, 0), "flag");
}

TEST(strings_must_fill_their_bytes_exactly)
{
    char bytes[] = "a\0\0bc";
    char *at[4];

    EXPECT(request_check_split(bytes, 6, at, 3));
    EXPECT_STR(at[0], "a");
    EXPECT_STR(at[1], "");
    EXPECT_STR(at[2], "bc");
    EXPECT(!request_check_split(bytes, 6, at, 2));
    EXPECT(!request_check_split(bytes, 6, at, 4));
    EXPECT(!request_check_split(bytes, 5, at, 3));
}
