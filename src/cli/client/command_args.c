/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_args.c - parses the command line of a client command by its table. Layer: cli.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/client/command.h"

int command_complain(const struct client_call *call, int code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "holdfast %s: %s\n", call->command->name, text);
    return code;
}

static int mistake(const struct client_call *call, const char *what, const char *name)
{
    return command_complain(call, CLI_USAGE, "%s '%s'; see holdfast %s --help", what, name,
                            call->command->name);
}

bool args_time(const char *text, int64_t *out_ms)
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

/*
 * The API uses JSON, which cannot carry bytes that are not UTF-8: they would arrive changed. Names
 * of local files are not sent.
 */
static int check_text(const struct client_call *call, const char *what, const char *text)
{
    if (utf8_is_valid(text, strlen(text)))
        return 0;
    return command_complain(
        call, CLI_USAGE,
        "%s is not UTF-8 and cannot be sent; send such bytes through standard input or "
        "a file",
        what);
}

static bool is_sent(const struct client_call *call, const struct opt *o, const char *base)
{
    return base == (const char *)call->args && (o->kind == OPT_TEXT || o->kind == OPT_LIST) &&
           strcmp(o->value, "FILE") != 0;
}

static void set_flag(const struct opt *o, char *base)
{
    *(bool *)(void *)(base + o->offset) = true;
}

/* Stores the value of an option. */
static int store(const struct client_call *call, const struct opt *o, char *base, const char *value)
{
    void *to = base + o->offset;
    struct opt_list *list = to;

    if (is_sent(call, o, base) && check_text(call, o->name, value) != 0)
        return CLI_USAGE;
    switch (o->kind) {
    case OPT_TEXT: *(const char **)to = value; return 0;
    case OPT_LIST:
        if (list->count >= OPT_LIST_MAX)
            return mistake(call, "too many uses of", o->name);
        list->items[list->count++] = value;
        return 0;
    case OPT_TIME:
        if (args_time(value, to) && *(int64_t *)to >= o->min)
            return 0;
        return command_complain(
            call, CLI_USAGE,
            "%s must be a time such as 1500ms, 30s, 5m or 1h (a bare number is ms)", o->name);
    default:
        if (text_to_i64(value, o->min, o->max, to))
            return 0;
        return command_complain(call, CLI_USAGE, "%s must be a number from %lld to %lld", o->name,
                                (long long)o->min, (long long)o->max);
    }
}

struct found {
    const struct opt *opt;
    char *base;
};

static struct found find(struct client_call *call, const char *name, size_t len, char letter)
{
    const struct command *c = call->command;
    size_t i, n = c->opt_count + commands_common_opt_count;

    for (i = 0; i < n; i++) {
        const struct opt *o =
            i < c->opt_count ? &c->opts[i] : &commands_common_opts[i - c->opt_count];
        bool same = name != NULL ? strlen(o->name) == len && strncmp(o->name, name, len) == 0
                                 : o->letter == letter;
        if (same)
            return (struct found){o, i < c->opt_count ? call->args : (char *)call};
    }
    return (struct found){NULL, NULL};
}

/* The position of the parser. */
struct command_args_cursor {
    int argc, at;
    char **argv;
};

static int take_long(struct client_call *call, struct command_args_cursor *k)
{
    const char *arg = k->argv[k->at], *eq = strchr(arg, '=');
    struct found f = find(call, arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg), 0);
    const char *value = eq != NULL ? eq + 1 : NULL;

    if (f.opt == NULL)
        return mistake(call, "unknown option", arg);
    if (f.opt->kind == OPT_FLAG && value != NULL)
        return mistake(call, "no value allowed for", f.opt->name);
    if (f.opt->kind == OPT_FLAG) {
        set_flag(f.opt, f.base);
        return 0;
    }
    if (value == NULL) {
        if (k->at + 1 >= k->argc)
            return mistake(call, "a value is missing for", f.opt->name);
        value = k->argv[++k->at];
    }
    return store(call, f.opt, f.base, value);
}

/* "-it", "-n5", "-n 5" */
static int take_short(struct client_call *call, struct command_args_cursor *k)
{
    const char *arg = k->argv[k->at], *p;

    for (p = arg + 1; *p != '\0'; p++) {
        struct found f = find(call, NULL, 0, *p);
        const char *value = p[1] != '\0' ? p + 1 : NULL;
        int rc;

        if (f.opt == NULL)
            return mistake(call, "unknown option", arg);
        if (f.opt->kind == OPT_FLAG) {
            set_flag(f.opt, f.base);
            continue;
        }
        if (value == NULL && k->at + 1 >= k->argc)
            return mistake(call, "a value is missing for", f.opt->name);
        rc = store(call, f.opt, f.base, value != NULL ? value : k->argv[++k->at]);
        return rc;
    }
    return 0;
}

static int check_operands(const struct client_call *call)
{
    const struct command *c = call->command;
    int i;

    for (i = 0; i < call->operand_count && !c->takes_bytes; i++)
        if (check_text(call, "an argument", call->operands[i]) != 0)
            return CLI_USAGE;
    if (call->operand_count < c->min_operands)
        return command_complain(call, CLI_USAGE, "usage: holdfast %s [OPTION...] %s", c->name,
                                c->operands);
    if (c->max_operands >= 0 && call->operand_count > c->max_operands)
        return mistake(call, "unexpected argument", call->operands[c->max_operands]);
    return 0;
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Everything after the last operand belongs to another program. */
static bool ends_options(const struct client_call *call)
{
    const char *verb = call->command->verb_ends;

    return call->command->first_operand_ends ||
           (verb != NULL && call->operand_count == 2 && strcmp(call->operands[0], verb) == 0);
}

/* Collects the operands at the front of argv. */
int args_parse(struct client_call *call, int argc, char **argv, bool *help)
{
    struct command_args_cursor k = {argc, 0, argv};
    bool only_operands = false;
    int rc = 0;

    call->operands = argv;
    for (; k.at < argc && rc == 0; k.at++) {
        char *arg = argv[k.at];

        if (only_operands || arg[0] != '-' || arg[1] == '\0') {
            call->operands[call->operand_count++] = arg;
            only_operands = only_operands || ends_options(call);
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (is_help(arg)) {
            *help = true;
            return 0;
        } else {
            rc = arg[1] == '-' ? take_long(call, &k) : take_short(call, &k);
        }
    }
    return rc == 0 ? check_operands(call) : rc;
}
