/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/answer.h"

#include <string.h>
#include <strings.h>

#include "base/limits.h"

static int pause_with(struct answer *a, enum answer_event event)
{
    a->event = event;
    return HPE_PAUSED;
}

static int on_header_bytes(llhttp_t *ll, const char *at, size_t len)
{
    struct answer *a = ll->data;

    if (a->in_body)
        return 0; /* trailers */
    if (a->headers.len + len > LIMIT_HEADER_BYTES || memchr(at, '\0', len) != NULL)
        return HPE_USER;
    buf_put(&a->headers, at, len);
    return 0;
}

static int on_header_end(llhttp_t *ll)
{
    struct answer *a = ll->data;

    if (!a->in_body)
        buf_putc(&a->headers, '\0');
    return 0;
}

static int on_headers_complete(llhttp_t *ll)
{
    struct answer *a = ll->data;

    a->in_body = true;
    a->status = ll->status_code;
    a->has_length = (ll->flags & F_CONTENT_LENGTH) != 0 && (ll->flags & F_CHUNKED) == 0;
    a->left = a->has_length ? ll->content_length : 0;
    if (a->status == 204 || a->status == 304) { /* these have no body, whatever they say */
        a->has_length = true;
        a->left = 0;
    }
    return pause_with(a, ANSWER_HEAD);
}

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct answer *a = ll->data;

    a->body = at;
    a->body_len = len;
    a->left -= a->has_length ? len : 0;
    return pause_with(a, ANSWER_BODY);
}

static int on_message_complete(llhttp_t *ll)
{
    struct answer *a = ll->data;

    a->done = true;
    return pause_with(a, ANSWER_DONE);
}

static const llhttp_settings_t settings = {
    .on_header_field = on_header_bytes,
    .on_header_field_complete = on_header_end,
    .on_header_value = on_header_bytes,
    .on_header_value_complete = on_header_end,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void answer_init(struct answer *a)
{
    *a = (struct answer){0};
    llhttp_init(&a->ll, HTTP_RESPONSE, &settings);
    a->ll.data = a;
}

void answer_fini(struct answer *a)
{
    buf_fini(&a->headers);
}

/* Up to the next pause of llhttp. */
static size_t run(struct answer *a, const char *bytes, size_t len)
{
    llhttp_errno_t rc;
    size_t used;

    if (llhttp_get_errno(&a->ll) == HPE_PAUSED)
        llhttp_resume(&a->ll);
    rc = llhttp_execute(&a->ll, bytes, len);
    used = rc == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&a->ll) - bytes);
    if (rc != HPE_OK && rc != HPE_PAUSED)
        a->failed = true;
    if (!a->in_body) {
        a->head_bytes += used;
        a->failed = a->failed || a->head_bytes > LIMIT_HEADER_BYTES;
    }
    return used;
}

enum answer_event answer_feed(struct answer *a, const char *bytes, size_t len, size_t *used)
{
    *used = 0;
    a->event = ANSWER_MORE;
    if (a->done || (a->in_body && a->status == 101))
        return ANSWER_DONE;
    if (a->failed)
        return ANSWER_ERROR;
    /* llhttp would tell it with the next byte, which may never come. */
    if (a->in_body && a->has_length && a->left == 0) {
        a->done = true;
        return ANSWER_DONE;
    }
    if (len > 0)
        *used = run(a, bytes, len);
    return a->failed ? ANSWER_ERROR : (enum answer_event)a->event;
}

bool answer_ends(struct answer *a)
{
    if (a->done)
        return true;
    if (a->failed || !a->in_body)
        return false;
    if (llhttp_get_errno(&a->ll) == HPE_PAUSED)
        llhttp_resume(&a->ll);
    llhttp_finish(&a->ll);
    return a->done && !a->failed;
}

const char *answer_header(const struct answer *a, const char *name)
{
    const char *start = buf_data(&a->headers);
    size_t at = 0;

    while (at < a->headers.len) {
        const char *key = start + at, *value = key + strlen(key) + 1;

        if ((size_t)(value - start) >= a->headers.len)
            break;
        at = (size_t)(value + strlen(value) + 1 - start);
        if (strcasecmp(key, name) == 0)
            return value;
    }
    return NULL;
}
