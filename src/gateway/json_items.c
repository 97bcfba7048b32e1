/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_items.c - scans strings and brackets of JSON, nothing else
 *
 * Layer: gateway.
 */
#include "gateway/json_items.h"

#include <string.h>

#define ITEM_DEPTH 3 /* { "items": [ { */

static bool frame_put(struct json_items *s, const char *bytes, size_t len)
{
    if (s->frame.len + len > s->frame_max || buf_reserve(&s->frame, len) < 0)
        return false;
    buf_put(&s->frame, bytes, len);
    return true;
}

static void item_put(struct json_items *s, const char *bytes, size_t len)
{
    if (s->too_large)
        return;
    if (s->item.len + len > s->item_max || buf_reserve(&s->item, len) < 0) {
        s->too_large = true;
        buf_fini(&s->item);
        return;
    }
    buf_put(&s->item, bytes, len);
}

static bool item_end(struct json_items *s)
{
    if (s->too_large)
        s->skipped++;
    else
        s->on_item(s->arg, buf_data(&s->item), s->item.len);
    s->in_item = s->too_large = false;
    buf_clear(&s->item);
    return frame_put(s, "0", 1);
}

/* Depth counts brackets of both kinds; only whether level 2 is an array must be known. */
static void open_bracket(struct json_items *s, char c)
{
    s->depth++;
    if (s->depth == ITEM_DEPTH - 1)
        s->level2_is_array = c == '[';
    if (s->depth == ITEM_DEPTH && c == '{' && s->level2_is_array)
        s->in_item = true;
}

static bool structural(struct json_items *s, char c)
{
    bool was_item = s->in_item;

    if (c == '"')
        s->in_string = true;
    else if (c == '{' || c == '[')
        open_bracket(s, c);
    else if ((c == '}' || c == ']') && s->depth > 0)
        s->depth--;
    if (s->in_item) {
        item_put(s, &c, 1);
        return !was_item || s->depth >= ITEM_DEPTH || item_end(s);
    }
    return frame_put(s, &c, 1);
}

/* How many of the next bytes have no meaning for the structure. */
static size_t plain_run(const struct json_items *s, const char *bytes, size_t len)
{
    size_t n = 0;

    if (s->escaped)
        return len > 0 ? 1 : 0;
    if (s->in_string) {
        while (n < len && bytes[n] != '"' && bytes[n] != '\\')
            n++;
        return n;
    }
    while (n < len && strchr("\"{}[]", bytes[n]) == NULL)
        n++;
    return n;
}

static bool plain_put(struct json_items *s, const char *bytes, size_t len)
{
    if (!s->in_item)
        return frame_put(s, bytes, len);
    item_put(s, bytes, len);
    return true;
}

/* In a string: finds its end or the first half of an escape. */
static bool string_byte(struct json_items *s, char c)
{
    s->escaped = c == '\\';
    s->in_string = c != '"';
    return plain_put(s, &c, 1);
}

bool json_items_feed(struct json_items *s, const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t n = plain_run(s, bytes + at, len - at);

        if (n > 0) {
            s->escaped = false;
            if (!plain_put(s, bytes + at, n))
                return false;
        } else {
            n = 1;
            if (!(s->in_string ? string_byte(s, bytes[at]) : structural(s, bytes[at])))
                return false;
        }
        at += n;
    }
    return true;
}

const char *json_items_frame(struct json_items *s, size_t *len)
{
    *len = s->frame.len;
    return s->frame.len > 0 ? buf_data(&s->frame) : "";
}

void json_items_fini(struct json_items *s)
{
    buf_fini(&s->item);
    buf_fini(&s->frame);
    *s = (struct json_items){
        .item_max = s->item_max, .frame_max = s->frame_max, .on_item = s->on_item, .arg = s->arg};
}
