/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_print.c - output of the client commands: JSON, times, colours. Layer: cli.
 */
#include "cli/client/client_print.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/text.h"

/* --- writing ---------------------------------------------------------------------- */

/* Dies of SIGPIPE, as any filter does when its reader closes. */
static void die_of_broken_pipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(128 + SIGPIPE);
}

static void report_unwritten(int rc)
{
    if (rc == -EPIPE)
        die_of_broken_pipe();
    fprintf(stderr, "holdfast: cannot write: %s\n", strerror(-rc));
}

void print_out(const void *bytes, size_t len)
{
    int rc = io_write_all(STDOUT_FILENO, bytes, len);

    if (rc < 0) {
        report_unwritten(rc);
        exit(CLI_FAILED);
    }
}

int print_done(int code)
{
    /* An earlier write may have failed and left only the error flag. */
    bool failed = ferror(stdout) != 0;
    int rc = fflush(stdout) != 0 ? -errno : failed ? -EIO : 0;

    if (rc == 0)
        return code;
    report_unwritten(rc);
    return code != CLI_OK ? code : CLI_FAILED;
}

void print_buf(struct buf *b)
{
    if (b->len > 0)
        print_out(buf_data(b), b->len);
    buf_fini(b);
}

static void print_json(const json_t *v)
{
    char *text = json_dumps(v, JSON_INDENT(2) | JSON_ENCODE_ANY);

    if (text != NULL) {
        print_out(text, strlen(text));
        print_out("\n", 1);
    }
    free(text);
}

bool print_value(const struct client_call *call, const json_t *value)
{
    struct buf line = {0};

    if (call->format != NULL) {
        format_write(&line, call->format, value);
        print_buf(&line);
        return true;
    }
    if (call->json)
        print_json(value);
    return call->json;
}

bool print_items(const struct client_call *call, const json_t *array)
{
    const json_t *v;
    size_t i;

    if (call->format == NULL)
        return print_value(call, array);
    json_array_foreach ((json_t *)array, i, v) {
        print_value(call, v);
    }
    return true;
}

void print_list(const struct client_call *call, const json_t *array, int columns,
                const char *const *titles, const char *const *fields)
{
    if (!print_items(call, array))
        columns_print_list(array, columns, titles, fields);
}

/* --- terminal ----------------------------------------------------------------------- */

int print_terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col > 0 ? size.ws_col : 80;
}

bool print_uses_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fd) && (no == NULL || no[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

void print_plain(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        size_t n = utf8_char_len(text, len);
        /* C1 controls are two bytes, C2 80 to C2 9F. */
        bool control = n == 0 || (unsigned char)text[0] < ' ' || text[0] == 0x7f ||
                       (n == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0);

        if (control)
            buf_putc(out, '?');
        else
            buf_put(out, text, n);
        n = n > 0 ? n : 1;
        text += n;
        len -= n;
    }
}

/* --- time ------------------------------------------------------------------------------ */

int64_t print_time_from_rfc3339(const char *text)
{
    int64_t wall_ms;

    return rfc3339_parse(text, &wall_ms) ? wall_ms : -1;
}

void print_ago(struct buf *out, const char *rfc3339, int64_t now_ms)
{
    static const struct {
        int64_t s;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    int64_t then = print_time_from_rfc3339(rfc3339), s = (now_ms - then) / 1000;
    size_t i = 0;

    if (then < 0)
        return;
    if (s < 0)
        s = 0;
    while (i < 3 && s < units[i].s)
        i++;
    buf_printf(out, "%lld%s", (long long)(s / units[i].s), units[i].unit);
}
