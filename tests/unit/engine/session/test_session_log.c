/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_log.c - the commands of a session: in order, bounded, and never half there
 */
#include "engine/session/session_log.h"

#include "base/limits.h"
#include "test.h"

#define BYTES 65536

static struct session_log *log_new(void)
{
    struct session_log *l = calloc(1, BYTES);

    session_log_init(l, BYTES);
    return l;
}

static void begin(struct session_log *l, const char *text)
{
    struct session_begin b = {.number = session_log_next_number(l), .text_len = strlen(text)};

    session_log_begin(l, &b, text, NULL);
}

static void end(struct session_log *l, uint64_t number, const char *head, const char *tail)
{
    struct session_end e = {.number = number, .omitted = 7, .exit = {.exit_code = 3}};

    session_log_end(l, &e, (struct session_text){head, strlen(head)},
                    (struct session_text){tail, strlen(tail)}, (struct session_text){"/", 1});
}

TEST(a_command_is_found_by_its_name)
{
    struct session_log *l = log_new();
    struct session_begin b = {.number = 1, .flags = SESSION_TYPED};
    struct session_command c;

    session_log_begin(l, &b, "", "first");
    end(l, 1, "", "");
    begin(l, "nameless");
    end(l, 2, "", "");
    b.number = 3;
    session_log_begin(l, &b, "", "second");
    EXPECT(!session_log_find(l, "third", &c));
    EXPECT(!session_log_find(l, "", &c) || c.begin.number == 2);
    REQUIRE(session_log_find(l, "first", &c));
    EXPECT_U64(c.begin.number, 1);
    EXPECT(c.ended);
    EXPECT_BYTES(c.name.bytes, c.name.len, "first");
    EXPECT_U64(c.begin.flags, SESSION_TYPED);
    REQUIRE(session_log_find(l, "second", &c));
    EXPECT_U64(c.begin.number, 3);
    EXPECT(!c.ended);
    free(l);
}

TEST(a_command_is_there_from_its_beginning_on)
{
    struct session_log *l = log_new();
    struct session_command c;
    uint64_t at = 0;

    EXPECT(session_log_is_valid(l, BYTES));
    EXPECT(!session_log_is_valid(l, BYTES * 2));
    EXPECT(!session_log_last(l, &c));
    begin(l, "make");
    REQUIRE(session_log_last(l, &c));
    EXPECT_U64(c.begin.number, 1);
    EXPECT_BYTES(c.text.bytes, c.text.len, "make");
    EXPECT(!c.ended);
    end(l, 1, "head", "tail");
    begin(l, "ls");
    REQUIRE(session_log_each(l, &at, &c));
    EXPECT(c.ended);
    EXPECT_INT(c.end.exit.exit_code, 3);
    EXPECT_U64(c.end.omitted, 7);
    EXPECT_BYTES(c.head.bytes, c.head.len, "head");
    EXPECT_BYTES(c.tail.bytes, c.tail.len, "tail");
    EXPECT_BYTES(c.cwd.bytes, c.cwd.len, "/");
    REQUIRE(session_log_each(l, &at, &c));
    EXPECT_U64(c.begin.number, 2);
    EXPECT(!c.ended);
    EXPECT(!session_log_each(l, &at, &c));
    EXPECT_U64(session_log_dropped(l), 0);
    free(l);
}

TEST(a_long_command_is_cut_at_a_character_and_its_length_is_told)
{
    struct session_log *l = log_new();
    char *text = calloc(1, SESSION_LOG_COMMAND_BYTES + 3);
    struct session_command c;

    memset(text, 'x', SESSION_LOG_COMMAND_BYTES - 1);
    memcpy(text + SESSION_LOG_COMMAND_BYTES - 1, "\xc3\xa9!", 3);
    begin(l, text);
    REQUIRE(session_log_last(l, &c));
    EXPECT_U64(c.text.len, SESSION_LOG_COMMAND_BYTES - 1);
    EXPECT_U64(c.begin.text_len, SESSION_LOG_COMMAND_BYTES + 2);
    free(text);
    free(l);
}

/* Whatever the sizes are, what is held is whole, without holes in its numbers, and ends with the latest. */
TEST(the_oldest_make_room_and_the_rest_stays_whole)
{
    struct session_log *l = log_new();
    struct session_command c;
    static char text[6000];
    uint32_t seed = 5;

    for (int i = 1; i <= 3000; i++) {
        uint64_t at = 0, expect;

        seed = seed * 1664525 + 1013904223;
        memset(text, 'a' + i % 26, sizeof text);
        text[(seed >> 8) % sizeof text] = '\0';
        begin(l, text);
        if (i % 3 != 0)
            end(l, (uint64_t)i, text, "t");
        expect = session_log_dropped(l) + 1;
        while (session_log_each(l, &at, &c)) {
            EXPECT_U64(c.begin.number, expect);
            EXPECT(c.ended == (expect % 3 != 0));
            if (c.text.len > 0)
                EXPECT_INT(c.text.bytes[c.text.len - 1], 'a' + (int)(expect % 26));
            expect++;
        }
        EXPECT_U64(expect, (uint64_t)i + 1);
    }
    EXPECT(session_log_dropped(l) > 2900);
    free(l);
}

TEST(the_number_of_commands_is_bounded)
{
    struct session_log *l = calloc(1, SESSION_LOG_BYTES);

    session_log_init(l, SESSION_LOG_BYTES);
    for (int i = 0; i < SESSION_LOG_COMMANDS + 20; i++)
        begin(l, ":");
    EXPECT_U64(session_log_dropped(l), 20);
    free(l);
}

/* Lengths are in shared memory: what an earlier worker left is walked through before it is used. */
TEST(a_damaged_log_is_not_valid)
{
    struct session_log *l = log_new();
    uint32_t *words =
        (uint32_t *)l; /* magic, layout, ring_bytes, head, tail, first, next; then entries */

    begin(l, "make");
    EXPECT(session_log_is_valid(l, BYTES));
    words[12] = UINT32_MAX - 7; /* the size of the first entry */
    EXPECT(!session_log_is_valid(l, BYTES));
    free(l);
}
