/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log_decode.h - RFC 3339 times, and lines prefixed with times. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_LOG_DECODE_H
#define HF_DIALECTS_KUBERNETES_KUBE_LOG_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* "2026-01-02T03:04:05Z", with a fraction or an offset; false: malformed. */
bool log_time_parse(const char *text, int64_t *wall_ms);
/* Appends the bytes with the time before each line; *inside records whether a line is open. */
void log_put_timed(struct buf *out, const char *bytes, size_t len, int64_t wall_ms, bool *inside);

#endif
