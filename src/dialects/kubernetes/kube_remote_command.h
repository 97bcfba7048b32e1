/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command.h - exec and attach over any transport
 *
 * The decoded request, the process with its output and input, and the Status at the end. The
 * transport is a WebSocket (kube_remote_command_ws.c) or SPDY (kube_remote_command_spdy.c). It
 * embeds the remote and frees it. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_REMOTE_COMMAND_H
#define HF_DIALECTS_KUBERNETES_KUBE_REMOTE_COMMAND_H

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kube_process_stream.h"
#include "dialects/kubernetes/kube_status.h"

struct remote;

struct remote_ops {
    bool (*ready)(struct remote *r);
    void (*send)(struct remote *r, enum channel channel, const char *bytes, size_t len);
    uint64_t (*sent)(struct remote *r); /* as in viewer.h */
    uint64_t (*confirmed)(struct remote *r);
    void (*room)(struct remote *r); /* there is room for input again */
    void (*ping)(struct remote *r); /* call remote_heard() on the pong */
    /* Sends the Status and closes in order; the transport then frees the remote. `draining`: the
     * daemon shuts down while the process keeps running. */
    void (*end)(struct remote *r, const struct kube_status *s, bool draining);
    void (*free)(struct remote *r); /* the dialect is freed */
};

/* The decoded request; holds no pointers into the http_request. */
struct remote_request {
    bool exec, in, out, err, tty;
    char **argv; /* of exec; NULL-terminated */
    size_t argc;
    struct process *process; /* of attach; referenced */
    enum role role;
    char *peer;
};

struct remote {
    struct pending pending;
    struct kube *kube;
    const struct remote_ops *ops;
    struct remote_request request;
    struct kube_stream tap;
    struct timer *size; /* while we wait for a terminal's first size */
    int64_t rows, cols;
    uint64_t lost; /* bytes */
    bool begun, ended;
};

/* Decodes the query; false: replied, and *request owns nothing. */
bool remote_request_decode(struct http_request *rq, bool exec, struct remote_request *request);
void remote_request_fini(struct remote_request *request);

/* Takes ownership of the contents of *request. */
void remote_init(struct remote *r, struct kube *k, const struct remote_ops *ops,
                 struct remote_request *request);
void remote_fini(struct remote *r);
/* The transport is ready: start or attach. `end` may be called before this returns. */
void remote_begin(struct remote *r);

size_t remote_type(struct remote *r, const char *bytes, size_t len); /* as kube_stream_type() */
bool remote_type_all(struct remote *r, const char *bytes, size_t len);
void remote_type_eof(struct remote *r);
void remote_sizes(struct remote *r, const char *text, size_t len);
/* The client is responsive: if it has a size, the size is already in transit. */
void remote_heard(struct remote *r);
void remote_pump(struct remote *r);
/* The client has disconnected. in_order: a program that reads its input to the end then sees end of
 * file. */
void remote_leave(struct remote *r, bool in_order);

void remote_ws(struct http_request *rq, struct remote_request *request);
void remote_spdy(struct http_request *rq, struct remote_request *request);

#endif
