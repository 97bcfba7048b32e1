/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloudflare_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CLOUDFLARE_LIMITS_H
#define HF_DIALECTS_CLOUDFLARE_CLOUDFLARE_LIMITS_H

#include "base/limits.h"

#define LIMIT_CF_OUTPUT_BYTES (16 * 1024 * 1024) /* of each stream in an execute, of a log */
#define LIMIT_CF_FILE_BYTES (16 * 1024 * 1024)   /* of a file in JSON; others are streamed */
#define LIMIT_CF_TEXT_BYTES (32 * 1024 * 1024)   /* of its characters, escaped */
#define LIMIT_CF_WRITE_BYTES (24 * 1024 * 1024)  /* of a body: such a file in base64 */
#define LIMIT_CF_GLOB_BYTES 128                  /* of a pattern of a watch */
#define LIMIT_CF_GLOBS 32                        /* in one list of them */
#define LIMIT_CF_CALLS 64                        /* requests in progress in one multiplex */
#define LIMIT_CF_CALL_ID_BYTES 128               /* of their ids; the client's have 25 */
#define LIMIT_CF_FRAME_BYTES (LIMIT_JSON_BODY_BYTES + 64 * 1024) /* one of its messages */

#endif
