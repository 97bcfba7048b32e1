/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_process_stream.h - a process with its output and input on a kube_conn
 *
 * The counterpart of console.h for exec, attach and port forwarding, whatever the framing. The
 * connection's owner embeds it. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H
#define HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H

#include "dialects/common/follow.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/kubernetes/kube_conn.h"

struct kube_stream;
struct kube_follow;

/* Each callback may call kube_stream_fini(). */
struct kube_stream_ops {
    void (*bytes)(struct kube_stream *t, enum stream stream, const char *bytes, size_t len);
    void (*gap)(struct kube_stream *t, uint64_t bytes);                /* so many are lost */
    void (*ended)(struct kube_stream *t, const struct exit_record *x); /* after the last byte */
    void (*failed)(struct kube_stream *t, const struct hf_error *err); /* to start or attach */
};

struct kube_stream {
    const struct kube_stream_ops *ops;
    struct kube_conn *conn;
    struct kube_follow *follow; /* its output; NULL: not begun, or over */
    struct stdin_feed feed;     /* has the process, and holds at most `hold_max` bytes */
    size_t hold_max;
    bool may_type;
    /* Others share the connection: queue input even while the process exists, and count output as
     * received when it is sent. */
    bool shared;
    bool draw; /* a terminal that may be redrawn from its screen */
};

/* NULL: not yet, or never. */
static inline struct process *kube_stream_process(const struct kube_stream *t)
{
    return t->feed.process;
}

void kube_stream_init(struct kube_stream *t, struct kube_conn *c, const struct kube_stream_ops *ops,
                      bool may_type, size_t hold_max);
/* Closing the stream terminates a process that is still being started: no client has seen it. */
void kube_stream_fini(struct kube_stream *t);
/* Either `failed` is called (before this returns, if the engine refuses) or, eventually, `ended`.
 * The viewer is named after the connection's peer. */
void kube_stream_spawn(struct kube_stream *t, const struct spawn_spec *spec,
                       const struct viewer_options *v);
/* False: sets err; nothing was started. */
bool kube_stream_attach(struct kube_stream *t, struct process *p, const struct viewer_options *v,
                        struct hf_error *err);

/* Input, and its end if `fin`. Returns how many bytes were consumed; if fewer, kube_conn_resume()
 * follows. Unwritable input is discarded. */
size_t kube_stream_type(struct kube_stream *t, const char *bytes, size_t len, bool fin);
void kube_stream_resize(struct kube_stream *t, int64_t rows, int64_t cols);
void kube_stream_pump(struct kube_stream *t);  /* the connection has room again */
void kube_stream_leave(struct kube_stream *t); /* its client has disconnected in order */

#endif
