/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optparse.h - parses the options of every command by tables
 *
 * A row names an option, its member in the command's struct, its bounds, its help line and the
 * API's field, so that parser, help text, completions and requests cannot disagree. Layer: cli.
 */
#ifndef HF_CLI_OPTPARSE_H
#define HF_CLI_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/braces.h"
#include "base/buf.h"

enum opt_kind { OPT_IS_FLAG, OPT_IS_TEXT, OPT_IS_LIST, OPT_IS_NUMBER, OPT_IS_TIME };

/* The values of an option that may be repeated; freed by opt_free(). */
struct opt_list {
    const char **items;
    size_t count;
};

struct opt {
    const char *name; /* "--env" */
    char letter;      /* 'e'; 0: none */
    enum opt_kind kind;
    size_t offset;     /* of a bool, const char *, struct opt_list or int64_t */
    const char *value; /* placeholder in the help; "a|b|c": completions; NULL: a flag */
    const char *help;
    int64_t min, max; /* of a number; a time is milliseconds from min; max uses of a list */
};

/* The rows of a table, after `#define OPT_ARGS struct ...` with the command's struct. */
#define OPT_ROW(name_, letter_, kind_, member, value_, ...)                                        \
    BRACES(.name = (name_), .letter = (letter_), .kind = (kind_),                                  \
           .offset = offsetof(OPT_ARGS, member), .value = (value_), .help = __VA_ARGS__)
#define OPT_FLAG(name, letter, member, ...)                                                        \
    OPT_ROW(name, letter, OPT_IS_FLAG, member, NULL, __VA_ARGS__)
#define OPT_TEXT(name, letter, member, value, ...)                                                 \
    OPT_ROW(name, letter, OPT_IS_TEXT, member, value, __VA_ARGS__)
#define OPT_TIME(name, letter, member, value, ...)                                                 \
    OPT_ROW(name, letter, OPT_IS_TIME, member, value, __VA_ARGS__)
#define OPT_LIST(name, letter, member, uses, value, ...)                                           \
    OPT_ROW(name, letter, OPT_IS_LIST, member, value, __VA_ARGS__, .max = (uses))
#define OPT_NUMBER(name, letter, member, from, to, value, ...)                                     \
    OPT_ROW(name, letter, OPT_IS_NUMBER, member, value, __VA_ARGS__, .min = (from), .max = (to))

/* One table and the struct that it fills. */
struct opt_part {
    const struct opt *rows;
    size_t count;
    void *out;
    bool is_sent; /* as JSON: texts must be UTF-8, except names of files */
};

/* One command line. */
struct optparse {
    const char *command; /* "holdfast gateway" */
    struct opt_part parts[2];
    int argc, at;
    char **argv;
};

/* Parses the option at argv[at] and moves behind it. 0, or 2 after an error message. */
int optparse_next(struct optparse *p);
bool optparse_is_help(const char *arg);
int optparse_complain(const char *command, const char *what, const char *name); /* 2 */
/* "1500" or "1500ms", "2s", "5m", "1h": milliseconds. */
bool optparse_time(const char *text, int64_t *out_ms);

/* The options and the help text of a command that is not a client of the daemon. */
struct opt_table {
    const char *command;
    const struct opt *rows;
    size_t count;
    const char *usage;                 /* what follows the command's name */
    const char *about, *notes;         /* before and after the options; notes may be NULL */
    void (*put_more)(struct buf *out); /* between options and notes; NULL: nothing */
};
#define OPT_ROWS(table) .rows = (table), .count = sizeof(table) / sizeof((table)[0])

/* -1: *out is filled. Else the exit code: after --help, or after an error message. */
int opt_table_parse(const struct opt_table *t, int argc, char **argv, void *out);
int opt_table_print_help(const struct opt_table *t); /* 0 or 1 */

/* The help lines of the rows. `letters`: with a column for them. */
void opt_put_help(struct buf *out, const struct opt *rows, size_t count, bool letters);
/* The value of --log-level: 0, or 2 after an error message. */
int opt_set_log_level(const char *command, const char *name);
void opt_list_add(struct opt_list *list, const char *value);
void opt_free(const struct opt *rows, size_t count, void *out);

#endif
