/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_out.h - writes the headers of a tar archive: ustar, with pax records where that is too small
 *
 * The caller writes the file's bytes after its header, then tar_out_padding(). Pure. Layer: base.
 */
#ifndef HF_BASE_TAR_OUT_H
#define HF_BASE_TAR_OUT_H

#include "base/buf.h"
#include "base/tar.h"

struct tar_out_entry {
    const char *path;   /* relative; a directory's ends in "/" or not */
    const char *link;   /* what a link leads to; NULL: none */
    enum tar_kind kind; /* file, directory or symbolic link */
    unsigned mode, uid, gid;
    uint64_t size;
    int64_t mtime_s;
    const char *owner, *group; /* names; NULL: unknown */
};

void tar_out_header(struct buf *out, const struct tar_out_entry *e);
size_t tar_out_padding(uint64_t size); /* zeros after so many bytes */
void tar_out_end(struct buf *out);

#endif
