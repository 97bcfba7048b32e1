/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_names.h - how the gateway treats a header, by its name
 *
 * Layer: gateway.
 */
#ifndef HF_GATEWAY_HEAD_NAMES_H
#define HF_GATEWAY_HEAD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum head_kind {
    HEAD_PLAIN,     /* forwarded unchanged */
    HEAD_HOP,       /* dropped: hop-by-hop, or framing that the gateway writes itself */
    HEAD_SECRET,    /* forwarded only if the operator allows it */
    HEAD_FORWARDED, /* identifies the client: only a trusted proxy's are accepted */
    HEAD_HANDSHAKE, /* of a WebSocket: forwarded with an upgrade only */
    HEAD_ORIGIN,
    HEAD_FETCH_SITE, /* the browser's relation between page and target */
    HEAD_REFERER,
    HEAD_CORS,
    HEAD_LOCATION,
    HEAD_SET_COOKIE,
    HEAD_REQUEST_ID,
    HEAD_PROTOCOL, /* offered subprotocols: one may be a token */
};

/* '_' counts as '-': a CGI upstream cannot distinguish them. */
enum head_kind head_kind_of(const char *name);
bool head_value_is_clean(const char *value);
bool head_name_is_token(const char *name);

void head_put_length(struct buf *out, uint64_t length); /* "Content-Length: 5\r\n" */

#endif
