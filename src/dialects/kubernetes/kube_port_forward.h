/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward.h - one connection to a port of the sandbox
 *
 * The worker may not open sockets, so a process of this binary does (cli/port_relay.c). Its reader
 * paces it, as with every process. The transport (a WebSocket or SPDY) embeds the forward. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_PORT_FORWARD_H
#define HF_DIALECTS_KUBERNETES_KUBE_PORT_FORWARD_H

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_process_stream.h"

#define FORWARD_ERROR_BYTES 256

/* Each callback may call forward_fini(). */
struct forward_ops {
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, const char *bytes, size_t len);
    void (*room)(void *arg); /* there is room for input again */
    /* The port's side has closed. why: "" if it closed normally. */
    void (*ended)(void *arg, const char *why);
};

struct forward {
    struct kube_stream tap;
    const struct forward_ops *ops;
    void *arg;
    char why[FORWARD_ERROR_BYTES];
};

/* `peer` must outlive the forward. `ended` may be called before this returns. */
void forward_begin(struct forward *f, struct kube *k, uint16_t port, const char *peer,
                   const struct forward_ops *ops, void *arg);
void forward_fini(struct forward *f);
size_t forward_type(struct forward *f, const char *bytes, size_t len); /* as kube_stream_type() */
void forward_type_eof(struct forward *f);
void forward_pump(struct forward *f);

/* Parses a port number; 0: malformed. */
uint16_t forward_port(const char *text);

/* kube_port_forward_ws.c, kube_port_forward_spdy.c */
void forward_ws(struct http_request *rq);
void forward_spdy(struct http_request *rq);

#endif
