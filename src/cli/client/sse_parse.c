/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse_parse.c - a push parser for server-sent events. Layer: cli.
 */
#include "cli/client/sse_parse.h"

#include <string.h>

#include "base/limits.h"

static void finish_event(struct sse_parse *e)
{
    if (e->has_data)
        e->on_event(e->arg, e->name.len > 0 ? buf_cstr(&e->name) : "message", buf_cstr(&e->data),
                    buf_cstr(&e->id));
    buf_clear(&e->name);
    buf_clear(&e->data);
    e->has_data = false;
}

static bool is_field(const char *line, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(line, name, len) == 0;
}

static void take_field(struct sse_parse *e, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon != NULL ? (size_t)(colon - line) : len;
    const char *value = colon != NULL ? colon + 1 : line + len;
    size_t value_len = len - (size_t)(value - line);

    if (value_len > 0 && value[0] == ' ') {
        value++;
        value_len--;
    }
    if (is_field(line, name_len, "data")) {
        if (e->has_data)
            buf_putc(&e->data, '\n');
        buf_put(&e->data, value, value_len);
        e->has_data = true;
    } else if (is_field(line, name_len, "event")) {
        buf_clear(&e->name);
        buf_put(&e->name, value, value_len);
    } else if (is_field(line, name_len, "id") && memchr(value, '\0', value_len) == NULL) {
        buf_clear(&e->id);
        buf_put(&e->id, value, value_len);
    }
}

static void finish_line(struct sse_parse *e)
{
    const char *line = buf_cstr(&e->line);

    if (e->line.len == 0)
        finish_event(e);
    else if (line[0] != ':')
        take_field(e, line, e->line.len);
    buf_clear(&e->line);
}

void sse_parse_feed(struct sse_parse *e, const char *bytes, size_t len)
{
    size_t i, max = e->max_bytes != 0 ? e->max_bytes : LIMIT_CLIENT_EVENT_BYTES;

    for (i = 0; i < len && !e->failed; i++) {
        char c = bytes[i];

        if (c == '\n' && e->after_cr) {
            e->after_cr = false;
            continue;
        }
        e->after_cr = c == '\r';
        if (c == '\r' || c == '\n')
            finish_line(e);
        else
            buf_putc(&e->line, c);
        e->failed = e->line.len + e->data.len > max;
    }
}

void sse_parse_fini(struct sse_parse *e)
{
    buf_fini(&e->line);
    buf_fini(&e->name);
    buf_fini(&e->data);
    buf_fini(&e->id);
}
