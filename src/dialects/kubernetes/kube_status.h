/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_status.h - how a command ended, as reported on the error channel. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_STATUS_H
#define HF_DIALECTS_KUBERNETES_KUBE_STATUS_H

#include <stdbool.h>

#include "base/buf.h"
#include "engine/process.h"

struct kube_status {
    bool success;
    int exit_code; /* -1: unknown, or nothing ran */
    char message[400];
};

void kube_status_exit(struct kube_status *s, const struct exit_record *x);
void kube_status_failure(struct kube_status *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The Status object; for old protocols only the message, which is empty for success. */
void kube_status_write(struct buf *out, const struct kube_status *s, bool object);

#endif
