/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_gzip.h - gzip as a stream, one block at a time, whatever the input. Layer: files.
 */
#ifndef HF_FILES_FILES_GZIP_H
#define HF_FILES_FILES_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

/* Accepts bytes; 0, or what ends the operation. */
typedef int files_sink(void *arg, const char *bytes, size_t len);

/* Unpacks what it reads, to the end of the input. 0; the sink's error; -errno; -EBADMSG: not gzip,
 * or damaged; -ENODATA: cut short. Several members in a row are one stream; other bytes after the
 * end are ignored. */
int files_gunzip(int fd, files_sink *sink, void *arg);
/* The same for input that is gzip or not compressed, whichever its first bytes say. */
int files_gunzip_or_pour(int fd, files_sink *sink, void *arg);
/* The same for input that is not compressed. */
int files_pour(int fd, files_sink *sink, void *arg);

/* Packs, if `on`; else passes on what it gets. */
struct files_gzip {
    bool on;
    files_sink *sink;
    void *arg;
    z_stream z;
};
int files_gzip_init(struct files_gzip *g, bool on, files_sink *sink, void *arg);
int files_gzip_put(struct files_gzip *g, const char *bytes, size_t len);
int files_gzip_end(struct files_gzip *g); /* writes what is left, and frees */

#endif
