/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_child.h - a child process that packs or unpacks a directory of this machine
 *
 * It runs an operation of files/, which works on standard streams, and ignores the signals of the
 * terminal: when its pipe ends, it leaves no half file and exits. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_COPY_CHILD_H
#define HF_CLI_CLIENT_COPY_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

struct copy_child {
    pid_t pid;
    int fd;             /* the archive: read it from the packer, write it to the unpacker */
    int result, errors; /* the line that the unpacker prints; the sentences of either */
};

/* 0 or -errno. */
int copy_child_pack(struct copy_child *c, const char *dir);
int copy_child_unpack(struct copy_child *c, const char *dir);
/* Ends the archive and waits. True: all went well. `said`: the result, or the error's sentence;
 * `skipped`: what the packer left out. */
bool copy_child_end(struct copy_child *c, struct buf *said, int64_t *skipped);

#endif
