/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - a tar archive as it arrives: files and directories, in ustar with pax names
 *
 * Takes bytes, gives one event at a time, and holds one block, the current path and a bounded pax
 * header. What is neither file nor directory is an error, and so is every path that would
 * lead out of where the archive is unpacked. Pure. Layer: base.
 */
#ifndef HF_BASE_TAR_H
#define HF_BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512
#define TAR_PATH_MAX 4096          /* with its NUL, as the kernel's */
#define TAR_PAX_BYTES (16 * 1024)  /* one extended header: a path, and some that do not matter */
#define TAR_FILE_BYTES (1LL << 40) /* one file */

enum tar_event {
    TAR_MORE,  /* all is consumed */
    TAR_ENTRY, /* a file or a directory begins: path, is_dir, mode, size */
    TAR_DATA,  /* bytes of the file */
    TAR_END,   /* it is complete (not for directories) */
    TAR_DONE,  /* the archive's own end; what follows means nothing */
    TAR_ERROR, /* `wrong` says why; feed no more */
};

struct tar_in {
    int state;
    char block[TAR_BLOCK];
    size_t have;      /* of the block, or of the pax header */
    uint64_t left;    /* of the file or the pax header */
    unsigned padding; /* behind it, to the next block */
    unsigned zeros;   /* blocks of nothing in a row */
    char pax[TAR_PAX_BYTES];
    bool named, sized; /* by a pax header: these count for the next entry */
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
