/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - the current time, in the units that the names say. Layer: base.
 */
#include "base/clock.h"

#include <string.h>
#include <time.h>

static uint64_t clock_read_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_ns() / 1000000u;
}

int64_t clock_wall_ms(void)
{
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000u);
}

static void put_digits(char *out, unsigned value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

/*
 * Days since 1970-01-01 to a date of the Gregorian calendar. Years are counted
 * from March, so that the leap day is the last of its year, and in eras of
 * 400 years (146097 days), after which the calendar repeats.
 */
static void civil_from_days(int64_t days, unsigned *year, unsigned *month, unsigned *day)
{
    int64_t shifted = days + 719468; /* from 0000-03-01 */
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    unsigned doe = (unsigned)(shifted - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned from_march = (5 * doy + 2) / 153;

    *day = doy - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = (unsigned)((int64_t)yoe + era * 400 + (*month <= 2));
}

void clock_rfc3339(int64_t wall_ms, char *out)
{
    int64_t days = wall_ms / 86400000, rest = wall_ms % 86400000;
    unsigned year, month, day, ms;

    if (rest < 0) {
        rest += 86400000;
        days--;
    }
    ms = (unsigned)rest;
    civil_from_days(days, &year, &month, &day);
    memcpy(out, "0000-00-00T00:00:00.000Z", CLOCK_RFC3339_LEN + 1);
    put_digits(out, year, 4);
    put_digits(out + 5, month, 2);
    put_digits(out + 8, day, 2);
    put_digits(out + 11, ms / 3600000, 2);
    put_digits(out + 14, ms / 60000 % 60, 2);
    put_digits(out + 17, ms / 1000 % 60, 2);
    put_digits(out + 20, ms % 1000, 3);
}

void clock_http_date(int64_t wall_ms, char *out)
{
    static const char names[] = "SunMonTueWedThuFriSatJanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t s = wall_ms / 1000, days = s / 86400;
    unsigned second = (unsigned)(s % 86400), year, month, day;

    civil_from_days(days, &year, &month, &day);
    memcpy(out, "Xxx, 00 Xxx 0000 00:00:00 GMT", CLOCK_HTTP_DATE_LEN + 1);
    memcpy(out, names + (days + 4) % 7 * 3, 3); /* the first of 1970 was a Thursday */
    put_digits(out + 5, day, 2);
    memcpy(out + 8, names + 21 + (month - 1) * 3, 3);
    put_digits(out + 12, year, 4);
    put_digits(out + 17, second / 3600, 2);
    put_digits(out + 20, second / 60 % 60, 2);
    put_digits(out + 23, second % 60, 2);
}
