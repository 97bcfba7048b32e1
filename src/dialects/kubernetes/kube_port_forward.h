/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward.h - one connection to a port of the sandbox
 *
 * The worker may open no sockets, so a process of this binary does (cli/port_relay.c): it is
 * paced by its reader as every process is. Who carries it (a WebSocket, SPDY) embeds it. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_PORT_FORWARD_H
#define HF_DIALECTS_KUBERNETES_KUBE_PORT_FORWARD_H

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_process_stream.h"

#define FORWARD_ERROR_BYTES 256

/* In each of them the forward may be ended by forward_fini(). */
struct forward_ops {
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, const char *bytes, size_t len);
    void (*room)(void *arg); /* for input, again */
    /* The port's side has ended. why: "" if it did so by itself. */
    void (*ended)(void *arg, const char *why);
};

struct forward {
    struct kube_stream tap;
    const struct forward_ops *ops;
    void *arg;
    char why[FORWARD_ERROR_BYTES];
};

/* `peer` must live as long. `ended` may come at once. */
void forward_begin(struct forward *f, struct kube *k, uint16_t port, const char *peer,
                   const struct forward_ops *ops, void *arg);
void forward_fini(struct forward *f);
size_t forward_type(struct forward *f, const char *bytes, size_t len); /* as kube_stream_type() */
void forward_type_eof(struct forward *f);
void forward_pump(struct forward *f);

/* A port in words; 0: it is none. */
uint16_t forward_port(const char *text);

/* kube_port_forward_ws.c, kube_port_forward_spdy.c */
void forward_ws(struct http_request *rq);
void forward_spdy(struct http_request *rq);

#endif
