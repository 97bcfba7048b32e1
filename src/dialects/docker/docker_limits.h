/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_LIMITS_H
#define HF_DIALECTS_DOCKER_DOCKER_LIMITS_H

#define LIMIT_DOCKER_CREATED 64 /* containers created but not started */
#define LIMIT_DOCKER_EXECS 256  /* execs not started or failed; the oldest is dropped */
#define LIMIT_DOCKER_CREATED_BYTES (16 << 20) /* of all their requests together */
#define LIMIT_DOCKER_STREAMS 64               /* attached to one container before its start */
#define LIMIT_DOCKER_NOTE_BYTES (32 * 1024) /* of them, the newest are saved for the next worker */
#define LIMIT_DOCKER_NOTE_ITEM_BYTES (8 * 1024)
#define LIMIT_DOCKER_ENV_NOTE_BYTES (16 * 1024) /* variables, for the next worker */
#define LIMIT_DOCKER_FILTER_VALUES 64           /* in one filter of a list */
#define LIMIT_DOCKER_TOP 4096                   /* processes in one response */
#define LIMIT_DOCKER_STATS 32  /* statistics in progress; each reads /proc every second */
#define LIMIT_DOCKER_EVENTS 64 /* streams of events; each is a cursor into the engine's log */
#define DOCKER_STATS_MS 1000   /* between two samples, as in Docker */
#define DOCKER_SIZE_MS 200     /* wait for an old client's size before the start */
#define DOCKER_STOP_MS 10000   /* between TERM and KILL, by default */

#define DOCKER_PADDED_HEAD_BYTES 8192 /* the buffer of Python's http.client */
/* Output begins this long after the client's kernel has the head, for clients that lose what comes
 * with it, */
#define DOCKER_GATE_MS 50
/* and no later than this. */
#define DOCKER_GATE_MAX_MS 2000

#endif
