/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unsent_input.c - input continues at the offset that the daemon reports
 */
#include "test.h"

#include "cli/client/unsent_input.h"

static size_t next(struct unsent_input *t, const char **bytes)
{
    return unsent_input_next(t, 100, bytes);
}

TEST(input_goes_on_where_the_daemon_left_off)
{
    struct unsent_input t = {0};
    const char *p = NULL;

    unsent_input_on_hello(&t, 0);
    unsent_input_put(&t, "0123456789", 10);
    EXPECT_U64(next(&t, &p), 10);
    EXPECT_U64(next(&t, &p), 0);
    unsent_input_on_ack(&t, 4);
    unsent_input_put(&t, "ab", 2);
    unsent_input_on_hello(&t, 7); /* cut; it took 7 */
    EXPECT_U64(next(&t, &p), 5);
    EXPECT(memcmp(p, "789ab", 5) == 0);
    t.eof_wanted = true;
    EXPECT(unsent_input_eof_is_due(&t));
    t.eof_sent = true;
    unsent_input_on_hello(&t, 12);
    EXPECT_U64(t.pending.len, 0);
    EXPECT(unsent_input_eof_is_due(&t)); /* once for each connection */
    unsent_input_fini(&t);
}

TEST(a_daemon_that_counts_anew_gets_the_rest_only)
{
    struct unsent_input t = {0};
    const char *p = NULL;

    unsent_input_put(&t, "0123456789", 10);
    unsent_input_on_hello(&t, 0);
    next(&t, &p);
    unsent_input_on_ack(&t, 6);
    unsent_input_on_hello(&t, 0);
    EXPECT_U64(next(&t, &p), 4);
    EXPECT(memcmp(p, "6789", 4) == 0);
    unsent_input_on_ack(&t, 4);
    EXPECT_U64(t.pending.len, 0);
    unsent_input_fini(&t);
}
