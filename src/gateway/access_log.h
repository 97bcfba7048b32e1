/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_log.h - records a request when it has ended: a line of the access log, metrics
 *
 * One JSON object per line. It has no header, no query and no part of a body. Layer: gateway.
 */
#ifndef HF_GATEWAY_ACCESS_LOG_H
#define HF_GATEWAY_ACCESS_LOG_H

#include "base/error.h"
#include "gateway/gateway_shared.h"
#include "gateway/route_target.h"

struct gateway;

struct access_record {
    uint64_t started_ns;
    uint64_t bytes_up, bytes_down; /* of bodies, or through a tunnel */
    char *path;                    /* as sent, without query; NULL: no log */
    const char *method;
    char id[PLACE_ID_BYTES + 1];
    char request_id[24];
    uint16_t port;
    uint16_t status;   /* 0: the client disconnected before there was one */
    enum hf_code code; /* why the gateway refused; HF_OK */
    enum shared_route route;
};

void access_record_finish(struct gateway *g, struct access_record *r, const char *peer,
                          const char *upstream);

#endif
