/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command.h - exec and attach, whatever carries them
 *
 * What the client asked for, the process with its output and input, and the Status at the end. The
 * wire is a WebSocket (kube_remote_command_ws.c) or SPDY (kube_remote_command_spdy.c); it embeds the remote and frees it. Layer: dialects.
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
    uint64_t (*sent)(struct remote *r); /* as viewer.h has them */
    uint64_t (*confirmed)(struct remote *r);
    void (*room)(struct remote *r); /* input may go on */
    void (*ping)(struct remote *r); /* remote_heard() when it is answered */
    /* The last word, then the end in good order; the wire frees the remote when that is done.
     * `going`: it is the daemon that goes, not the process. */
    void (*end)(struct remote *r, const struct kube_status *s, bool going);
    void (*free)(struct remote *r); /* the dialect is freed */
};

/* What is asked, and nothing that belongs to the request. */
struct remote_ask {
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
    struct remote_ask ask;
    struct kube_stream tap;
    struct timer *size; /* a terminal's first size is awaited */
    int64_t rows, cols;
    uint64_t lost; /* bytes */
    bool begun, ended;
};

/* From the query; false: answered, and there is nothing in *ask. */
bool remote_ask_read(struct http_request *rq, bool exec, struct remote_ask *ask);
void remote_ask_fini(struct remote_ask *ask);

/* Takes what is in *ask. */
void remote_init(struct remote *r, struct kube *k, const struct remote_ops *ops,
                 struct remote_ask *ask);
void remote_fini(struct remote *r);
/* The wire is complete: start or attach. `end` may come at once. */
void remote_begin(struct remote *r);

size_t remote_type(struct remote *r, const char *bytes, size_t len); /* as kube_stream_type() */
bool remote_type_all(struct remote *r, const char *bytes, size_t len);
void remote_type_eof(struct remote *r);
void remote_sizes(struct remote *r, const char *text, size_t len);
/* The client is there: a size that it has is on its way. */
void remote_heard(struct remote *r);
void remote_pump(struct remote *r);
/* The client has gone; in good order: a program that reads its input to the end learns that it has come. */
void remote_leave(struct remote *r, bool in_order);

void remote_ws(struct http_request *rq, struct remote_ask *ask);
void remote_spdy(struct http_request *rq, struct remote_ask *ask);

#endif
