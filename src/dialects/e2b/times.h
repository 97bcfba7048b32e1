/* SPDX-License-Identifier: Apache-2.0 */
/*
 * times.h - times as text: RFC 3339 with any zone, the JSON form of protobuf's Timestamp
 *
 * Pure: text in, milliseconds out. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_TIMES_H
#define HF_DIALECTS_E2B_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* What can be said in that form: the years 1 to 9999. */
#define E2B_TIME_MIN_MS (-62135596800000)
#define E2B_TIME_MAX_MS 253402300799999

bool e2b_time_parse(const char *text, int64_t *wall_ms);

#endif
