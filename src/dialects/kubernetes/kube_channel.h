/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_channel.h - the channels of exec, attach and portforward inside WebSocket messages
 *
 * A message is a byte that names the channel, then data. In the base64 protocols it is text: a
 * digit, then base64. Pure: bytes in, calls out. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_CHANNEL_H
#define HF_DIALECTS_KUBERNETES_KUBE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "dialects/kubernetes/kubernetes_limits.h"

enum channel {
    CHANNEL_STDIN = 0,
    CHANNEL_STDOUT = 1,
    CHANNEL_STDERR = 2,
    CHANNEL_ERROR = 3,
    CHANNEL_RESIZE = 4,
    CHANNEL_CLOSE = 255, /* v5: the next byte names the channel to close */
};

/* --- protocol negotiation ------------------------------------------------------------------- */

struct protocol {
    const char *name; /* "": none was offered */
    bool base64;
    /* channel 3 carries the Status object; otherwise plain text, and only for failures */
    bool status;
    bool close; /* channel 255 */
    bool spdy;  /* streams of SPDY instead of channels */
};

/* The first protocol of a comma-separated offer that we know; NULL: none of those offered. */
const struct protocol *kube_protocol_pick(const char *offered);
/* Is this name an item of a comma-separated offer? */
bool kube_protocol_is_offered(const char *offered, const char *name);
/* "base64url.bearer.authorization.k8s.io.TOKEN" in the offer, beside another protocol; false:
 * absent. */
bool kube_protocol_token(const char *offered, struct buf *token);

/* --- messages from the client ----------------------------------------------------------------- */

struct channel_ops {
    /* Input. Returns how many bytes were consumed; the caller feeds the rest again. */
    size_t (*input)(void *arg, uint8_t channel, const char *bytes, size_t len);
    /* A message that is delivered whole. */
    void (*small)(void *arg, uint8_t channel, const char *bytes, size_t len);
    bool (*is_small)(void *arg, uint8_t channel);
};

struct channel_in { /* {0}: between two messages */
    bool begun, too_long;
    uint8_t channel;
    size_t len;
    char small[LIMIT_KUBE_SMALL_BYTES];
};

/* A fragment of a binary message, as delivered by ws.h. Returns how many bytes were consumed.
 * Whole-message channels skip messages that are too long. */
size_t channel_feed(struct channel_in *in, const char *bytes, size_t len, bool last,
                    const struct channel_ops *ops, void *arg);
/* A base64 message; false: malformed. `data` is its decoded content. */
bool channel_decode(const char *text, size_t len, uint8_t *channel, struct buf *data);
/* Encodes a message and appends it to out. */
void channel_encode(struct buf *out, uint8_t channel, const void *bytes, size_t len);

/* --- sizes ----------------------------------------------------------------------------------- */

typedef void channel_size_fn(void *arg, int64_t rows, int64_t cols);
/* {"Width":97,"Height":31}, names in any case, several in a row; stops at the first malformed
 * one. */
void channel_sizes(const char *text, size_t len, channel_size_fn *fn, void *arg);

#endif
