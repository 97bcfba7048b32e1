/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optparse.c - parses options by tables, and prints their help. Layer: cli.
 */
#include "cli/optparse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/users.h"
#include "transport/origin.h"

#define LEFT_COLUMNS 28

int cli_complain(const char *command, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "holdfast %s: %s\n", command, text);
    return code;
}

int optparse_complain(const char *command, const char *what, const char *name)
{
    return cli_complain(command, 2, "%s '%s'; see holdfast %s --help", what, name, command);
}

bool optparse_is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* --- values ------------------------------------------------------------------------------ */

bool optparse_time(const char *text, int64_t *out_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1}};
    size_t digits = strspn(text, "0123456789"), i;
    char number[20];
    int64_t n;

    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!text_to_i64(number, 0, LIMIT_DURATION_MS, &n))
        return false;
    for (i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits, units[i].unit) == 0) {
            *out_ms = n * units[i].ms;
            return n <= LIMIT_DURATION_MS / units[i].ms;
        }
    return false;
}

void opt_list_add(struct opt_list *list, const char *value)
{
    list->items = hf_xrealloc(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = value;
}

int opt_set_log_level(const char *command, const char *name)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            log_set_level((enum log_level)i);
            return 0;
        }
    return cli_complain(command, 2, "--log-level must be error, warn, info or debug");
}

int opt_allow_origins(const struct opt_list *list, struct origin *out)
{
    int rc = 0;

    for (size_t i = 0; i < list->count; i++)
        if (origin_allow_origin(out, list->items[i]) < 0) {
            log_error("--cors-origin %s is not an origin; write it like https://example.org:8080",
                      list->items[i]);
            rc = -1;
        }
    return rc;
}

int opt_worker_ids(const char *name, uid_t *uid, gid_t *gid, struct hf_error *err)
{
    struct user u = {.uid = 0};
    int rc = geteuid() != 0 || strcmp(name, "root") == 0 ? 0 : user_find(name, &u, err);

    if (rc == 0) {
        *uid = u.uid;
        *gid = u.gid;
    }
    return rc;
}

/* Names of local files are not sent. */
static bool is_sendable(const struct opt_part *part, const struct opt *o, const char *value)
{
    bool is_text = o->kind == OPT_IS_TEXT || o->kind == OPT_IS_LIST;

    return !part->is_sent || !is_text || strcmp(o->value, "FILE") == 0 ||
           utf8_is_valid(value, strlen(value));
}

static int store_number(const struct optparse *p, const struct opt *o, const char *value, void *to)
{
    int64_t number;

    if (o->kind == OPT_IS_TIME ? !optparse_time(value, &number) || number < o->min
                               : !text_to_i64(value, o->min, o->max, &number))
        return o->kind == OPT_IS_TIME
                   ? cli_complain(p->command, 2,
                                  "%s must be a time such as 1500ms, 30s, 5m or 1h (a bare number "
                                  "is ms)",
                                  o->name)
                   : cli_complain(p->command, 2, "%s must be a number from %lld to %lld", o->name,
                                  (long long)o->min, (long long)o->max);
    if (o->size == sizeof(uint32_t))
        *(uint32_t *)to = (uint32_t)number;
    else
        *(int64_t *)to = number;
    return 0;
}

static int store(const struct optparse *p, const struct opt_part *part, const struct opt *o,
                 const char *value)
{
    void *to = (char *)part->out + o->offset;
    struct opt_list *list = to;

    if (!is_sendable(part, o, value))
        return cli_complain(p->command, 2,
                            "%s is not UTF-8 and cannot be sent; send such bytes through standard "
                            "input or a file",
                            o->name);
    switch (o->kind) {
    case OPT_IS_FLAG: *(bool *)to = true; return 0;
    case OPT_IS_TEXT: *(const char **)to = value; return 0;
    case OPT_IS_LIST:
        if (list->count >= (size_t)o->max)
            return optparse_complain(p->command, "too many uses of", o->name);
        opt_list_add(list, value);
        return 0;
    default: return store_number(p, o, value, to);
    }
}

void opt_free(const struct opt *rows, size_t count, void *out)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == OPT_IS_LIST) {
            struct opt_list *list = (void *)((char *)out + rows[i].offset);

            free(list->items);
            *list = (struct opt_list){0};
        }
}

/* --- the command line -------------------------------------------------------------------- */

/* By its name, or by its letter if `name` is NULL. */
static const struct opt *find(const struct optparse *p, const char *name, size_t len, char letter,
                              const struct opt_part **part)
{
    for (*part = p->parts; *part < p->parts + 2; ++*part)
        for (size_t i = 0; i < (*part)->count; i++) {
            const struct opt *o = &(*part)->rows[i];

            if (name == NULL ? o->letter == letter
                             : strlen(o->name) == len && strncmp(o->name, name, len) == 0)
                return o;
        }
    return NULL;
}

/* Stores the value, or if it is NULL the next argument. */
static int take_value(struct optparse *p, const struct opt_part *part, const struct opt *o,
                      const char *value)
{
    if (value == NULL && p->at >= p->argc)
        return optparse_complain(p->command, "a value is missing for", o->name);
    return store(p, part, o, value != NULL ? value : p->argv[p->at++]);
}

static int take_long(struct optparse *p, const char *arg)
{
    const char *eq = strchr(arg, '='), *value = eq != NULL ? eq + 1 : NULL;
    const struct opt_part *part;
    const struct opt *o = find(p, arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg), '\0', &part);

    if (o == NULL)
        return optparse_complain(p->command, "unknown option", arg);
    if (o->kind == OPT_IS_FLAG && value != NULL)
        return optparse_complain(p->command, "no value allowed for", o->name);
    return o->kind == OPT_IS_FLAG ? store(p, part, o, "") : take_value(p, part, o, value);
}

/* "-it", "-n5", "-n 5" */
static int take_short(struct optparse *p, const char *arg)
{
    for (const char *at = arg + 1; *at != '\0'; at++) {
        const struct opt_part *part;
        const struct opt *o = find(p, NULL, 0, *at, &part);

        if (o == NULL)
            return optparse_complain(p->command, "unknown option", arg);
        if (o->kind != OPT_IS_FLAG)
            return take_value(p, part, o, at[1] != '\0' ? at + 1 : NULL);
        (void)store(p, part, o, "");
    }
    return 0;
}

int optparse_next(struct optparse *p)
{
    const char *arg = p->argv[p->at++];
    bool is_short = arg[0] == '-' && arg[1] != '-' && arg[1] != '\0';

    return is_short ? take_short(p, arg) : take_long(p, arg);
}

static int table_print_help(const struct opt_table *t)
{
    struct buf text = {0};
    int rc;

    buf_printf(&text, "usage: holdfast %s %s\n\n%s\n", t->command, t->usage, t->about);
    opt_put_help(&text, t->rows, t->count, false);
    if (t->put_more != NULL)
        t->put_more(&text);
    if (t->notes != NULL)
        buf_printf(&text, "\n%s", t->notes);
    rc = io_write_all(STDOUT_FILENO, buf_data(&text), text.len) < 0;
    buf_fini(&text);
    return rc;
}

int opt_table_parse(const struct opt_table *t, int argc, char **argv, void *out)
{
    struct optparse p = {t->command, {{t->rows, t->count, out, false}}, argc, 2, argv};
    int rc = 0;

    while (p.at < argc && rc == 0) {
        if (optparse_is_help(argv[p.at]))
            return table_print_help(t);
        rc = optparse_next(&p);
    }
    return rc == 0 ? -1 : rc;
}

void opt_table_parse_resumed(const struct opt_table *t, int argc, char **argv, void *out)
{
    struct optparse p = {t->command, {{t->rows, t->count, out, false}}, argc, 2, argv};

    while (p.at < argc)
        /* The value of an option that this version no longer has is skipped with it. */
        if (optparse_next(&p) != 0 && p.at < argc && argv[p.at][0] != '-')
            p.at++;
}

/* --- help -------------------------------------------------------------------------------- */

void opt_put_help(struct buf *out, const struct opt *rows, size_t count, bool letters)
{
    for (const struct opt *o = rows; o < rows + count; o++) {
        char left[80], letter[8] = "    ";

        if (o->letter != '\0')
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s%s%s%s", letters ? letter : "", o->name,
                 o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        if (strlen(left) > LEFT_COLUMNS)
            buf_printf(out, "  %s\n  %*s %s\n", left, LEFT_COLUMNS, "", o->help);
        else
            buf_printf(out, "  %-*s %s\n", LEFT_COLUMNS, left, o->help);
    }
}
