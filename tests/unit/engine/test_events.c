/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events.c - The event log: ids, the bounded past, and survival in its memory.
 */
#include "engine/process_own.h"
#include "test.h"

#include <sys/mman.h>

#include "base/mem.h"

#define LOG_BYTES 16384

struct fixture {
    struct engine engine;
    struct process *p;
    int fd;
};

static void setup(struct fixture *f)
{
    struct engine *e = &f->engine;

    memset(f, 0, sizeof *f);
    f->fd = memfd_create("test", MFD_CLOEXEC);
    EXPECT_INT(ftruncate(f->fd, (off_t)shared_bytes(LOG_BYTES)), 0);
    EXPECT_INT(shared_map(&e->state, f->fd, LOG_BYTES), 0);
    e->events.state = &e->state;
    list_init(&e->events.subscribers);
    f->p = process_new(e);
    EXPECT_INT(record_create(&f->p->rec, 65536, 0), 0);
    record_name(&f->p->rec, "proc_test");
    journal_init(&f->p->journal, &f->p->rec, &e->state.head->slip, true);
    f->p->meta.command = hf_xstrdup("true");
}

static void teardown(struct fixture *f)
{
    process_unref(f->p);
    shared_unmap(&f->engine.state);
    close(f->fd);
}

TEST(events_have_consecutive_ids_from_one)
{
    struct fixture f;
    struct event e;

    setup(&f);
    EXPECT_U64(events_next(&f.engine.events), 1);
    EXPECT(!events_get(&f.engine.events, 1, &e));
    events_append(&f.engine.events, "process.created", f.p, NULL);
    events_append(&f.engine.events, "process.exited", f.p, NULL);
    EXPECT(events_get(&f.engine.events, 2, &e));
    EXPECT_STR(e.type, "process.exited");
    EXPECT_U64(e.id, 2);
    EXPECT(memmem(e.json, e.len, "proc_test", 9) != NULL);
    teardown(&f);
}

/* Many times around the ring: what is held is consecutive, readable, and ends at the newest. */
TEST(events_keep_the_newest_when_the_log_turns_over)
{
    struct fixture f;
    struct event e;
    uint64_t id, i;

    setup(&f);
    for (i = 1; i <= 2000; i++) {
        f.p->meta.tag = hf_xalloc(i % 97 + 1);
        memset(f.p->meta.tag, 'x', i % 97);
        events_append(&f.engine.events, "process.updated", f.p, NULL);
        free(f.p->meta.tag);
        f.p->meta.tag = NULL;
        EXPECT_U64(events_next(&f.engine.events), i + 1);
        for (id = events_first(&f.engine.events); id <= i; id++) {
            if (!events_get(&f.engine.events, id, &e) || e.id != id || e.json[0] != '{' ||
                e.json[e.len - 1] != '}')
                break;
        }
        EXPECT_U64(id, i + 1);
    }
    EXPECT(events_first(&f.engine.events) > 1900);
    teardown(&f);
}

TEST(events_survive_in_their_memory)
{
    struct fixture f;
    struct event e;

    setup(&f);
    events_append(&f.engine.events, "process.created", f.p, NULL);
    shared_unmap(&f.engine.state);
    EXPECT_INT(shared_map(&f.engine.state, f.fd, LOG_BYTES), 0);
    EXPECT(events_get(&f.engine.events, 1, &e));
    EXPECT_STR(e.type, "process.created");
    EXPECT_U64(events_next(&f.engine.events), 2);
    teardown(&f);
}

/* A worker that wrote where it should not left this; the next one walked off the ring. */
TEST(a_damaged_log_starts_anew_and_ids_go_on)
{
    static const uint64_t heads[] = {8, 24, 4096, LOG_BYTES + 8, UINT64_MAX};
    struct fixture f;
    struct event e;

    for (size_t i = 0; i < sizeof heads / sizeof *heads + 3; i++) {
        setup(&f);
        events_append(&f.engine.events, "process.created", f.p, NULL);
        if (i < sizeof heads / sizeof *heads)
            f.engine.state.head->events_head = heads[i];
        else if (i == sizeof heads / sizeof *heads)
            memset(f.engine.state.events, 0xff, 64); /* id and length of the first */
        else
            ((uint32_t *)(void *)f.engine.state.events)[2] = UINT32_MAX - (uint32_t)i * 8;
        shared_unmap(&f.engine.state);
        EXPECT_INT(shared_map(&f.engine.state, f.fd, LOG_BYTES), 0);
        EXPECT(!events_get(&f.engine.events, 1, &e));
        events_append(&f.engine.events, "process.exited", f.p, NULL);
        EXPECT(events_get(&f.engine.events, 1, &e));
        EXPECT_U64(e.id, 2);
        teardown(&f);
    }
}

/* Each worker would fail at it otherwise, for ever. */
TEST(a_damaged_head_starts_anew)
{
    struct fixture f;
    struct event e;

    for (int i = 0; i < 3; i++) {
        setup(&f);
        events_append(&f.engine.events, "process.created", f.p, NULL);
        f.engine.state.head->magic += i == 0;
        f.engine.state.head->layout += i == 1;
        f.engine.state.head->events_bytes += i == 2;
        f.engine.state.head->slip.at = 7;
        EXPECT(!shared_is_ours(f.fd, LOG_BYTES));
        shared_unmap(&f.engine.state);
        EXPECT_INT(shared_map(&f.engine.state, f.fd, LOG_BYTES), 0);
        EXPECT(shared_is_ours(f.fd, LOG_BYTES));
        EXPECT_U64(f.engine.state.head->slip.at, 0);
        EXPECT(!events_get(&f.engine.events, 1, &e));
        events_append(&f.engine.events, "process.exited", f.p, NULL);
        EXPECT(events_get(&f.engine.events, 1, &e));
        EXPECT_STR(e.type, "process.exited");
        teardown(&f);
    }
}

TEST(memory_that_was_made_shorter_is_not_mapped)
{
    struct fixture f;
    struct shared s = {0};

    setup(&f);
    EXPECT_INT(ftruncate(f.fd, 4096), 0);
    EXPECT(shared_map(&s, f.fd, LOG_BYTES) < 0);
    EXPECT_INT(ftruncate(f.fd, (off_t)shared_bytes(LOG_BYTES)), 0);
    teardown(&f);
}
