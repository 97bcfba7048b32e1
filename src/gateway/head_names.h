/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_names.h - what a header's name means to the gateway. Layer: gateway.
 */
#ifndef HF_GATEWAY_HEAD_NAMES_H
#define HF_GATEWAY_HEAD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum head_kind {
    HEAD_PLAIN,     /* goes on as it came */
    HEAD_HOP,       /* ends here: of one hop only, or framing that is written anew */
    HEAD_SECRET,    /* goes on only if the operator says so */
    HEAD_FORWARDED, /* who the client is: only ours are believed */
    HEAD_HANDSHAKE, /* of a WebSocket: goes on with an upgrade only */
    HEAD_ORIGIN,
    HEAD_FETCH_SITE, /* a browser's word for how near the page is */
    HEAD_REFERER,
    HEAD_CORS,
    HEAD_LOCATION,
    HEAD_SET_COOKIE,
    HEAD_REQUEST_ID,
    HEAD_PROTOCOL, /* sub-protocols that are offered: one may be a token */
};

/* '_' counts as '-': an upstream that speaks CGI cannot tell them apart. */
enum head_kind head_kind_of(const char *name);
bool head_value_is_clean(const char *value);
bool head_name_is_token(const char *name);

void head_put_length(struct buf *out, uint64_t length); /* "Content-Length: 5\r\n" */

#endif
