/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - reads a tar archive as a stream: ustar, with the long names of pax and GNU
 *
 * Consumes bytes, returns one event at a time, and buffers one block, the current path and a
 * bounded extended header. A path that would lead outside the target directory is an error; what
 * a link leads to is not checked. Pure. Layer: base.
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
    TAR_ENTRY, /* an entry starts: path, kind, mode, size */
    TAR_DATA,  /* bytes of a file */
    TAR_END,   /* the file is complete; only for files */
    TAR_DONE,  /* the end of the archive; what follows is ignored */
    TAR_ERROR, /* `wrong` is the reason; stop feeding */
};

enum tar_kind { TAR_FILE, TAR_DIR, TAR_SYMLINK, TAR_HARDLINK, TAR_SPECIAL };

struct tar_in {
    int state;
    char block[TAR_BLOCK];
    size_t have;      /* of the block, or of the extended header */
    uint64_t left;    /* of the file or the extended header */
    unsigned padding; /* after it, up to the next block */
    unsigned zeros;   /* consecutive blocks of zeros */
    char pax[TAR_PAX_BYTES];
    char long_type; /* of the extended header that is read: x, L or K */
    /* By an extended header: applies to the next entry. */
    bool named, linked, sized, has_uid, has_gid;
    uint64_t pax_size, pax_uid, pax_gid;

    char path[TAR_PATH_MAX]; /* relative, without "." and ".."; "" is the directory itself */
    char link[TAR_PATH_MAX]; /* what a link leads to, as it is in the archive */
    enum tar_kind kind;
    unsigned mode;     /* permissions, set-id and sticky bits */
    uint32_t uid, gid; /* of the owner */
    uint64_t size;     /* of a file; else 0 */
    int64_t mtime_s;
    const char *data; /* TAR_DATA: borrowed */
    size_t data_len;
    const char *wrong; /* TAR_ERROR: static */
};

void tar_init(struct tar_in *t);
enum tar_event tar_feed(struct tar_in *t, const char *bytes, size_t len, size_t *used);

#endif
