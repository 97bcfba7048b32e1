/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBERNETES_LIMITS_H
#define HF_DIALECTS_KUBERNETES_KUBERNETES_LIMITS_H

#define LIMIT_KUBE_LISTED_ARGS 64           /* of one process in the description of the pod */
#define LIMIT_KUBE_COMMAND_BYTES 4096       /* the same for all its words together */
#define LIMIT_KUBE_SMALL_BYTES 1024         /* a message that is not input: a size */
#define LIMIT_KUBE_TEXT_BYTES (1024 * 1024) /* one message in base64 */
#define LIMIT_KUBE_HELD_BYTES (64 * 1024)   /* of input for which the process has no room */
#define LIMIT_KUBE_FORWARD_HELD_BYTES (1024 * 1024) /* the same for a forwarded connection */
#define LIMIT_KUBE_FRAME_BYTES (16 * 1024)   /* one control frame of SPDY; data is streamed */
#define LIMIT_KUBE_HEADERS_BYTES (64 * 1024) /* one block of SPDY headers, inflated */
#define LIMIT_KUBE_HEADERS 32                /* in one block */
#define LIMIT_KUBE_STREAMS 512        /* of one SPDY connection: two per forwarded connection */
#define LIMIT_KUBE_PORTS 64           /* in one portforward over WebSocket */
#define KUBE_REPLY_MS 1000            /* wait this long for a pong, */
#define KUBE_GATE_MS 20               /* delay output this long for clients that send one, */
#define KUBE_SIZE_MS 300              /* and start their terminal without a size after this */
#define KUBE_STREAMS_MS 30000         /* for all streams of one exec, as in the original */
#define KUBE_LINGER_MS 1000           /* for the client to close an SPDY connection */
#define KUBE_REPLAY_BYTES (64 * 1024) /* of output on attach, where there is no screen */
/* Watches: in progress, their longest time, between two events of one, and between bookmarks. */
#define LIMIT_KUBE_WATCHES 64
#define LIMIT_KUBE_WATCH_S 1800
#define KUBE_WATCH_MS 100
#define KUBE_BOOKMARK_MS 60000
/* `kubectl top`: requests in progress, containers in a reply, and the time between two samples. */
#define LIMIT_KUBE_METRICS 16
#define LIMIT_KUBE_MEASURED LIMIT_PROCESSES
#define KUBE_METRICS_MS 1000

#endif
