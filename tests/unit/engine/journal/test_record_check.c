/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_check.c - What a worker left in a record is looked at before the next one believes it.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/io.h"
#include "engine/engine_own.h"
#include "engine/journal/record.h"

#define RING 65536

/* A record with some output and input in it. */
static void fill(struct record *r)
{
    REQUIRE(record_create(r, RING, 0) == 0);
    record_name(r, "proc_test");
    r->head->next = 1000;
    r->marks[0] = (struct mark){.at = 0};
    r->marks[1] = (struct mark){.at = 500, .stream = STREAM_STDERR};
    r->head->mark_next = 2;
    r->head->commit[0].head = 10;
    r->head->input_tail = 4;
}

typedef void damage_fn(struct record *r);

static int adopt_after(damage_fn *damage, struct record *again)
{
    struct record r;
    int fd, rc;

    fill(&r);
    damage(&r);
    fd = dup(r.fd);
    record_fini(&r);
    rc = record_adopt(again, fd);
    if (rc < 0)
        close(fd);
    return rc;
}

static void none(struct record *r)
{
    (void)r;
}
static void end_far(struct record *r)
{
    r->head->next = UINT64_MAX;
}
static void floor_behind_end(struct record *r)
{
    r->head->floor = 1001;
}
static void mark_behind_end(struct record *r)
{
    r->marks[1].at = 1001;
}
static void marks_out_of_order(struct record *r)
{
    r->marks[0].at = 600;
}
static void mark_of_no_stream(struct record *r)
{
    r->marks[1].stream = 9;
}
static void input_tail_ahead(struct record *r)
{
    r->head->input_tail = 11;
}
static void input_too_long(struct record *r)
{
    r->head->commit[0].head = LIMIT_INPUT_BYTES + 5;
}
static void input_of_nobody(struct record *r)
{
    r->head->commit[0].client = LIMIT_INPUT_CLIENTS + LIMIT_INPUT_GUESTS;
}
static void exit_behind_end(struct record *r)
{
    r->head->exit_set = 1;
    r->head->exit.offset = 1001;
}
static void exit_of_no_kind(struct record *r)
{
    r->head->exit_set = 1;
    r->head->exit.kind = (enum exit_kind)99;
}
static void pattern_far(struct record *r)
{
    r->head->pattern_to = UINT64_MAX;
}

TEST(a_sound_record_is_taken)
{
    struct record again;

    EXPECT_INT(adopt_after(none, &again), 0);
    EXPECT_STR(again.head->id, "proc_test");
    record_fini(&again);
}

TEST(a_record_whose_bytes_cannot_be_told_is_refused)
{
    static damage_fn *const damages[] = {
        end_far,           floor_behind_end, mark_behind_end, marks_out_of_order,
        mark_of_no_stream, input_tail_ahead, input_too_long,  input_of_nobody,
        exit_behind_end,   exit_of_no_kind,  pattern_far,
    };
    struct record again;

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        EXPECT_INT(adopt_after(damages[i], &again), -EPROTO);
}

static void texts_without_end(struct record *r)
{
    memset(r->head->osc_title, 'x', sizeof r->head->osc_title);
    memset(r->head->osc_cwd, 'x', sizeof r->head->osc_cwd);
    memset(r->head->ended_by, 'x', sizeof r->head->ended_by);
    memset(r->head->clients[0].name, 'x', sizeof r->head->clients[0].name);
}

static void tracker_beside_itself(struct record *r)
{
    r->head->tracker.state[0].vt.count = 255;
    r->head->tracker.state[0].modes.keys_count[1] = 255;
    r->head->units.which = 77;
    r->head->osc_from = UINT64_MAX;
}

TEST(what_can_be_done_without_starts_anew)
{
    struct record again;

    EXPECT_INT(adopt_after(texts_without_end, &again), 0);
    EXPECT_INT(strlen(again.head->osc_title), RECORD_TITLE_BYTES - 1);
    EXPECT_INT(strlen(again.head->osc_cwd), RECORD_CWD_BYTES - 1);
    EXPECT_INT(strlen(again.head->clients[0].name), RECORD_CLIENT_BYTES - 1);
    record_fini(&again);
    EXPECT_INT(adopt_after(tracker_beside_itself, &again), 0);
    EXPECT_INT(again.head->tracker.state[0].vt.count, 0);
    EXPECT_INT(again.head->units.which, 0);
    EXPECT_U64(again.head->osc_from, 1000);
    record_fini(&again);
}

TEST(a_record_cannot_be_made_shorter)
{
    struct record r;

    fill(&r);
    EXPECT(ftruncate(r.fd, 4096) < 0 && errno == EPERM);
    EXPECT(ftruncate(r.fd, 1 << 30) < 0 && errno == EPERM);
    record_fini(&r);
}

/* All slots are taken and the oldest is half overwritten, as a kill leaves it. */
static void full_of_marks(struct record *r)
{
    r->head->mark_next = r->mark_slots + 5;
    for (uint64_t i = 5; i < r->head->mark_next; i++)
        r->marks[i % r->mark_slots] = (struct mark){.at = i / 100};
    r->marks[5] = (struct mark){.at = 999};
}

TEST(a_mark_that_was_being_replaced_does_no_harm)
{
    struct record again;

    EXPECT_INT(adopt_after(full_of_marks, &again), 0);
    record_fini(&again);
}
