/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optparse.h - parses the options of a command by one table
 *
 * A row names an option, its kind, its bounds and its help line, so that parser, help text and
 * checks cannot disagree. Layer: cli.
 */
#ifndef HF_CLI_OPTPARSE_H
#define HF_CLI_OPTPARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OPTPARSE_LIST_MAX 64

struct optparse_list {
    const char *items[OPTPARSE_LIST_MAX];
    size_t count;
};

enum optparse_kind { OPTPARSE_FLAG, OPTPARSE_TEXT, OPTPARSE_LIST, OPTPARSE_NUMBER };

struct optparse_row {
    const char *name;
    enum optparse_kind kind;
    size_t offset; /* bool, const char *, struct optparse_list, int64_t */
    int64_t min, max;
    const char *value; /* placeholder in the help text; NULL for a flag */
    const char *help;
};

struct optparse {
    const char *command; /* "holdfast gateway" */
    const struct optparse_row *rows;
    size_t count;
};

/* 0; 2 after an error message on standard error; 1 if --help was given. */
int optparse_run(const struct optparse *p, int argc, char **argv, void *out);
void optparse_help(const struct optparse *p, struct buf *out);
int optparse_complain(const struct optparse *p, const char *what, const char *name); /* 2 */

#endif
