/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - reads a tar archive as a stream: files and directories, ustar with pax names
 *
 * Consumes bytes, returns one event at a time, and buffers one block, the current path and a
 * bounded pax header. An entry that is neither a file nor a directory is an error, and so is every
 * path that would lead outside the target directory. Pure. Layer: base.
 */
#ifndef HF_BASE_TAR_H
#define HF_BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512
#define TAR_PATH_MAX 4096          /* including NUL, like the kernel's PATH_MAX */
#define TAR_PAX_BYTES (16 * 1024)  /* one extended header: a path and some ignored records */
#define TAR_FILE_BYTES (1LL << 40) /* one file */

enum tar_event {
    TAR_MORE,  /* everything is consumed */
    TAR_ENTRY, /* a file or a directory starts: path, is_dir, mode, size */
    TAR_DATA,  /* bytes of the file */
    TAR_END,   /* the file is complete (not for directories) */
    TAR_DONE,  /* the end of the archive; what follows is ignored */
    TAR_ERROR, /* `wrong` is the reason; stop feeding */
};

struct tar_in {
    int state;
    char block[TAR_BLOCK];
    size_t have;      /* of the block, or of the pax header */
    uint64_t left;    /* of the file or the pax header */
    unsigned padding; /* after it, up to the next block */
    unsigned zeros;   /* consecutive blocks of zeros */
    char pax[TAR_PAX_BYTES];
    bool named, sized; /* by a pax header: applies to the next entry */
    uint64_t pax_size;

    char path[TAR_PATH_MAX]; /* relative, without "." and ".."; "" is the directory itself */
    bool is_dir;
    unsigned mode; /* permissions only */
    uint64_t size;
    const char *data; /* TAR_DATA: borrowed */
    size_t data_len;
    const char *wrong; /* TAR_ERROR: static */
};

void tar_init(struct tar_in *t);
enum tar_event tar_feed(struct tar_in *t, const char *bytes, size_t len, size_t *used);

#endif
