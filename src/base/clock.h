/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the current time, in the units that the names say. Layer: base.
 */
#ifndef HF_BASE_CLOCK_H
#define HF_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);
uint64_t clock_mono_ms(void);
int64_t clock_wall_ms(void);

#define CLOCK_RFC3339_LEN 24
/* "2026-01-02T03:04:05.678Z", NUL-terminated: out holds CLOCK_RFC3339_LEN + 1. */
void clock_rfc3339(int64_t wall_ms, char *out);

#define CLOCK_HTTP_DATE_LEN 29
/* "Fri, 02 Jan 2026 03:04:05 GMT" and NUL. Without the C library, which occasionally reads the
 * time zone file: base/io.h would not count that read. */
void clock_http_date(int64_t wall_ms, char *out);

#endif
