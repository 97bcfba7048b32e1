/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_accept.c - computes the response to a WebSocket handshake
 *
 * Layer: transport.
 */
#include "transport/ws_accept.h"

#include <string.h>
#include <strings.h>

#include "base/crypto.h"
#include "base/text.h"
#include "transport/auth.h"
#include "transport/http1.h"

#define WS_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, 1.3 */

void ws_put_accept(struct buf *out, const char *key)
{
    struct buf text = {0};
    uint8_t digest[20];

    buf_puts(&text, key);
    buf_puts(&text, WS_GUID);
    sha1(buf_data(&text), text.len, digest);
    buf_fini(&text);
    base64_encode(out, digest, sizeof digest);
}

bool ws_protocol_is_secret(const char *protocol)
{
    return strncasecmp(protocol, AUTH_SUBPROTOCOL, sizeof AUTH_SUBPROTOCOL - 1) == 0;
}

const char *ws_pick_protocol(const char *offered, char *out, size_t room)
{
    const char *item;
    size_t len;

    while ((item = http1_next_item(&offered, &len)) != NULL) {
        /* An item with a blank inside is not a name that a response may have. */
        if (len < room && strcspn(item, " \t") >= len && !ws_protocol_is_secret(item)) {
            memcpy(out, item, len);
            out[len] = '\0';
            return out;
        }
    }
    return NULL;
}
