/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optparse.h - parses the options of every command by tables
 *
 * A row names an option, its member in the command's struct, its bounds, its help line and, by the
 * member's name, the API's field, so that parser, help text, completions and requests cannot
 * disagree. Layer: cli.
 */
#ifndef HF_CLI_OPTPARSE_H
#define HF_CLI_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/braces.h"
#include "base/buf.h"
#include "base/error.h"

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
    const char *member;  /* its name, which is that of the API's field */
    size_t offset, size; /* of a bool, const char *, struct opt_list or integer of 4 or 8 bytes */
    const char *value;   /* placeholder in the help; "a|b|c": completions; NULL: a flag */
    const char *help;
    int64_t min, max; /* of a number; a time is milliseconds from min; max uses of a list */
};

/* The rows of a table, after `#define OPT_ARGS struct ...` with the command's struct. */
#define OPT_ROW(name_, letter_, kind_, member_, value_, ...)                                       \
    BRACES(.name = (name_), .letter = (letter_), .kind = (kind_), .member = #member_,              \
           .offset = offsetof(OPT_ARGS, member_), .size = sizeof(((OPT_ARGS *)NULL)->member_),     \
           .value = (value_), .help = __VA_ARGS__)
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
    const char *command; /* "gateway" */
    struct opt_part parts[2];
    int argc, at;
    char **argv;
};

/* Parses the option at argv[at] and moves behind it. 0, or 2 after an error message. */
int optparse_next(struct optparse *p);
bool optparse_is_help(const char *arg);
/* "holdfast COMMAND: ..." on standard error; returns `code`. */
int cli_complain(const char *command, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "holdfast COMMAND: WHAT 'NAME'; see holdfast COMMAND --help"; returns 2. */
int optparse_complain(const char *command, const char *what, const char *name);
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
/* For a running daemon, which cannot be corrected any more: errors are only reported. */
void opt_table_parse_resumed(const struct opt_table *t, int argc, char **argv, void *out);

/* The help lines of the rows. `letters`: with a column for them. */
void opt_put_help(struct buf *out, const struct opt *rows, size_t count, bool letters);
/* The value of --log-level: 0, or 2 after an error message. */
int opt_set_log_level(const char *command, const char *name);
/* The values of --cors-origin: 0, or -1 after a log line. */
struct origin;
int opt_allow_origins(const struct opt_list *list, struct origin *out);
/* The value of --worker-user: the ids to change to; 0: none, since it is root or we are not. */
int opt_worker_ids(const char *name, uid_t *uid, gid_t *gid, struct hf_error *err);
void opt_list_add(struct opt_list *list, const char *value);
void opt_free(const struct opt *rows, size_t count, void *out);

/* Rows that the daemon and the gateway share; `http` is the member with the http_options. */
#define OPT_DAY_MS (24LL * 3600 * 1000)
#define OPT_CORS_ROW(uses)                                                                         \
    OPT_LIST("--cors-origin", 0, cors_origin, uses, "ORIGIN",                                      \
             "allow requests from pages of this origin; may be repeated")
#define OPT_TLS_ROWS                                                                               \
    OPT_TEXT("--tls-cert", 0, tls_cert, "FILE", "serve TLS with this certificate chain (PEM)"),    \
        OPT_TEXT("--tls-key", 0, tls_key, "FILE", "private key file (PEM)")
#define OPT_TIMEOUT_ROWS(http)                                                                     \
    OPT_NUMBER("--header-timeout-ms", 0, http.head_ms, 10, OPT_DAY_MS, "MS",                       \
               "time to receive the head of a request"),                                           \
        OPT_NUMBER("--body-timeout-ms", 0, http.body_ms, 10, OPT_DAY_MS, "MS",                     \
                   "time without progress in a request body"),                                     \
        OPT_NUMBER("--keepalive-timeout-ms", 0, http.keepalive_ms, 10, OPT_DAY_MS, "MS",           \
                   "idle time between requests")
#define OPT_LOG_ROW OPT_TEXT("--log-level", 0, log_level, "LEVEL", "error, warn, info or debug")

#endif
