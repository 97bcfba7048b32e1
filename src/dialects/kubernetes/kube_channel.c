/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_channel.c - protocol negotiation, channel messages and terminal sizes. Layer: dialects.
 */
#include "dialects/kubernetes/kube_channel.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"

#define TOKEN_PREFIX "base64url.bearer.authorization.k8s.io."
#define SIZE_MAX_VALUE 65535 /* largest terminal dimension */

/* --- protocol negotiation ------------------------------------------------------------------- */

static const struct protocol protocols[] = {
    {.name = "v5.channel.k8s.io", .status = true, .close = true},
    {.name = "v4.channel.k8s.io", .status = true},
    {.name = "v4.base64.channel.k8s.io", .base64 = true, .status = true},
    {.name = "v3.channel.k8s.io"},
    {.name = "v2.channel.k8s.io"},
    {.name = "channel.k8s.io"},
    {.name = "base64.channel.k8s.io", .base64 = true},
    {.name = ""},
};
#define PROTOCOLS (sizeof protocols / sizeof *protocols)

/* The next item of a comma-separated list; NULL and *len 0 at its end. */
static const char *next_item(const char **list, size_t *len)
{
    const char *item;

    *list += strspn(*list, ", \t");
    item = *list;
    *len = strcspn(item, ", \t");
    *list += *len;
    return *len > 0 ? item : NULL;
}

bool kube_protocol_is_offered(const char *offered, const char *name)
{
    const char *item;
    size_t len;

    while ((item = next_item(&offered, &len)) != NULL)
        if (strlen(name) == len && memcmp(name, item, len) == 0)
            return true;
    return false;
}

static bool is_token(const char *item, size_t len)
{
    return len >= sizeof TOKEN_PREFIX - 1 &&
           memcmp(item, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1) == 0;
}

const struct protocol *kube_protocol_pick(const char *offered)
{
    const char *item;
    bool any = false;
    size_t len;

    while ((item = next_item(&offered, &len)) != NULL) {
        for (size_t i = 0; i < PROTOCOLS; i++)
            if (strlen(protocols[i].name) == len && memcmp(protocols[i].name, item, len) == 0)
                return &protocols[i];
        any = true;
    }
    return any ? NULL : &protocols[PROTOCOLS - 1];
}

bool kube_protocol_token(const char *offered, struct buf *token)
{
    const char *item, *found = NULL;
    size_t len, found_len = 0;
    bool other = false;

    while ((item = next_item(&offered, &len)) != NULL) {
        if (is_token(item, len)) {
            found = item + sizeof TOKEN_PREFIX - 1;
            found_len = len - (sizeof TOKEN_PREFIX - 1);
        } else {
            other = true;
        }
    }
    return found != NULL && other && found_len > 0 && base64_decode(token, found, found_len);
}

/* --- messages from the client ----------------------------------------------------------------- */

static void small_add(struct channel_in *in, const char *bytes, size_t len)
{
    if (len > sizeof in->small - in->len) {
        in->too_long = true;
        return;
    }
    if (len > 0)
        memcpy(in->small + in->len, bytes, len);
    in->len += len;
}

static void small_end(struct channel_in *in, const struct channel_ops *ops, void *arg)
{
    size_t len = in->len;
    bool too_long = in->too_long;

    in->begun = in->too_long = false;
    in->len = 0;
    if (!too_long)
        ops->small(arg, in->channel, in->small, len);
}

size_t channel_feed(struct channel_in *in, const char *bytes, size_t len, bool last,
                    const struct channel_ops *ops, void *arg)
{
    size_t used = 0, n;

    if (!in->begun) {
        if (len == 0)
            return 0; /* an empty message, or a fragment before the first byte */
        in->channel = (uint8_t)bytes[0];
        in->begun = true;
        used = 1;
    }
    if (ops->is_small(arg, in->channel)) {
        small_add(in, bytes + used, len - used);
        if (last)
            small_end(in, ops, arg);
        return len;
    }
    n = len > used ? ops->input(arg, in->channel, bytes + used, len - used) : 0;
    if (last && used + n == len)
        in->begun = false;
    return used + n;
}

bool channel_decode(const char *text, size_t len, uint8_t *channel, struct buf *data)
{
    if (len == 0 || text[0] < '0' || text[0] > '9')
        return false;
    *channel = (uint8_t)(text[0] - '0');
    return len == 1 || base64_decode(data, text + 1, len - 1);
}

void channel_encode(struct buf *out, uint8_t channel, const void *bytes, size_t len)
{
    buf_putc(out, (char)('0' + channel));
    if (len > 0)
        base64_encode(out, bytes, len);
}

/* --- sizes ----------------------------------------------------------------------------------- */

static int64_t size_value(const json_t *v)
{
    json_int_t n = json_integer_value(v);

    return n > 0 && n <= SIZE_MAX_VALUE ? n : 0;
}

static void size_read(json_t *object, int64_t *rows, int64_t *cols)
{
    const char *key;
    json_t *value;

    *rows = *cols = 0;
    json_object_foreach (object, key, value) {
        if (strcasecmp(key, "height") == 0)
            *rows = size_value(value);
        if (strcasecmp(key, "width") == 0)
            *cols = size_value(value);
    }
}

void channel_sizes(const char *text, size_t len, channel_size_fn *fn, void *arg)
{
    while (len > 0) {
        json_error_t where;
        json_auto_t *v = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, &where);
        int64_t rows, cols;
        size_t used = v != NULL && where.position > 0 ? (size_t)where.position : len;

        if (!json_is_object(v))
            return;
        size_read(v, &rows, &cols);
        if (rows > 0 && cols > 0)
            fn(arg, rows, cols);
        used = used < len ? used : len;
        text += used;
        len -= used;
        while (len > 0 && (*text == '\n' || *text == ' ' || *text == '\r' || *text == '\t'))
            text++, len--;
    }
}
