/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_print.h - output for people and programs: JSON, {field} lines, tables, colours
 *
 * Colours appear only on a terminal, and not with NO_COLOR. Text from other programs (titles,
 * commands) is shown without its control characters. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_PRINT_H
#define HF_CLI_CLIENT_CLIENT_PRINT_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/client/command.h"

/* With --json or --format, prints the value and returns true. Else the command prints it. */
bool print_value(const struct client_call *call, const json_t *value);
/* The same for a list: --format prints a line for each item, --json the array. */
bool print_items(const struct client_call *call, const json_t *array);
/* Prints a list of objects in either way, or else as a table of fields. */
void print_list(const struct client_call *call, const json_t *array, int columns,
                const char *const *titles, const char *const *fields);

/* "{id}\t{output.next}": fields of an object, "{{" for a brace, \t \n \\ . -1: not well formed. */
int print_format_check(const char *format);
void print_format_write(struct buf *out, const char *format, const json_t *object);

/* A table: cells are copied; column `shrink` is cut to fit the terminal. */
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
/* The fields of each object; the last column is cut to fit the terminal. */
void columns_print_list(const json_t *array, int columns, const char *const *titles,
                        const char *const *fields);

int print_terminal_columns(void); /* of standard output; 0: not a terminal */
bool print_uses_colour(int fd);
/* Appends the text with '?' for each control character. */
void print_plain(struct buf *out, const char *text);
/* "3 m", "2 h": since an RFC 3339 time, as of now. */
void print_ago(struct buf *out, const char *rfc3339, int64_t now_ms);
/* Writes all of it to standard output; on a broken pipe, exits as if killed by SIGPIPE. */
void print_out(const void *bytes, size_t len);
void print_buf(struct buf *b); /* and frees it */
/* Flushes stdio. Returns `code`; if that fails, prints an error and never returns 0. */
int print_done(int code);

#endif
