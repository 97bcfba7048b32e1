/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencode_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OPENCODE_LIMITS_H
#define HF_DIALECTS_OPENCODE_OPENCODE_LIMITS_H

#define LIMIT_OC_TICKETS 1024               /* open ones; the oldest is dropped */
#define OC_TICKET_MS 60000                  /* as reported to its clients */
#define LIMIT_OC_INPUT_BYTES (4 << 20)      /* one text frame: a paste is one frame */
#define LIMIT_OC_BUS_BYTES (2 << 20)        /* events queued for a slow reader */
#define OC_REPLAY_UNITS 2097152             /* of UTF-16, at most, on attach: as in the original */
#define OC_RING_BYTES (4 << 20)             /* enough for them at two bytes a unit */
#define OC_FRAME_UNITS 65536                /* of one text frame */
#define OC_REPLY_BYTES (1024 * 1024)        /* of a command's output in its own response */
#define OC_MESSAGE_BYTES (64 * 1024)        /* in events and in the list of messages */
#define LIMIT_OC_MESSAGES_BYTES (8LL << 20) /* of all of them in one list; the newest are kept */
#define OC_CHUNK_MS 100                     /* between two events of a command's output */
#define LIMIT_OC_FILE_BYTES (8 << 20)       /* of a file that is read into JSON */
#define OC_FIND_LINES 10                    /* of one search: as in the original */
#define OC_FIND_PATHS 10                    /* the same, unless the client says how many */
#define OC_FIND_API_PATHS 50                /* on the newer surface */
#define LIMIT_OC_FIND_PATHS 200             /* as in the original */
#define OC_HEARTBEAT_MS 10000
#define OC_PTY_GRACE_MS 2000   /* between TERM and KILL for a PTY that is removed */
#define OC_ABORT_GRACE_MS 3000 /* the same for a command */

#endif
