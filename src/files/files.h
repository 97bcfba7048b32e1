/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - the operations that `holdfast file-op` carries out with the rights of a sandbox user
 *
 * Each runs in a short-lived process of that user, so the kernel decides what is allowed; see
 * dialects/common/file_op.h for the other side. Paths are absolute. A function gets its fixed
 * arguments, then options of the form NAME=VALUE, then NULL, and returns the exit status. Results
 * are lines of JSON on standard output, before the bytes of a file if there are any; a failure is
 * "ERRNO sentence" on standard error. Layer: files; includes base and engine/users.h only.
 */
#ifndef HF_FILES_FILES_H
#define HF_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/json.h"

int files_stat(char **args); /* PATH [follow=1] */
/* PATH DEPTH [limit=N follow=1 real=1 single=1 plain=1 within=DIRECTORY] */
int files_list(char **args);
/* PATH [from= last= length= if_range= gzip=1 within=DIRECTORY] */
int files_read(char **args);
/* PATH [mode= parents=0 parent=1 append=1 exclusive=1 gzip=1 if_match= set=ATTRIBUTES] */
int files_write(char **args);
int files_mkdir(char **args);       /* PATH [mode= exclusive=1 parents=0] */
int files_move(char **args);        /* FROM TO [overwrite=0 replace=1 parents=0 into=1] */
int files_copy(char **args);        /* FROM TO [recursive=1 overwrite=0 replace_link=1] */
int files_remove(char **args);      /* PATH [recursive=0 strict=1 directories=0] */
int files_permissions(char **args); /* PATH [mode= owner= group= recursive=1] */
int files_pack(char **args);        /* PATH [gzip=1 name= links=1] */
/* DIR [gzip=1|auto follow=1 parents=0 whole=1 show=N] */
int files_unpack(char **args);
int files_compose(char **args); /* TO PARTS: a list in JSON; they are removed */
/* PATH [name= text= regex= case=0 limit= depth= files=1 ignore=1 spans=1] */
int files_search(char **args);
int files_find(char **args);    /* PATH QUERY [kind=file|directory limit=N] */
int files_replace(char **args); /* PATH FROM TO */

/*
 * Options of all of them: uid= and gid=, to whom what is written and what is created belongs if it
 * is not the process's user; attributes=PREFIX, whose extended attributes are reported, and which
 * `write` replaces by those of `set`, an object in JSON. False: malformed.
 */
bool files_settings(char **options);
/* How well a path fits a query; 0: not at all. */
int64_t files_find_score(const char *path, const char *query);

/* --- shared by them -------------------------------------------------------------------------- */

/* Print "ERRNO PATH: sentence", with the system's sentence or with this one; both return 1. */
int files_fail(int errnum, const char *path);
int files_refuse(int errnum, const char *path, const char *why);

/* The value of an option; NULL: not given. */
const char *files_option(char **options, const char *name);
bool files_flag(char **options, const char *name, bool absent);
/* False: given, but not a number in the range. */
bool files_number(char **options, const char *name, int64_t min, int64_t max, int64_t *out);
/* Permissions in octal; -1 if not given. False: not octal, or more than 07777. */
bool files_mode(char **options, int *mode);

/* Opens an existing file or directory. With `within` it is below that directory, whatever links are
 * replaced meanwhile; otherwise -EXDEV. A descriptor or -errno. */
int files_open_within(const char *path, char **options, int flags);

/* A relative path is relative to the home directory of the process's user. 0 or -errno. */
int files_absolute(const char *path, char *out, size_t size);

/* Writes the members that describe a file. `st` is of the path itself, a link or not. */
void files_put_entry(struct json_out *o, int dir, const char *name, const char *path,
                     const struct stat *st);
/* Changes when the file does. */
#define FILES_TAG_BYTES 64
void files_tag(const struct stat *st, char out[FILES_TAG_BYTES]);
/* Prints the entry as a line; returns the exit status. */
int files_show(const char *path);
int files_show_written(const char *path, bool created); /* the same, with `created` */
int files_show_at(int dir, const char *name, const char *path, const struct stat *st);
/* The same of what a link leads to, as if it were there. False: it leads to nothing. */
bool files_show_followed(int dir, const char *name, const char *path);
void files_put_line(struct buf *line); /* prints and frees it */

/* Gives it to the owner of the settings, if there is one. 0 or -errno. */
int files_give_directory(int fd); /* which may be opened with O_PATH */
int files_give_open(int fd);
/* Replaces them by that owner, if there is one. */
void files_owner(uint32_t *uid, uint32_t *gid);
void files_put_attributes(struct json_out *o, const char *path);
int files_set_attributes(int fd, char **options); /* 0 or -errno */

/* Creates parent directories, too. -EEXIST only if it existed already. 0 or -errno. */
int files_make_dirs(const char *path);
int files_make_parent(const char *path);
int files_make_last_parent(const char *path); /* only the last of them */

/* Copies up to `length` bytes (-1: to the end). 0 or -errno; *moved: how many. */
int files_copy_bytes(int from, int to, int64_t length, int64_t *moved);

#endif
