/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_control.h - a control message of a WebSocket client, decoded. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SOCKET_CONNECT_CONTROL_H
#define HF_DIALECTS_NATIVE_SOCKET_CONNECT_CONTROL_H

#include "base/json.h"
#include "engine/process.h"

enum control_type {
    CONTROL_RESIZE,
    CONTROL_SIGNAL,
    CONTROL_EOF,
    CONTROL_ACK,
    CONTROL_DETACH,
    CONTROL_LEASE,
    CONTROL_PING
};

enum lease_action { LEASE_TAKE, LEASE_RELEASE, LEASE_REQUEST };

struct control {
    enum control_type type;
    int64_t rows, cols; /* CONTROL_RESIZE, checked */
    int signum;         /* CONTROL_SIGNAL */
    enum signal_target target;
    int64_t offset; /* CONTROL_ACK */
    enum lease_action action;
};

int control_decode(const char *text, size_t len, struct control *out, struct hf_error *err);

#endif
