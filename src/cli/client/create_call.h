/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_call.h - starts a process by POST /v1/processes, with retries
 *
 * Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CREATE_CALL_H
#define HF_CLI_CLIENT_CREATE_CALL_H

#include "cli/client/client_request.h"

/*
 * As fetch_call(). An idempotency key makes it safe to retry when a worker died during the request.
 * *reached: at least one request may have arrived, so the process may be running even on failure.
 */
int create_call(const struct client_call *call, const struct buf *body, struct fetch_reply *r,
                struct hf_error *err, bool *reached);

#endif
