/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_own.h - what the two directions of `holdfast cp` share
 *
 * The functions print errors and return an exit code. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_COPY_OWN_H
#define HF_CLI_CLIENT_COPY_OWN_H

#include "cli/client/command.h"
#include "cli/client/copy_progress.h"

struct copy_args {
    const char *user;
};

struct copying {
    const struct client_call *call;
    struct copy_progress progress;
    struct buf target; /* of copy_target() */
};

struct copy_stat {
    bool exists, is_directory; /* of what a link leads to */
    unsigned mode;             /* permissions */
};

int copy_upload(struct copying *c, const char *from, const char *to);
int copy_download(struct copying *c, const char *from, const char *to);

int copy_stat_remote(const struct copying *c, const char *path, struct copy_stat *out);
/* Appends the path of a request about a file of the sandbox. */
void copy_put_route(const struct copying *c, struct buf *out, const char *route, const char *path);
/* Where the copy goes: below an existing directory, under its own name. Valid until the next call.
 */
const char *copy_target(struct copying *c, const char *to, bool is_directory, const char *from);
int copy_fail(const struct copying *c, int rc, const char *path); /* rc: -errno */

#define COPY_BLOCK_BYTES (128 * 1024)
#define COPY_SKIPPED "%lld entries were left out: special files, or not readable"

#endif
