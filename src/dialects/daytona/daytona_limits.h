/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daytona_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_DAYTONA_DAYTONA_LIMITS_H
#define HF_DIALECTS_DAYTONA_DAYTONA_LIMITS_H

#define LIMIT_DT_PTY_ID_BYTES 120          /* of a PTY; prefixed with "pty-" it is a tag */
#define LIMIT_DT_SIZE 1000                 /* rows and columns of a PTY, as in the original */
#define LIMIT_DT_RESULT_BYTES (16LL << 20) /* of one command's output in its response */
#define LIMIT_DT_LOG_BYTES (8LL << 20)     /* ring of a session's shell: the logs of its commands */
#define DT_FRAME_BYTES (16 * 1024)         /* of a log; the client fails at 128 KiB */
#define LIMIT_DT_INPUT_BYTES (1 << 20)     /* one text frame to a PTY: a paste is one frame */
#define LIMIT_DT_FILES 1000                /* in one form, or one request for several */
#define LIMIT_DT_ERRORS_BYTES (256 * 1024) /* about such files; the rest is not reported */
#define LIMIT_DT_TICKETS 256               /* open ones; the oldest is dropped */
#define DT_TICKET_MS 60000                 /* clients use a ticket at once */
#define DT_DELETE_GRACE_MS 5000 /* between TERM and KILL for a session, as in the original */
#define DT_PING_MS 25000        /* of Socket.IO, as its server's default */
#define DT_HELLO_MS 10000       /* for a Socket.IO client to authenticate */

#endif
