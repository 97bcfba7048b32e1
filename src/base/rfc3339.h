/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rfc3339.h - parses times in RFC 3339 format, with any zone
 *
 * It is also the JSON form of protobuf's Timestamp. Pure: text in, milliseconds out. Layer: base.
 */
#ifndef HF_BASE_RFC3339_H
#define HF_BASE_RFC3339_H

#include <stdbool.h>
#include <stdint.h>

/* The range of the format: the years 1 to 9999. */
#define RFC3339_MIN_MS (-62135596800000)
#define RFC3339_MAX_MS 253402300799999

bool rfc3339_parse(const char *text, int64_t *wall_ms);

#endif
