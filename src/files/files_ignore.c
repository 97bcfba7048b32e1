/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_ignore.c - which files a project's .gitignore and .ignore leave out. Layer: files.
 */
#include "files/files_ignore.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

struct files_ignore_rule {
    char *text;      /* owned */
    size_t base_len; /* of the directory that it belongs to */
    bool negated, directory, anchored;
};

/* A directory whose rules apply: a beginning of `path`. */
struct files_ignore_level {
    size_t path_len, first_rule;
    bool repository;
};

/* --- rules ----------------------------------------------------------------------------------- */

static bool segment_fits(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
    char p[FILES_IGNORE_RULE_BYTES + 1], s[NAME_MAX + 1];

    if (pattern_len >= sizeof p || name_len >= sizeof s)
        return false;
    memcpy(p, pattern, pattern_len);
    p[pattern_len] = '\0';
    memcpy(s, name, name_len);
    s[name_len] = '\0';
    return fnmatch(p, s, 0) == 0;
}

/* Segment by segment; "**" stands for any number of them, and only the last one is tried again. */
static bool path_fits(const char *p, const char *s)
{
    const char *again_p = NULL, *again_s = NULL;

    for (;;) {
        size_t n = strcspn(p, "/"), m = strcspn(s, "/");

        if (n == 2 && p[0] == '*' && p[1] == '*') {
            if (p[2] == '\0')
                return *s != '\0';
            p += 3;
            again_p = p;
            again_s = s;
            continue;
        }
        if (segment_fits(p, n, s, m)) {
            if (p[n] == '\0' && s[m] == '\0')
                return true;
            if (p[n] == '/' && s[m] == '/') {
                p += n + 1;
                s += m + 1;
                continue;
            }
        }
        if (again_p == NULL)
            return false;
        again_s += strcspn(again_s, "/");
        if (*again_s++ == '\0')
            return false;
        p = again_p;
        s = again_s;
    }
}

static bool rule_fits(const struct files_ignore_rule *r, const char *relative)
{
    const char *base = strrchr(relative, '/');

    if (r->anchored)
        return path_fits(r->text, relative);
    base = base != NULL ? base + 1 : relative;
    return segment_fits(r->text, strlen(r->text), base, strlen(base));
}

bool files_ignore_matches(const struct files_ignore *g, const char *path, bool is_directory)
{
    size_t len = strlen(path);

    for (size_t i = g->rule_count; i-- > 0;) {
        const struct files_ignore_rule *r = &g->rules[i];

        if (r->base_len < len && (is_directory || !r->directory) &&
            rule_fits(r, path + r->base_len + 1))
            return !r->negated;
    }
    return false;
}

/* Spaces at the end do not count, unless they are escaped. */
static size_t line_end(const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    while (len > 0 && line[len - 1] == ' ' && (len < 2 || line[len - 2] != '\\'))
        len--;
    return len;
}

static void add_line(struct files_ignore *g, size_t base_len, const char *line, size_t len)
{
    struct files_ignore_rule r = {.base_len = base_len};

    len = line_end(line, len);
    if (len == 0 || len > FILES_IGNORE_RULE_BYTES || line[0] == '#' ||
        memchr(line, '\0', len) != NULL || g->rule_count == FILES_IGNORE_RULES)
        return;
    if ((r.negated = line[0] == '!')) {
        line++;
        len--;
    }
    if (len > 0 && line[len - 1] == '/') {
        r.directory = true;
        len--;
    }
    r.anchored = memchr(line, '/', len) != NULL;
    if (len > 0 && line[0] == '/') {
        line++;
        len--;
    }
    if (len == 0)
        return;
    if (g->rule_count == g->rule_room) {
        g->rule_room = g->rule_room * 2 + 64;
        g->rules = hf_xrealloc(g->rules, g->rule_room * sizeof *g->rules);
    }
    r.text = hf_xalloc(len + 1);
    memcpy(r.text, line, len);
    r.text[len] = '\0';
    g->rules[g->rule_count++] = r;
}

static void add_text(struct files_ignore *g, size_t base_len, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;

        add_line(g, base_len, text, n);
        n += end != NULL;
        text += n;
        len -= n;
    }
}

/* The length of a directory's path in front of the slash of what is in it. */
static size_t base_len_of(const char *directory)
{
    size_t len = strlen(directory);

    while (len > 0 && directory[len - 1] == '/')
        len--;
    return len;
}

void files_ignore_add(struct files_ignore *g, const char *directory, const char *text, size_t len)
{
    add_text(g, base_len_of(directory), text, len);
}

/* --- directories ----------------------------------------------------------------------------- */

static void add_file(struct files_ignore *g, const char *directory, const char *name)
{
    static char block[FILES_IGNORE_FILE_BYTES];
    char path[PATH_MAX + NAME_MAX];
    hf_autoclose int fd = -1;
    size_t have = 0;
    struct stat st;
    ssize_t n = 1;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    while (n > 0 && have < sizeof block) {
        n = hf_read(fd, block + have, sizeof block - have);
        have += n > 0 ? (size_t)n : 0;
    }
    add_text(g, strlen(directory), block, have);
}

static bool has_git(const char *directory)
{
    char path[PATH_MAX + NAME_MAX];

    snprintf(path, sizeof path, "%s/.git", directory);
    return access(path, F_OK) == 0;
}

/* Rules apply below this directory, in which the deepest so far is. */
static void enter(struct files_ignore *g, const char *directory, size_t len)
{
    bool repository = g->level_count > 0 && g->levels[g->level_count - 1].repository;
    const char *path;

    buf_clear(&g->path);
    buf_put(&g->path, directory, len);
    path = buf_cstr(&g->path);
    if (g->level_count == g->level_room) {
        g->level_room = g->level_room * 2 + 16;
        g->levels = hf_xrealloc(g->levels, g->level_room * sizeof *g->levels);
    }
    repository = repository || has_git(path);
    g->levels[g->level_count++] = (struct files_ignore_level){
        .path_len = len, .first_rule = g->rule_count, .repository = repository};
    if (repository)
        add_file(g, path, ".gitignore");
    add_file(g, path, ".ignore");
}

static void leave(struct files_ignore *g)
{
    const struct files_ignore_level *l = &g->levels[--g->level_count];

    while (g->rule_count > l->first_rule)
        free(g->rules[--g->rule_count].text);
}

bool files_ignore_visit(struct files_ignore *g, const char *path, bool is_directory)
{
    while (g->level_count > 0) {
        size_t len = g->levels[g->level_count - 1].path_len;

        if (strncmp(path, buf_data(&g->path), len) == 0 && path[len] == '/')
            break;
        leave(g);
    }
    if (g->everything || files_ignore_matches(g, path, is_directory))
        return true;
    if (is_directory)
        enter(g, path, strlen(path));
    return false;
}

/* The length of the path of the repository that contains the directory; that of itself if none
 * does. */
static size_t top_of(const char *directory, size_t len)
{
    char path[PATH_MAX];
    size_t n = len;

    for (;;) {
        memcpy(path, directory, n);
        path[n] = '\0';
        if (has_git(path))
            return n;
        if (n == 0)
            return len;
        while (directory[n - 1] != '/')
            n--;
        n--;
    }
}

void files_ignore_begin(struct files_ignore *g, const char *directory)
{
    size_t len = base_len_of(directory), n;
    char path[PATH_MAX];

    if (len >= sizeof path)
        return;
    for (n = top_of(directory, len); n <= len; n += 1 + strcspn(directory + n + 1, "/")) {
        memcpy(path, directory, n);
        path[n] = '\0';
        g->everything = g->everything || files_ignore_matches(g, path, true);
        enter(g, path, n);
        if (n == len)
            break;
    }
}

void files_ignore_fini(struct files_ignore *g)
{
    while (g->level_count > 0)
        leave(g);
    while (g->rule_count > 0)
        free(g->rules[--g->rule_count].text);
    free(g->levels);
    free(g->rules);
    buf_fini(&g->path);
}
