/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_entry_table.c - processes by number and by pid
 */
#include "test.h"

#include "keeper/entry_table.h"

TEST(entries_are_found_by_number_and_until_reaped_by_pid)
{
    enum { COUNT = 1000 };
    static struct entry *e[COUNT];
    struct table t;

    table_init(&t);
    for (int i = 0; i < COUNT; i++) {
        e[i] = table_add(&t);
        REQUIRE(e[i] != NULL);
        table_set_pid(&t, e[i], 5000 + i * 3);
    }
    for (int i = 0; i < COUNT; i++) {
        EXPECT(table_find(&t, e[i]->pub.entry) == e[i]);
        EXPECT(table_find_pid(&t, 5000 + i * 3) == e[i]);
        if (i % 2 == 0)
            table_clear_pid(&t, e[i]);
    }
    EXPECT(table_find_pid(&t, 5000) == NULL);
    EXPECT_INT(e[0]->pub.pid, 5000);
    for (int i = 0; i < COUNT; i += 3) {
        uint32_t number = e[i]->pub.entry;

        table_remove(&t, e[i]);
        EXPECT(table_find(&t, number) == NULL);
    }
    EXPECT_U64(t.count, COUNT - (COUNT + 2) / 3);
    /* Numbers that are taken are passed over when the count begins anew. */
    t.last_number = UINT32_MAX;
    EXPECT_U64(table_add(&t)->pub.entry, 1);
    EXPECT_U64(table_add(&t)->pub.entry, 4);
    table_fini(&t);
}
