/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller.h - the rights of a caller as a viewer of a process. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_CALLER_H
#define HF_DIALECTS_COMMON_CALLER_H

#include "base/limits.h"
#include "transport/http.h"

/* A process never waits for a caller that only watches or came by a link: viewer_options.guest. */
static inline bool caller_is_guest(const struct http_request *rq)
{
    return http_role(rq) < ROLE_TYPE || http_grant(rq) != NULL;
}

/* How many of `most` calls at once this caller may use: watchers and links leave an eighth. */
static inline size_t caller_share(const struct http_request *rq, size_t most)
{
    return caller_is_guest(rq) ? most - most / LIMIT_WAITS_KEPT_PART : most;
}

#endif
