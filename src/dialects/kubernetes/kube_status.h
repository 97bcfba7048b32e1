/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_status.h - how a command ended, as the error channel says it. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_STATUS_H
#define HF_DIALECTS_KUBERNETES_KUBE_STATUS_H

#include <stdbool.h>

#include "base/buf.h"
#include "engine/process.h"

struct kube_status {
    bool success;
    int exit_code; /* -1: it is not known, or nothing ran */
    char message[400];
};

void kube_status_exit(struct kube_status *s, const struct exit_record *x);
void kube_status_failure(struct kube_status *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The Status object, or for old protocols the message alone: then a success is empty. */
void kube_status_write(struct buf *out, const struct kube_status *s, bool object);

#endif
