/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/notes.h"
#include "engine/worker_shared.h"

#define LOG_BYTES 16384

static int memory(size_t bytes)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    EXPECT_INT(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

static void expect_note(const struct shared *s, const char *name, const char *want)
{
    size_t len = 0;
    const char *text = notes_get(s, name, &len);

    EXPECT_MEM(text, len, want, strlen(want));
}

TEST(a_note_is_there_for_the_next_worker)
{
    int fd = memory(shared_bytes(LOG_BYTES));
    struct shared a = {0}, b = {0};
    size_t len;

    EXPECT_INT(shared_map(&a, fd, LOG_BYTES), 0);
    EXPECT(notes_get(&a, "one", &len) == NULL);
    EXPECT_INT(notes_set(&a, "one", "first", 5), 0);
    EXPECT_INT(notes_set(&a, "two", "second", 6), 0);
    EXPECT_INT(notes_set(&a, "one", "changed", 7), 0);
    EXPECT_INT(shared_map(&b, fd, LOG_BYTES), 0);
    expect_note(&b, "one", "changed");
    expect_note(&b, "two", "second");
    EXPECT_INT(notes_set(&b, "two", "", 0), 0);
    EXPECT(notes_get(&a, "two", &len) == NULL);
    expect_note(&a, "one", "changed");
    shared_unmap(&a);
    shared_unmap(&b);
    close(fd);
}

/* The last byte of an area is used, and the byte behind it is another's. */
TEST(what_does_not_fit_changes_nothing)
{
    static char big[LIMIT_NOTES_BYTES];
    int fd = memory(shared_bytes(LOG_BYTES));
    struct shared s = {0};
    size_t len;

    memset(big, 'x', sizeof big);
    EXPECT_INT(shared_map(&s, fd, LOG_BYTES), 0);
    EXPECT_INT(notes_set(&s, "a", "kept", 4), 0);
    EXPECT_INT(notes_set(&s, "b", big, sizeof big), -ENOSPC);
    EXPECT_INT(notes_set(&s, "b", big, sizeof big - 13 - 9 + 1), -ENOSPC);
    EXPECT(notes_get(&s, "b", &len) == NULL);
    expect_note(&s, "a", "kept");
    EXPECT_INT(notes_set(&s, "b", big, sizeof big - 13 - 9), 0);
    expect_note(&s, "a", "kept");
    EXPECT(notes_get(&s, "b", &len) != NULL);
    EXPECT_U64(len, sizeof big - 13 - 9);
    EXPECT(notes_get(&s, "c", &len) == NULL);
    shared_unmap(&s);
    close(fd);
}

/* A binary that did not know notes made the memory, and this one took over. */
TEST(memory_of_an_older_daemon_has_no_notes)
{
    int fd = memory(4096 + LOG_BYTES);
    struct shared s = {0};
    size_t len;

    EXPECT_INT(shared_map(&s, fd, LOG_BYTES), 0);
    EXPECT_INT(notes_set(&s, "a", "x", 1), -ENOTSUP);
    EXPECT(notes_get(&s, "a", &len) == NULL);
    shared_unmap(&s);
    close(fd);
}

/* A length beyond the area was followed. */
TEST(damaged_notes_are_forgotten)
{
    static const uint32_t lengths[][2] = {
        {UINT32_MAX, 1}, {3, UINT32_MAX}, {3, LIMIT_NOTES_BYTES}, {LIMIT_NOTES_BYTES, 8}};
    int fd = memory(shared_bytes(LOG_BYTES));
    struct shared s = {0};
    size_t len;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        EXPECT_INT(shared_map(&s, fd, LOG_BYTES), 0);
        EXPECT_INT(notes_set(&s, "one", "first", 5), 0);
        memcpy(s.notes + (s.head->notes_which & 1) * (size_t)LIMIT_NOTES_BYTES, lengths[i], 8);
        shared_unmap(&s);
        EXPECT_INT(shared_map(&s, fd, LOG_BYTES), 0);
        EXPECT(notes_get(&s, "one", &len) == NULL);
        EXPECT_INT(notes_set(&s, "two", "second", 6), 0);
        expect_note(&s, "two", "second");
        shared_unmap(&s);
    }
    close(fd);
}

/* Bytes of earlier, longer lists stay in the areas behind the end of the list. */
TEST(bytes_behind_the_end_of_the_list_are_not_read)
{
    static char big[LIMIT_NOTES_BYTES / 2];
    int fd = memory(shared_bytes(LOG_BYTES));
    struct shared s = {0};
    size_t len;

    EXPECT_INT(shared_map(&s, fd, LOG_BYTES), 0);
    EXPECT_INT(notes_set(&s, "a", "one", 3), 0);
    EXPECT_INT(notes_set(&s, "b", "two", 3), 0);
    memset(big, 1, sizeof big); /* it reads as heads of notes */
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(notes_set(&s, "c", big, sizeof big), 0);
        EXPECT_INT(notes_set(&s, "d", big, 100), 0);
    }
    EXPECT_INT(notes_set(&s, "c", "", 0), 0);
    EXPECT_INT(notes_set(&s, "d", "", 0), 0);
    expect_note(&s, "a", "one");
    expect_note(&s, "b", "two");
    EXPECT(notes_get(&s, "c", &len) == NULL);
    EXPECT(notes_get(&s, "d", &len) == NULL);
    EXPECT(notes_are_sound(&s));
    shared_unmap(&s);
    close(fd);
}
