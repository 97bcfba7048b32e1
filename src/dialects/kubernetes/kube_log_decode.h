/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log_decode.h - times in words, and lines with times in front. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_LOG_DECODE_H
#define HF_DIALECTS_KUBERNETES_KUBE_LOG_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* "2026-01-02T03:04:05Z", with a fraction or an offset; false: it is none. */
bool log_time_parse(const char *text, int64_t *wall_ms);
/* Appends the bytes with the time in front of each line; *inside says whether a line is open. */
void log_put_timed(struct buf *out, const char *bytes, size_t len, int64_t wall_ms, bool *inside);

#endif
