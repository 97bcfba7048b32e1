/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_LIMITS_H
#define HF_DIALECTS_FLY_FLY_LIMITS_H

#define LIMIT_FLY_OUTPUT_BYTES (8LL << 20) /* of each stream in the response to an exec */
#define FLY_TIMEOUT_MS 60000               /* default of an exec */
#define FLY_GRACE_MS 250       /* between TERM and KILL at that deadline, when 408 is due */
#define FLY_WAIT_MAX_S 60      /* of a wait for a state, as in the original */
#define FLY_LINGER_MS 10000    /* a process without a terminal may run this long unattended */
#define FLY_KILL_MS 10000      /* from a kill's signal to SIGKILL */
#define FLY_KEEPALIVE_MS 20000 /* clients time out after 45 s without a message */
#define LIMIT_FLY_REPLAY_BYTES (256 * 1024) /* history of a terminal, sent on attach */
#define LIMIT_FLY_LIST 1000                 /* processes in one response */
/* For an exec over HTTP, whose frames are chunks that must not be split or joined on their way: */
#define FLY_BURST_BYTES (48 * 1024) /* fits one read of 64 KiB, with the headers */
#define FLY_CHUNK_BYTES 8191 /* one packet of the loopback, one record of TLS, half an unpacking */
#define FLY_UNPACK_BYTES 16384 /* Node's zlib outputs this many at once */
#define FLY_CHUNK_GAP_MS 50
#define LIMIT_FLY_WATCH_PATHS 16         /* in one subscription; each takes a process */
#define LIMIT_FLY_HELD_BYTES (64 * 1024) /* output that waits to be sent */

#endif
