/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_entry.h - what a file operation reports, one line of JSON each. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_ENTRY_H
#define HF_DIALECTS_COMMON_FILE_ENTRY_H

#include "base/json.h"

/* Texts are NULL and numbers -1 where the operation does not report them. */
struct file_entry {
    json_t *tree; /* what the texts borrow from */
    const char *name, *path;
    const char *path_base64; /* the path's bytes, if they are not UTF-8 */
    const char *type;        /* of what a link leads to: file, dir, other; dangling: symlink */
    const char *kind;        /* of the path itself: file, directory, symlink, fifo, ... */
    const char *owner, *group, *target, *tag;
    const char *leads_to; /* of a dangling link, in the place of `target` */
    int64_t size, mode, uid, gid, modified_ms, created_ms;
    bool created; /* by this operation */
    /* read: */
    int64_t from, length;
    bool partial, beyond;
    /* copy, unpack, search, replace: */
    int64_t entries, bytes, skipped, line, replaced;
    const char *text;
    int64_t offset; /* of a line in its file */
    json_t *spans;  /* [{start, end, text}], borrowed: where a line matches; NULL: not reported */
    bool truncated, ignored;
    json_t *attributes; /* an object of texts, borrowed; NULL: none */
};

/* False: not an object, or a member has another type. */
bool file_entry_of(struct file_entry *e, json_t *tree);                     /* takes a reference */
bool file_entry_decode(struct file_entry *e, const char *line, size_t len); /* without its end */
void file_entry_fini(struct file_entry *e);
/* Of what a link leads to. */
bool file_entry_is_directory(const struct file_entry *e);
/* A file's time can be anything; one that cannot be expressed is clamped. */
void file_entry_time(struct json_out *o, const char *key, int64_t ms);
/* As ls writes them: "drwxr-xr-x". */
#define FILE_ENTRY_LETTERS 11
void file_entry_letters(char out[FILE_ENTRY_LETTERS], char first, int64_t mode);

/* Splits what arrives into lines. */
struct file_lines {
    struct buf held; /* an unfinished line */
};
/* The next complete line, without its end, valid until the next call; NULL: none yet. *at and *len
 * move on. */
const char *file_lines_next(struct file_lines *l, const char **at, size_t *len, size_t *line_len);
void file_lines_fini(struct file_lines *l);

#endif
