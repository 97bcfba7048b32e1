/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vercel_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VERCEL_LIMITS_H
#define HF_DIALECTS_VERCEL_VERCEL_LIMITS_H

#define LIMIT_VERCEL_SANDBOXES 64               /* names; then stopped ones are dropped */
#define LIMIT_VERCEL_NAME_BYTES 128             /* of one */
#define LIMIT_VERCEL_ENV_BYTES (8 * 1024)       /* of a sandbox's own variables */
#define LIMIT_VERCEL_TAGS_BYTES (4 * 1024)      /* of a sandbox: names and values */
#define LIMIT_VERCEL_COMMANDS 1000              /* in the list of a session's commands */
#define LIMIT_VERCEL_HISTORY_BYTES (32LL << 20) /* of a command: its logs are requested later */
#define LIMIT_VERCEL_LINE_BYTES (32 * 1024)     /* of output in one line, before escaping */
#define VERCEL_TIMEOUT_MS 300000                /* default of a session */
#define VERCEL_TOKEN_MS 60000                   /* to open the WebSocket of a terminal */
#define VERCEL_START_MS 30000                   /* and to send the start message there */
#define VERCEL_HEAD_MS 20000 /* a longer wait sends its response headers by then */

#endif
