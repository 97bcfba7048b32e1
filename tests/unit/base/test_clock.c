/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clock.c - times as text, of which the C library's calendar is the judge, and waiting
 */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#include "base/limits.h"
#include "base/patience.h"
#include "base/rfc3339.h"
#include "test.h"

TEST(time_is_written_as_rfc_3339)
{
    char text[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(0, text);
    EXPECT_STR(text, "1970-01-01T00:00:00.000Z");
    clock_rfc3339(1767323045678, text);
    EXPECT_STR(text, "2026-01-02T03:04:05.678Z");
    clock_rfc3339(951782399999, text);
    EXPECT_STR(text, "2000-02-28T23:59:59.999Z");
    clock_rfc3339(951782400000, text);
    EXPECT_STR(text, "2000-02-29T00:00:00.000Z");
    clock_rfc3339(-1, text);
    EXPECT_STR(text, "1969-12-31T23:59:59.999Z");
}

TEST(every_tenth_day_for_centuries_agrees_with_the_c_library)
{
    for (int64_t day = 0; day < 200000; day += 10) {
        char text[CLOCK_RFC3339_LEN + 1], want[40];
        time_t t = day * 86400 + day % 86400;
        struct tm tm;

        gmtime_r(&t, &tm);
        strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.007Z", &tm);
        clock_rfc3339((int64_t)t * 1000 + 7, text);
        if (strcmp(text, want) != 0)
            EXPECT_STR(text, want);
    }
}

TEST(the_monotonic_clock_does_not_go_back)
{
    uint64_t a = clock_mono_ns(), b = clock_mono_ns();

    EXPECT(b >= a);
    EXPECT(clock_mono_ms() >= a / 1000000);
    EXPECT(clock_wall_ms() > 1600000000000);
}

TEST(clock_http_date_is_the_one_of_the_standard)
{
    char out[CLOCK_HTTP_DATE_LEN + 1];

    clock_http_date(784111777000, out);
    EXPECT_STR(out, "Sun, 06 Nov 1994 08:49:37 GMT");
    clock_http_date(1709164800000, out);
    EXPECT_STR(out, "Thu, 29 Feb 2024 00:00:00 GMT");
}

TEST(times_are_read_with_and_without_fraction_and_zone)
{
    int64_t ms = 0;

    EXPECT(rfc3339_parse("1970-01-01T00:00:00Z", &ms));
    EXPECT_INT(ms, 0);
    EXPECT(rfc3339_parse("2026-01-02T03:04:05.678Z", &ms));
    EXPECT_U64((uint64_t)ms, 1767323045678ULL);
    EXPECT(rfc3339_parse("2024-02-29T23:59:59.123456789+02:00", &ms));
    EXPECT_U64((uint64_t)ms, 1709243999123ULL);
    EXPECT(rfc3339_parse("2000-03-01T00:00:00-00:30", &ms));
    EXPECT_U64((uint64_t)ms, 951870600000ULL);
    EXPECT(rfc3339_parse("0001-01-01T00:00:00.000Z", &ms));
    EXPECT(ms == RFC3339_MIN_MS);
    EXPECT(rfc3339_parse("9999-12-31T23:59:59.999Z", &ms));
    EXPECT(ms == RFC3339_MAX_MS);
    EXPECT(!rfc3339_parse("", &ms));
    EXPECT(!rfc3339_parse("2026-13-02T03:04:05Z", &ms));
    EXPECT(!rfc3339_parse("2026-01-02T03:04:05", &ms));
    EXPECT(!rfc3339_parse("2026-01-02T03:04:05+1", &ms));
    EXPECT(!rfc3339_parse("2026-01-02T03:04:05.Z", &ms));
    EXPECT(!rfc3339_parse("2026-01-02T03:04:05+24:00", &ms));
    EXPECT(!rfc3339_parse("2026-01-02T03:04:05+01:60", &ms));
    EXPECT(rfc3339_parse("2026-01-02T03:04:05z", &ms));
    EXPECT_U64((uint64_t)ms, 1767323045000ULL);
}

TEST(patience_has_a_bound_and_is_for_what_may_pass)
{
    struct patience p = {0};
    uint64_t began = clock_mono_ms();

    EXPECT(patience_is_passing(-ENOMEM) && patience_is_passing(-EMFILE));
    EXPECT(patience_is_passing(-EINTR) && patience_is_passing(-EAGAIN));
    EXPECT(!patience_is_passing(0) && !patience_is_passing(7));
    EXPECT(!patience_is_passing(-ENOENT) && !patience_is_passing(-EIO));
    while (patience_wait(&p))
        ;
    EXPECT(clock_mono_ms() - began >= LIMIT_PATIENCE_MS);
    EXPECT(!patience_wait(&p));
}
