/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_GITPOD_GITPOD_LIMITS_H
#define HF_DIALECTS_GITPOD_GITPOD_LIMITS_H

#define LIMIT_GITPOD_MESSAGE_BYTES (4 * 1024 * 1024) /* one message, as gRPC clients accept */
#define LIMIT_GITPOD_LIST_BYTES (3 * 1024 * 1024)    /* of terminals in one response, below that */
#define GITPOD_DATA_BYTES (16 * 1024)                /* in one message of output */
#define GITPOD_TITLE_MS 200 /* between two probes of a terminal's foreground process */
#define GITPOD_GRACE_MS 500 /* of a shutdown, before the tree is killed */

#endif
