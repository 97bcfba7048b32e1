/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_ignore.h - which files a project's .gitignore and .ignore leave out
 *
 * The rules of a directory apply below it; of those that match, the last one decides, and that of
 * the deepest directory is last. .gitignore counts inside a Git repository only, .ignore
 * everywhere and after it, as in ripgrep. The exclude files of Git itself are not read. Paths are
 * absolute, and visited in the order of a walk. Layer: files.
 */
#ifndef HF_FILES_FILES_IGNORE_H
#define HF_FILES_FILES_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define FILES_IGNORE_FILE_BYTES (64 * 1024) /* the rest of a longer file is not read */
#define FILES_IGNORE_RULE_BYTES 1024        /* longer lines are no rules */
#define FILES_IGNORE_RULES 10000            /* at the same time */

struct files_ignore {
    struct buf path; /* of the deepest directory; "" is the root */
    struct files_ignore_level *levels;
    struct files_ignore_rule *rules;
    size_t level_count, level_room, rule_count, rule_room;
    bool everything; /* the directory itself is left out */
};

/* Zeroed before. Reads the rules of the directory and of the repository that it is in. */
void files_ignore_begin(struct files_ignore *g, const char *directory);
void files_ignore_fini(struct files_ignore *g);
/* Is this left out? If it is a directory that is not, its own rules apply from here on. */
bool files_ignore_visit(struct files_ignore *g, const char *path, bool is_directory);

/* The rules of a text, for what is below `directory`. */
void files_ignore_add(struct files_ignore *g, const char *directory, const char *text, size_t len);
bool files_ignore_matches(const struct files_ignore *g, const char *path, bool is_directory);

#endif
