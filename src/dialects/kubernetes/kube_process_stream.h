/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_process_stream.h - a process with its output and its input, for connections of more than one kind
 *
 * What console.h is for WebSockets, without the WebSocket: exec and attach come by WebSocket and by
 * SPDY, and forwarded ports by both as well. Embedded in the connection. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H
#define HF_DIALECTS_KUBERNETES_KUBE_PROCESS_STREAM_H

#include "base/buf.h"
#include "engine/engine.h"
#include "engine/stream/viewer.h"

struct tap_birth;

/* In each of them the tap may be ended by kube_stream_fini(). */
struct tap_ops {
    bool (*ready)(void *arg); /* is there room for output? kube_stream_pump() when there is again */
    void (*bytes)(void *arg, enum stream stream, const char *bytes, size_t len);
    uint64_t (*sent)(void *arg); /* as viewer.h has them; both NULL: not known */
    uint64_t (*confirmed)(void *arg);
    void (*gap)(void *arg, uint64_t bytes);                /* so many are gone */
    void (*room)(void *arg);                               /* for input, again */
    void (*ended)(void *arg, const struct exit_record *x); /* after the last byte */
    void (*failed)(void *arg, const struct hf_error *err); /* not started, not attached */
};

struct kube_stream {
    const struct tap_ops *ops;
    void *arg;
    struct tap_birth *birth; /* it is being started */
    struct process *process; /* referenced; NULL: not yet, or never */
    struct viewer *viewer;
    struct input_waiter waiter;
    struct buf held;
    size_t hold_max;
    bool eof, may_type;
    bool hold_on; /* input is held also while the process is there: others use the connection too */
    bool draw;    /* a terminal that may be shown by its screen */
};

/* So much input is held that the process has no room for, or that came before it. */
void kube_stream_init(struct kube_stream *t, const struct tap_ops *ops, void *arg, bool may_type,
                      size_t hold_max);
/* What is being started when the tap goes is ended: nobody has seen it. */
void kube_stream_fini(struct kube_stream *t);
/* Either `failed` comes (at once, if the engine refuses) or, at some time, `ended`. The name in `v`
 * must live as long as the tap. */
void kube_stream_spawn(struct kube_stream *t, struct engine *e, struct list *pending,
                       const struct spawn_spec *spec, const struct viewer_options *v);
/* False: err, and nothing was begun. */
bool kube_stream_attach(struct kube_stream *t, struct process *p, const struct viewer_options *v,
                        struct hf_error *err);

/* How many were taken; fewer: `room` comes later. What cannot be typed is passed over. */
size_t kube_stream_type(struct kube_stream *t, const char *bytes, size_t len);
/* All of them; false: wait for `room` before the next ones. */
bool kube_stream_type_all(struct kube_stream *t, const char *bytes, size_t len);
void kube_stream_type_eof(struct kube_stream *t); /* behind what was typed */
void kube_stream_resize(struct kube_stream *t, int64_t rows, int64_t cols);
void kube_stream_pump(struct kube_stream *t);

#endif
