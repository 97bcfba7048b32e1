/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ignore.c - the first line is a path, the rest is a .gitignore
 *
 * A rule for everything that comes last decides alone, and one for nothing decides nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/files.h"
#include "files/files_ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void try_last(struct files_ignore *g, const char *path)
{
    bool before = files_ignore_matches(g, path, false);

    files_ignore_add(g, "/top", "# *\n\n/\n", 7);
    check(files_ignore_matches(g, path, false) == before);
    if (strchr(path, '*') != NULL || g->rule_count == FILES_IGNORE_RULES)
        return;
    files_ignore_add(g, "/top", "*", 1);
    check(files_ignore_matches(g, path, false));
    files_ignore_add(g, "/top/", "!**/*\n", 6);
    check(!files_ignore_matches(g, path, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t len = end != NULL ? (size_t)(end - data) : size;
    struct files_ignore g = {0};
    char path[256];

    if (len == 0 || len > 200 || size > 4096 || memchr(data, '\0', len) != NULL)
        return -1;
    memcpy(path, "/top/", 5);
    memcpy(path + 5, data, len);
    path[len + 5] = '\0';
    if (strstr(path, "//") != NULL || path[len + 4] == '/')
        return -1;
    files_ignore_add(&g, "/top", (const char *)data + len, size - len);
    files_ignore_matches(&g, path, true);
    try_last(&g, path);
    check(files_find_score(path + 1, path + 5) > 0);
    files_ignore_fini(&g);
    return 0;
}
