/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller.h - what a caller may be to a process that it looks at. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_CALLER_H
#define HF_DIALECTS_COMMON_CALLER_H

#include "transport/http.h"

/* Who only watches, and who came by a link, is never waited for: viewer_options.guest. */
static inline bool caller_is_guest(const struct http_request *rq)
{
    return http_role(rq) < ROLE_TYPE || http_grant(rq) != NULL;
}

#endif
