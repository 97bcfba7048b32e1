/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_event.h - what happens to a process, as messages of a stream
 *
 * Start, data, keep-alive and end, in either codec and with the envelope around it. Written by
 * hand and not by table, because output goes through here. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_EVENT_H
#define HF_DIALECTS_E2B_E2B_EVENT_H

#include "dialects/e2b/e2b_rpc.h"
#include "engine/process.h"

void e2b_event_start(struct buf *out, enum rpc_codec codec, pid_t pid);
void e2b_event_keepalive(struct buf *out, enum rpc_codec codec);
void e2b_event_end(struct buf *out, enum rpc_codec codec, const struct exit_record *x);
/* JSON: the whole event. Protobuf: what stands before the bytes, which are to follow as they
 * are. True: they are to follow. */
bool e2b_event_data(struct buf *out, enum rpc_codec codec, const struct slice *s);

/* The end as the original tells it. `error` is "" when all went well. */
struct end_text {
    int exit_code; /* -1: by a signal */
    bool exited;
    char status[64], error[96];
};
void e2b_end_text(const struct exit_record *x, struct end_text *out);

#endif
