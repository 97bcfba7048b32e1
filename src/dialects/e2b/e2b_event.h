/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_event.h - the events of a process, as messages of a stream
 *
 * Start, data, keep-alive and end, in either codec and with their envelope. Written by hand instead
 * of by table, because all output passes through here. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_EVENT_H
#define HF_DIALECTS_E2B_E2B_EVENT_H

#include "dialects/e2b/e2b_rpc.h"
#include "engine/process.h"

void e2b_event_start(struct buf *out, enum rpc_codec codec, pid_t pid);
void e2b_event_keepalive(struct buf *out, enum rpc_codec codec);
void e2b_event_end(struct buf *out, enum rpc_codec codec, const struct exit_record *x);
/*
 * JSON: the whole event. Protobuf: what precedes the bytes, which the caller sends unchanged. True:
 * the bytes must follow.
 */
bool e2b_event_data(struct buf *out, enum rpc_codec codec, const struct slice *s);

/* The end as the original reports it. `error` is "" on success. */
struct end_text {
    int exit_code; /* -1: by a signal */
    bool exited;
    char status[64], error[96];
};
void e2b_end_text(const struct exit_record *x, struct end_text *out);

#endif
