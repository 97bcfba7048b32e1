/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one line per event on standard error
 *
 * "TIME LEVEL part: message". Never pass a secret: log the length or the kind of what a peer sent.
 * Layer: base.
 */
#ifndef HF_BASE_LOG_H
#define HF_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
void log_set_part(const char *part); /* static string: "keeper", "worker" */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
