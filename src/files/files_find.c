/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_find.c - `find`: the files and directories whose paths fit a few characters best
 *
 * Each word of the query must be in the path below the directory: as it is, or letter by letter in
 * this order. Hidden files, links, and what the project's ignore files name are left out. Results
 * have `path` and `kind` only, the best first; a line {"truncated":true} says that not everything
 * was searched. Layer: files.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "files/files.h"
#include "files/files_ignore.h"
#include "files/files_walk.h"

enum { IN_NAME = 4000, WHOLE_NAME = 2000, BEGIN_OF_NAME = 1000, IN_PATH = 2000, SCATTERED = 1000 };

struct find_hit {
    char *path; /* owned */
    int64_t score;
    bool directory;
};

struct files_finding {
    struct files_walk walk;
    struct files_ignore ignore;
    const char *query;
    bool files, directories, truncated;
    struct find_hit *hits; /* the best first */
    size_t count, limit;
    int64_t entries;
    uint64_t until_ms;
};

/* --- how well it fits ------------------------------------------------------------------------ */

/* Letter by letter; the fewer others are in between, the better. 0: not at all. */
static int64_t scattered_score(const char *path, const char *word, size_t len)
{
    int64_t score = SCATTERED;
    bool begun = false;
    size_t i = 0;

    for (; *path != '\0' && i < len; path++) {
        if (tolower((unsigned char)*path) == tolower((unsigned char)word[i])) {
            begun = true;
            i++;
        } else if (begun && score > 1) {
            score--;
        }
    }
    return i == len ? score : 0;
}

static int64_t word_score(const char *path, const char *word, size_t len)
{
    const char *base = strrchr(path, '/'), *at;
    char text[LIMIT_SEARCH_PATTERN_BYTES + 1];

    base = base != NULL ? base + 1 : path;
    memcpy(text, word, len);
    text[len] = '\0';
    at = strcasestr(base, text);
    if (at != NULL)
        return IN_NAME + (at == base ? BEGIN_OF_NAME : 0) +
               (at == base && base[len] == '\0' ? WHOLE_NAME : 0);
    if (strcasestr(path, text) != NULL)
        return IN_PATH;
    return scattered_score(path, word, len);
}

int64_t files_find_score(const char *path, const char *query)
{
    int64_t all = 1;

    for (;;) {
        size_t len;
        int64_t one;

        query += strspn(query, " \t\r\n");
        len = strcspn(query, " \t\r\n");
        if (len == 0)
            return all;
        one = len <= LIMIT_SEARCH_PATTERN_BYTES ? word_score(path, query, len) : 0;
        if (one == 0)
            return 0;
        all += one;
        query += len;
    }
}

/* --- the best of them ------------------------------------------------------------------------ */

static bool is_better(const struct find_hit *a, const struct find_hit *b)
{
    size_t a_len = strlen(a->path), b_len = strlen(b->path);

    if (a->score != b->score)
        return a->score > b->score;
    return a_len != b_len ? a_len < b_len : strcmp(a->path, b->path) < 0;
}

static void keep(struct files_finding *f, const char *path, bool directory, int64_t score)
{
    struct find_hit hit = {.path = (char *)(uintptr_t)path, .score = score, .directory = directory};
    size_t at = f->count;

    if (at == f->limit && !is_better(&hit, &f->hits[at - 1]))
        return;
    if (at == f->limit)
        free(f->hits[--at].path);
    hit.path = hf_xstrdup(path);
    for (; at > 0 && is_better(&hit, &f->hits[at - 1]); at--)
        f->hits[at] = f->hits[at - 1];
    f->hits[at] = hit;
    if (f->count < f->limit)
        f->count++;
}

static enum files_walk_next find_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    struct files_finding *f = (struct files_finding *)w;
    bool directory = S_ISDIR(e->st.st_mode);
    const char *below = e->path + e->root_len;
    int64_t score;

    if (++f->entries > LIMIT_TREE_ENTRIES || clock_mono_ms() > f->until_ms) {
        f->truncated = true;
        return WALK_STOP;
    }
    if (e->name[0] == '.' || (!directory && !S_ISREG(e->st.st_mode)) ||
        files_ignore_visit(&f->ignore, e->path, directory))
        return WALK_SKIP;
    below += strspn(below, "/");
    score = (directory ? f->directories : f->files) ? files_find_score(below, f->query) : 0;
    if (score > 0)
        keep(f, e->path, directory, score);
    return e->depth < LIMIT_FILE_DEPTH ? WALK_ON : WALK_SKIP;
}

static enum files_walk_next find_denied(struct files_walk *w, const struct files_walk_entry *e,
                                        int err)
{
    (void)w, (void)e, (void)err;
    return WALK_ON;
}

static void show(const struct files_finding *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct buf line = {0};
        struct json_out o;

        json_out_init(&o, &line);
        json_open(&o, '{');
        json_kstr(&o, "path", f->hits[i].path);
        json_kstr(&o, "kind", f->hits[i].directory ? "directory" : "file");
        json_close(&o, '}');
        files_put_line(&line);
    }
    if (f->truncated)
        puts("{\"truncated\":true}");
}

int files_find(char **args)
{
    const char *kind = files_option(args + 2, "kind");
    struct files_finding f = {
        .walk = {.visit = find_visit, .denied = find_denied},
        .query = args[1],
        .files = kind == NULL || strcmp(kind, "file") == 0,
        .directories = kind == NULL || strcmp(kind, "directory") == 0,
        .until_ms = clock_mono_ms() + LIMIT_SEARCH_MS,
    };
    int64_t limit = LIMIT_SEARCH_RESULTS;
    int rc;

    if (!files_number(args + 2, "limit", 1, LIMIT_SEARCH_RESULTS, &limit))
        return files_fail(EINVAL, args[0]);
    alarm(LIMIT_SEARCH_MS / 1000 * 2); /* one pattern on one name may take for ever */
    f.limit = (size_t)limit;
    f.hits = hf_xalloc(f.limit * sizeof *f.hits);
    files_ignore_begin(&f.ignore, args[0]);
    rc = files_walk(&f.walk, args[0]);
    if (rc == 0 || rc == -ECANCELED)
        show(&f);
    while (f.count > 0)
        free(f.hits[--f.count].path);
    free(f.hits);
    files_ignore_fini(&f.ignore);
    return rc == 0 || rc == -ECANCELED ? 0 : files_fail(-rc, args[0]);
}
