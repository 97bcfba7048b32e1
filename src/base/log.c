/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - one line per event on standard error
 *
 * A line is assembled here and written by one hf_write(), so that lines of keeper and worker do not
 * mix and the bytes are counted (see io.h). A reader that stops reading must not block us: a line
 * that does not fit is dropped, and the next line that fits is preceded by the number of dropped
 * ones. Layer: base.
 */
#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

#define LOG_LINE_BYTES 1024 /* below PIPE_BUF: if poll() reports room, all of it fits */

static enum log_level log_level = LOG_INFO;
static const char *log_part = "holdfast";
static unsigned log_dropped; /* lines dropped since the last one written */

void log_set_level(enum log_level level)
{
    log_level = level;
}

void log_set_part(const char *part)
{
    log_part = part;
}

/* The message may contain text from a peer: it must not start a line or move a cursor. */
static void log_clean(char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            s[i] = '?';
    }
}

static bool log_has_room(void)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

static void log_line(enum log_level level, const char *fmt, va_list ap);

static void log_at(enum log_level level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line(level, fmt, ap);
    va_end(ap);
}

/* Reports dropped lines before the next one; false: still no room. */
static bool log_report_dropped(void)
{
    unsigned lost = log_dropped;

    if (!log_has_room()) {
        log_dropped++;
        return false;
    }
    if (lost > 0) {
        log_dropped = 0;
        log_at(LOG_WARN, "dropped %u log lines: nothing was reading them", lost);
        return log_report_dropped();
    }
    return true;
}

static void log_line(enum log_level level, const char *fmt, va_list ap)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char line[LOG_LINE_BYTES], now[CLOCK_RFC3339_LEN + 1];
    size_t room = sizeof line - 1; /* one for the newline */
    size_t head, len;
    int n;

    if (level > log_level || !log_report_dropped())
        return;
    clock_rfc3339(clock_wall_ms(), now);
    n = snprintf(line, room, "%s %s %s: ", now, names[level], log_part);
    head = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    n = vsnprintf(line + head, room - head, fmt, ap);
    len = head + (n < 0 ? 0 : (size_t)n);
    if (len >= room) {
        len = room - 1;
        memcpy(line + len - 3, "...", 3);
    }
    log_clean(line, len);
    line[len++] = '\n';
    (void)hf_write(STDERR_FILENO, line, len);
}

#define LOG_FUNCTION(name, level)                                                                  \
    void name(const char *fmt, ...)                                                                \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, fmt);                                                                         \
        log_line(level, fmt, ap);                                                                  \
        va_end(ap);                                                                                \
    }

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)
