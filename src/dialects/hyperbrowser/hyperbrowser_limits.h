/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyperbrowser_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPERBROWSER_LIMITS_H
#define HF_DIALECTS_HYPERBROWSER_HYPERBROWSER_LIMITS_H

#define LIMIT_HYPER_HISTORY_BYTES (16LL << 20)     /* of a process: its result contains all of it */
#define LIMIT_HYPER_REPLAY_BYTES (8LL << 20)       /* how far back from_seq may reach */
#define LIMIT_HYPER_OUTPUT_BYTES (1024 * 1024)     /* in the status of a terminal */
#define LIMIT_HYPER_FRAME_BYTES (1024 * 1024)      /* of JSON, as other bodies */
#define LIMIT_HYPER_LIST 1000                      /* processes in one response */
#define LIMIT_HYPER_FILE_BYTES (16 * 1024 * 1024)  /* of a file in JSON; others are downloaded */
#define LIMIT_HYPER_WRITE_BYTES (24 * 1024 * 1024) /* of a body: such a file in base64 */
#define LIMIT_HYPER_FILES 1000                     /* files in one write */

#endif
