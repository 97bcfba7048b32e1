/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_search.c - `search`: files by name, and lines by text or regular expression
 *
 * A name matches as in a shell (fnmatch). With `text` or `regex`, each matching line of a file is a
 * result: path, line, text. With `spans` and `regex` it also has its offset, its newline, more of
 * its text, and where it matches. With `ignore`, what the project's ignore files name and .git are
 * left out. Files with a NUL in their beginning are not text and are passed over, as is what may
 * not be read. A line {"truncated":true} follows if there is more than `limit`, or the time is up.
 * Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/text.h"
#include "files/files.h"
#include "files/files_ignore.h"
#include "files/files_walk.h"

#define BLOCK_BYTES (256 * 1024) /* the longest line that is searched whole */
#define SHOWN_BYTES 400          /* of a line */
#define SPANS_SHOWN_BYTES 2000   /* of a line with `spans` */
#define SPANS_MAX 100            /* in one line */
#define SPANS_BYTES (16 * 1024)  /* of their text */
#define REGEX_SIZE 8192          /* characters and groups, with their repetitions */
#define REGEX_DEPTH 100          /* of groups */

struct files_search_line {
    const char *path;
    int64_t number, offset; /* in the file */
    char *text;
    size_t len;
    bool ended; /* by a newline */
};

struct files_search {
    struct files_walk walk;
    const char *name, *text;
    regex_t *regex; /* NULL: none */
    bool any_case, truncated;
    bool files; /* directories are no results */
    bool spans, ignores;
    struct files_ignore ignore;
    int64_t depth, left, entries;
    uint64_t until_ms;
};

static bool is_over(struct files_search *s)
{
    s->truncated = s->truncated || clock_mono_ms() > s->until_ms;
    return s->truncated;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* `line` ends with NUL in the place of its newline. */
static bool line_matches(const struct files_search *s, const char *line, size_t len)
{
    if (s->regex != NULL)
        return regexec(s->regex, line, 0, NULL, 0) == 0;
    if (s->any_case)
        return strcasestr(line, s->text) != NULL;
    return memmem(line, len, s->text, strlen(s->text)) != NULL;
}

/* Where the expression matches, and what is there. */
static void put_spans(struct json_out *o, const regex_t *regex, const char *text, size_t len)
{
    size_t at = 0, left = SPANS_BYTES;
    regmatch_t m;

    json_kopen(o, "spans", '[');
    for (int i = 0; i < SPANS_MAX && at <= len && left > 0; i++) {
        size_t start, end;

        if (regexec(regex, text + at, 1, &m, at > 0 ? REG_NOTBOL : 0) != 0)
            break;
        start = at + (size_t)m.rm_so;
        end = at + (size_t)m.rm_eo;
        json_open(o, '{');
        json_kint(o, "start", (int64_t)start);
        json_kint(o, "end", (int64_t)end);
        json_kstrn(o, "text", text + start, end - start < left ? end - start : left);
        json_close(o, '}');
        left -= end - start < left ? end - start : left;
        at = end;
        if (end == start) /* one character further */
            for (at++; at < len && (text[at] & 0xc0) == 0x80;)
                at++;
    }
    json_close(o, ']');
}

/* As ripgrep has it. `text` ends with NUL, where the newline was if `ended`. */
static void show_spans(const struct files_search *s, const struct files_search_line *l)
{
    struct buf line = {0}, text = {0};
    struct json_out o;

    if (l->len > SPANS_SHOWN_BYTES) {
        buf_put(&text, l->text, SPANS_SHOWN_BYTES - utf8_open_tail(l->text, SPANS_SHOWN_BYTES));
        buf_puts(&text, "...");
    } else {
        buf_put(&text, l->text, l->len);
        if (l->ended)
            buf_putc(&text, '\n');
    }
    json_out_init(&o, &line);
    json_open(&o, '{');
    json_kstr(&o, "path", l->path);
    json_kstr(&o, "kind", "file");
    json_kint(&o, "line", l->number);
    json_kint(&o, "offset", l->offset);
    json_kstrn(&o, "text", buf_data(&text), text.len);
    put_spans(&o, s->regex, l->text, l->len);
    json_close(&o, '}');
    files_put_line(&line);
    buf_fini(&text);
}

static void show_line(const char *path, int64_t number, const char *text, size_t len)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    json_kstr(&o, "path", path);
    json_kstr(&o, "kind", "file");
    json_kint(&o, "line", number);
    json_kstrn(&o, "text", text, len < SHOWN_BYTES ? len : SHOWN_BYTES);
    json_close(&o, '}');
    files_put_line(&line);
}

static void search_line(struct files_search *s, const struct files_search_line *l)
{
    l->text[l->len] = '\0';
    if (is_over(s) || !line_matches(s, l->text, l->len))
        return;
    if (s->left-- == 0)
        s->truncated = true;
    else if (s->spans && s->regex != NULL)
        show_spans(s, l);
    else
        show_line(l->path, l->number, l->text, l->len);
}

/* A line that is longer than the block is searched in parts. */
static void search_text(struct files_search *s, int fd, const char *path)
{
    static char block[BLOCK_BYTES + 1];
    struct files_search_line l = {.path = path, .number = 1};
    size_t have = 0;

    for (;;) {
        ssize_t n = hf_read(fd, block + have, BLOCK_BYTES - have);
        char *end;

        if (n < 0 || (l.offset == 0 && have == 0 && memchr(block, '\0', (size_t)n) != NULL))
            return;
        have += (size_t)n;
        l.text = block;
        l.ended = true;
        while ((end = memchr(l.text, '\n', have - (size_t)(l.text - block))) != NULL) {
            l.len = (size_t)(end - l.text);
            search_line(s, &l);
            l.number++;
            l.offset += (int64_t)l.len + 1;
            l.text = end + 1;
        }
        have -= (size_t)(l.text - block);
        if (have > 0 && (n == 0 || have == BLOCK_BYTES)) {
            l.len = have;
            l.ended = false;
            search_line(s, &l);
            l.offset += (int64_t)have;
            have = 0;
        }
        if (n == 0 || s->truncated)
            return;
        memmove(block, l.text, have);
    }
}

/* --- files ----------------------------------------------------------------------------------- */

static void search_file(struct files_search *s, int dir, const char *name, const char *path,
                        const struct stat *st)
{
    hf_autoclose int fd = -1;
    struct stat now;

    if (s->name != NULL && fnmatch(s->name, name, s->any_case ? FNM_CASEFOLD : 0) != 0)
        return;
    if (s->files && S_ISDIR(st->st_mode))
        return;
    if (s->text == NULL && s->regex == NULL) {
        if (s->left-- == 0)
            s->truncated = true;
        else
            files_show_at(dir, name, path, st);
        return;
    }
    if (!S_ISREG(st->st_mode))
        return;
    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &now) == 0 && S_ISREG(now.st_mode))
        search_text(s, fd, path);
}

static enum files_walk_next search_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    struct files_search *s = (struct files_search *)w;

    if (++s->entries > LIMIT_TREE_ENTRIES)
        s->truncated = true;
    if (is_over(s))
        return WALK_STOP;
    if (s->ignores && (strcmp(e->name, ".git") == 0 ||
                       files_ignore_visit(&s->ignore, e->path, S_ISDIR(e->st.st_mode))))
        return WALK_SKIP;
    search_file(s, e->dir, e->name, e->path, &e->st);
    if (s->truncated)
        return WALK_STOP;
    return e->depth < s->depth ? WALK_ON : WALK_SKIP;
}

static enum files_walk_next search_denied(struct files_walk *w, const struct files_walk_entry *e,
                                          int err)
{
    (void)w, (void)e, (void)err;
    return WALK_ON;
}

/* --- the size of an expression --------------------------------------------------------------- */

struct regex_size {
    uint64_t all, last; /* of a group so far, and of what a repetition would repeat */
};

/* The other end of a bracket expression that begins at `at`. */
static const char *skip_bracket(const char *at)
{
    at += 1 + (at[1] == '^');
    at += *at == ']';
    while (*at != '\0' && *at != ']') {
        const char end[] = {at[1], ']', '\0'};
        const char *class = *at == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL
                                ? strstr(at + 2, end)
                                : NULL;

        at = class != NULL ? class + 2 : at + 1;
    }
    return at;
}

/* How many copies of the last item the C library makes for this. */
static uint64_t copies_of(const char *at)
{
    uint64_t least, most;
    char *end;

    if (*at != '{')
        return *at == '+' ? 2 : 1;
    least = strtoul(at + 1, &end, 10);
    most = *end == ',' ? strtoul(end + 1, NULL, 10) : least;
    least = least < RE_DUP_MAX ? least + 1 : RE_DUP_MAX;
    return most < least ? least : most < RE_DUP_MAX ? most : RE_DUP_MAX;
}

/* The brace that ends an interval; of one that the C library refuses, any of its characters. */
static const char *interval_end(const char *at)
{
    const char *end = at + 1 + strspn(at + 1, "0123456789,");

    return *end == '}' ? end : at;
}

/* The C library copies what is repeated, and copies of copies take any amount of memory. */
static bool regex_is_small(const char *text)
{
    struct regex_size groups[REGEX_DEPTH] = {{0}}, *g = groups;

    for (const char *at = text; *at != '\0'; at++) {
        uint64_t more = 1;

        if (strchr("*+?{", *at) != NULL) {
            more = g->last * (copies_of(at) - 1);
            g->last += more;
            if (*at == '{')
                at = interval_end(at);
        } else if (*at == '(') {
            if (++g == groups + REGEX_DEPTH)
                return false;
            *g = (struct regex_size){0};
            continue;
        } else {
            if (*at == ')' && g > groups)
                more += (g--)->all;
            else if (*at == '[')
                at = skip_bracket(at);
            else if (*at == '\\' && at[1] != '\0')
                at++;
            g->last = more;
        }
        g->all += more;
        if (g->all > REGEX_SIZE)
            return false;
        if (*at == '\0')
            break;
    }
    return true;
}

/* --- the operation --------------------------------------------------------------------------- */

/* False: printed why not. */
static bool search_decode(struct files_search *s, char **args, regex_t *regex)
{
    const char *expression = files_option(args + 1, "regex");
    int64_t limit_max;
    char why[200];
    int rc;

    s->name = files_option(args + 1, "name");
    s->files = files_flag(args + 1, "files", false);
    s->text = files_option(args + 1, "text");
    s->any_case = !files_flag(args + 1, "case", true);
    s->spans = files_flag(args + 1, "spans", false);
    s->ignores = files_flag(args + 1, "ignore", false);
    limit_max = s->text == NULL && expression == NULL ? LIMIT_FILE_LIST : LIMIT_SEARCH_RESULTS;
    if (!files_number(args + 1, "limit", 1, limit_max, &s->left) ||
        !files_number(args + 1, "depth", 1, LIMIT_FILE_DEPTH, &s->depth)) {
        files_fail(EINVAL, args[0]);
        return false;
    }
    if (expression == NULL)
        return true;
    if (!regex_is_small(expression)) {
        files_refuse(EINVAL, expression, "the expression repeats too much");
        return false;
    }
    rc = regcomp(regex, expression,
                 REG_EXTENDED | (s->spans ? 0 : REG_NOSUB) | (s->any_case ? REG_ICASE : 0));
    if (rc != 0) {
        regerror(rc, regex, why, sizeof why);
        files_refuse(EINVAL, expression, why);
        return false;
    }
    s->regex = regex;
    return true;
}

int files_search(char **args)
{
    static regex_t regex;
    struct files_search s = {
        .walk = {.visit = search_visit, .denied = search_denied, .sorted = true},
        .depth = LIMIT_FILE_DEPTH,
        .left = LIMIT_SEARCH_RESULTS,
        .until_ms = clock_mono_ms() + LIMIT_SEARCH_MS,
    };
    const char *base = strrchr(args[0], '/');
    struct stat st;
    int rc;

    alarm(LIMIT_SEARCH_MS / 1000 * 2); /* one expression on one line may take for ever */
    if (!search_decode(&s, args, &regex))
        return 1;
    if (stat(args[0], &st) < 0)
        return files_fail(errno, args[0]);
    if (s.ignores)
        files_ignore_begin(&s.ignore, args[0]);
    rc = S_ISDIR(st.st_mode) ? files_walk(&s.walk, args[0]) : 0;
    if (!S_ISDIR(st.st_mode))
        search_file(&s, AT_FDCWD, args[0], base != NULL ? args[0] : "", &st);
    if (s.regex != NULL)
        regfree(s.regex);
    files_ignore_fini(&s.ignore);
    if (rc < 0 && rc != -ECANCELED)
        return files_fail(-rc, args[0]);
    if (s.truncated)
        puts("{\"truncated\":true}");
    return 0;
}
