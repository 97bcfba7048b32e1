/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_process_stream.h - a process with its output and input, independent of the transport
 *
 * The counterpart of console.h without the WebSocket: exec, attach and port forwarding run over
 * WebSocket and over SPDY. The connection embeds it. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H
#define HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H

#include "base/buf.h"
#include "engine/engine.h"
#include "engine/stream/viewer.h"

struct tap_birth;

/* Each callback may call kube_stream_fini(). */
struct tap_ops {
    /* is there room for output? If not, call kube_stream_pump() when there is */
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, enum stream stream, const char *bytes, size_t len);
    uint64_t (*sent)(void *arg); /* as in viewer.h; both NULL: not known */
    uint64_t (*confirmed)(void *arg);
    void (*gap)(void *arg, uint64_t bytes);                /* that many bytes are lost */
    void (*room)(void *arg);                               /* there is room for input again */
    void (*ended)(void *arg, const struct exit_record *x); /* after the last byte */
    void (*failed)(void *arg, const struct hf_error *err); /* could not start or attach */
};

struct kube_stream {
    const struct tap_ops *ops;
    void *arg;
    struct tap_birth *birth; /* while the process is being started */
    struct process *process; /* referenced; NULL: not yet, or never */
    struct viewer *viewer;
    struct input_waiter waiter;
    struct buf held;
    size_t hold_max;
    bool eof, may_type;
    bool hold_on; /* queue input even while the process exists: others share the connection */
    bool draw;    /* a terminal that may be redrawn from its screen */
};

/* The limit on input queued because the process has no room for it, or does not exist yet. */
void kube_stream_init(struct kube_stream *t, const struct tap_ops *ops, void *arg, bool may_type,
                      size_t hold_max);
/* Closing the stream terminates a process that is still being started: no client has seen it. */
void kube_stream_fini(struct kube_stream *t);
/* Either `failed` is called (before this returns, if the engine refuses) or, eventually, `ended`.
 * The name in `v` must outlive the stream. */
void kube_stream_spawn(struct kube_stream *t, struct engine *e, struct list *pending,
                       const struct spawn_spec *spec, const struct viewer_options *v);
/* False: sets err; nothing was started. */
bool kube_stream_attach(struct kube_stream *t, struct process *p, const struct viewer_options *v,
                        struct hf_error *err);

/* Returns how many bytes were consumed; if fewer, `room` follows. Unwritable input is discarded. */
size_t kube_stream_type(struct kube_stream *t, const char *bytes, size_t len);
/* Consumes all bytes; false: wait for `room` before sending more. */
bool kube_stream_type_all(struct kube_stream *t, const char *bytes, size_t len);
void kube_stream_type_eof(struct kube_stream *t); /* after the input queued so far */
void kube_stream_resize(struct kube_stream *t, int64_t rows, int64_t cols);
void kube_stream_pump(struct kube_stream *t);

#endif
