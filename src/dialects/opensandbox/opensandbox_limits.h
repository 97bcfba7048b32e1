/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opensandbox_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OPENSANDBOX_LIMITS_H
#define HF_DIALECTS_OPENSANDBOX_OPENSANDBOX_LIMITS_H

/* Of a line in one event, in JSON: older Go clients accept 4 MiB with all of the event. */
#define LIMIT_OSB_TEXT_BYTES ((4 << 20) - 4096)
#define LIMIT_OSB_LIST 100               /* commands in one response */
#define LIMIT_OSB_LOG_BYTES (8LL << 20)  /* kept of a background command's output, for its logs */
#define LIMIT_OSB_ENVS_BYTES (64 * 1024) /* of the file of variables, read for each start */
#define LIMIT_OSB_ENVS 1000              /* variables in it */
#define LIMIT_OSB_METADATA_BYTES (64 * 1024) /* of a file in a form */
#define LIMIT_OSB_BATCH 1000                 /* file operations of one request */
#define OSB_PING_MS 3000       /* as execd; clients drop a silent stream after 300 s */
#define OSB_PARTIAL_MS 1000    /* an incomplete line is sent after this silence */
#define OSB_KILL_GRACE_MS 3000 /* of an interrupt, as in execd */
#define OSB_READ_ONLY_MAX 5    /* a viewer that types this often is disconnected */

#endif
