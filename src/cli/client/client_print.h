/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_print.h - what people and programs get to see: JSON, {field} lines, tables, colours
 *
 * Colours appear on a terminal only, and not with NO_COLOR. What other programs
 * wrote (titles, commands) is shown without its control characters. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_PRINT_H
#define HF_CLI_CLIENT_CLIENT_PRINT_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/client/command.h"

/* --json or --format: prints the value and is true. Else false: the command prints itself. */
bool print_value(const struct client_call *call, const json_t *value);
/* The same for a list: --format gives one line for each, --json the array. */
bool print_list(const struct client_call *call, const json_t *array);

/* "{id}\t{output.next}": fields of an object, "{{" for a brace, \t \n \\ . -1: not well formed. */
int format_check(const char *format);
void format_write(struct buf *out, const char *format, const json_t *object);

/* A table: cells are copied; the widest column with `shrink` gives way to fit the terminal. */
#define COLUMNS_MOST 10
struct columns {
    const char *titles[COLUMNS_MOST];
    int columns;
    int shrink; /* column that is cut to fit; -1: none */
    char **cells;
    size_t rows;
    const char *const *colours; /* per row, or NULL */
};
void columns_init(struct columns *t, int columns, int shrink, const char *const *titles);
void columns_add(struct columns *t, const char *const *cells);
void columns_print(const struct columns *t, int width); /* width 0: no limit */
void columns_fini(struct columns *t);

int print_terminal_columns(void); /* of standard output; 0: it is no terminal */
bool print_uses_colour(int fd);
/* Appends the text with control characters made visible as '?'. */
void print_plain(struct buf *out, const char *text);
/* "3 m", "2 h": since an RFC 3339 time, as of now. */
void print_ago(struct buf *out, const char *rfc3339, int64_t now_ms);
int64_t print_time_from_rfc3339(const char *text); /* wall ms; -1 if it is none */
/* All of it to standard output; exits quietly with SIGPIPE's code when nobody reads. */
void print_out(const void *bytes, size_t len);
void print_buf(struct buf *b); /* and frees it */
/* What stdio still holds goes out: `code`, or a complaint and never 0 if it cannot. */
int print_done(int code);

#endif
