/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.c - an HTTP/1 request or response as events
 *
 * llhttp calls back; each callback that matters to us records the event and pauses llhttp, so that
 * http1_feed() returns there. Layer: transport.
 */
#include "transport/http1.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "transport/http.h"

/* llhttp.h and http.h both name methods HTTP_...; ours end in _M. */

static int fail(struct http1 *p, enum hf_code code, const char *detail)
{
    if (!p->failed)
        hf_fail(&p->error, code, "%s", detail);
    p->failed = true;
    return HPE_USER;
}

static int fail_method(struct http1 *p)
{
    return fail(p, HF_E_not_implemented, "The method is unknown.");
}

static int pause_with(struct http1 *p, enum http1_event event)
{
    p->event = (uint8_t)event;
    return HPE_PAUSED;
}

static int on_message_begin(llhttp_t *ll)
{
    struct http1 *p = ll->data;

    p->stage = HTTP1_IN_HEAD;
    return 0;
}

/* Accept only the methods that every version of llhttp knows. */
static int on_method_complete(llhttp_t *ll)
{
    return ll->method <= HTTP_FLUSH ? 0 : fail_method(ll->data);
}

static int on_version_complete(llhttp_t *ll)
{
    return ll->http_major == 1 ? 0
                               : fail(ll->data, HF_E_http_version_not_supported, "Use HTTP/1.1.");
}

static bool is_visible(char c)
{
    return (unsigned char)c > 0x20 && (unsigned char)c < 0x7f;
}

/* A target is visible ASCII: llhttp accepts more when not built strict. */
static int on_url(llhttp_t *ll, const char *at, size_t len)
{
    struct http1 *p = ll->data;

    if (p->target.len + len > p->limits.uri_bytes)
        return fail(p, HF_E_uri_too_long, "The request target is too long.");
    for (size_t i = 0; i < len; i++) {
        if (!is_visible(at[i]))
            return fail(p, HF_E_bad_request,
                        "The request target has a character that is not "
                        "visible ASCII.");
    }
    buf_put(&p->target, at, len);
    return 0;
}

static struct buf *fields_of(struct http1 *p)
{
    return p->stage == HTTP1_IN_HEAD ? &p->headers : &p->trailers;
}

static int on_header_bytes(llhttp_t *ll, const char *at, size_t len)
{
    struct http1 *p = ll->data;
    struct buf *fields = fields_of(p);

    if (fields->len + len > p->limits.header_bytes)
        return fail(p, HF_E_headers_too_large, "The headers are too large.");
    buf_put(fields, at, len);
    return 0;
}

/* A name is one token; llhttp accepts spaces in it when not built strict. */
static int on_header_field(llhttp_t *ll, const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!is_visible(at[i]))
            return fail(ll->data, HF_E_bad_request, "A header's name is not a token.");
    }
    return on_header_bytes(ll, at, len);
}

/*
 * Refuses Content-Length together with Transfer-Encoding, and either of them in a trailer: servers
 * disagree on which one counts. The name alone decides, before llhttp reads the value, because its
 * versions check this at different places and report different errors.
 */
static int check_framing_name(struct http1 *p, const char *name)
{
    if (strcasecmp(name, "Content-Length") == 0)
        p->says_length = true;
    else if (strcasecmp(name, "Transfer-Encoding") == 0)
        p->says_coding = true;
    else
        return 0;
    if (p->stage != HTTP1_IN_HEAD)
        return fail(p, HF_E_bad_request,
                    "Trailers must not contain Content-Length or Transfer-Encoding.");
    if (p->says_length && p->says_coding)
        return fail(p, HF_E_bad_request,
                    "Content-Length and Transfer-Encoding cannot be combined.");
    return 0;
}

static int on_header_field_complete(llhttp_t *ll)
{
    struct http1 *p = ll->data;
    struct buf *fields = fields_of(p);
    size_t start = fields->len;

    while (start > 0 && buf_data(fields)[start - 1] != '\0')
        start--;
    if (start == fields->len)
        return fail(p, HF_E_bad_request, "A header has no name.");
    if (++p->header_count > p->limits.header_count)
        return fail(p, HF_E_headers_too_large, "There are too many headers.");
    buf_putc(fields, '\0');
    return check_framing_name(p, buf_data(fields) + start);
}

static void trim_value_end(struct buf *b)
{
    const char *d = buf_data(b);

    while (b->len > 0 && (d[b->len - 1] == ' ' || d[b->len - 1] == '\t'))
        b->len--;
}

static int on_header_value_complete(llhttp_t *ll)
{
    struct http1 *p = ll->data;
    struct buf *fields = fields_of(p);

    trim_value_end(fields);
    buf_putc(fields, '\0');
    return 0;
}

static int on_status(llhttp_t *ll, const char *at, size_t len)
{
    struct http1 *p = ll->data;

    if (p->reason.len + len > p->limits.header_bytes)
        return fail(p, HF_E_headers_too_large, "The status line is too long.");
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)at[i] < 0x20 && at[i] != '\t')
            return fail(p, HF_E_bad_request, "The status line has a control character.");
    }
    buf_put(&p->reason, at, len);
    return 0;
}

/* Three digits. Not every llhttp checks that, and a response below 200 would have no body. */
static int on_status_complete(llhttp_t *ll)
{
    struct http1 *p = ll->data;

    if (p->response && (ll->status_code < 100 || ll->status_code > 999))
        return fail(p, HF_E_bad_request, "The status is not a number of three digits.");
    return 0;
}

/* A 304 may state the length of the body it does not have, as a response to HEAD does. */
static bool is_bodiless(const struct http1 *p, int status)
{
    return p->to_head || status < 200 || status == 204 || status == 304;
}

static int on_headers_complete(llhttp_t *ll)
{
    struct http1 *p = ll->data;

    if (p->response && is_bodiless(p, ll->status_code)) {
        p->bodiless = true;
        ll->flags |= F_SKIPBODY;
    }
    return pause_with(p, HTTP1_HEAD);
}

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct http1 *p = ll->data;

    p->body = at;
    p->body_len = len;
    p->seen += len;
    return pause_with(p, HTTP1_BODY);
}

static int on_message_complete(llhttp_t *ll)
{
    return pause_with(ll->data, HTTP1_DONE);
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_method_complete = on_method_complete,
    .on_url = on_url,
    .on_version_complete = on_version_complete,
    .on_status = on_status,
    .on_status_complete = on_status_complete,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_bytes,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void http1_init(struct http1 *p, const struct http1_limits *limits)
{
    *p = (struct http1){.limits = *limits};
    llhttp_init(&p->ll, HTTP_REQUEST, &settings);
    p->ll.data = p;
}

void http1_init_response(struct http1 *p, const struct http1_limits *limits, bool to_head)
{
    *p = (struct http1){.limits = *limits, .response = true, .to_head = to_head};
    llhttp_init(&p->ll, HTTP_RESPONSE, &settings);
    p->ll.data = p;
}

void http1_fini(struct http1 *p)
{
    buf_wipe(&p->target);
    buf_wipe(&p->headers);
    buf_fini(&p->trailers);
    buf_fini(&p->reason);
}

void http1_again(struct http1 *p, bool to_head)
{
    struct http1_limits limits = p->limits;
    struct buf target = p->target, headers = p->headers, reason = p->reason;

    buf_scrub(&target);
    buf_scrub(&headers);
    buf_clear(&reason);
    buf_fini(&p->trailers);
    if (p->response)
        http1_init_response(p, &limits, to_head);
    else
        http1_init(p, &limits);
    p->target = target;
    p->headers = headers;
    p->reason = reason;
}

static unsigned method_of(const llhttp_t *ll)
{
    switch (ll->method) {
    case HTTP_GET: return HTTP_GET_M;
    case HTTP_HEAD: return HTTP_HEAD_M;
    case HTTP_POST: return HTTP_POST_M;
    case HTTP_PUT: return HTTP_PUT_M;
    case HTTP_PATCH: return HTTP_PATCH_M;
    case HTTP_DELETE: return HTTP_DELETE_M;
    case HTTP_OPTIONS: return HTTP_OPTIONS_M;
    default: return 0;
    }
}

/*
 * Line ends are CRLF only: servers differ in how they read a bare CR or LF, a NUL or a folded line,
 * which is what request smuggling exploits. llhttp tolerates some of them, especially when not
 * built strict. `p->last` carries the check over pieces.
 */
static int check_lines(struct http1 *p, const char *bytes, size_t len)
{
    unsigned char last = (unsigned char)p->last;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i], before = last;

        last = c;
        if (c > '\r' && before > '\r')
            continue; /* the common case */
        if (c == '\0' || (c == '\n') != (before == '\r'))
            return fail(p, HF_E_bad_request, "The request has a bad line ending or a NUL.");
        if (before == '\n' && (c == ' ' || c == '\t'))
            return fail(p, HF_E_bad_request, "The request has a folded header line.");
    }
    p->last = (char)last;
    return 0;
}

/* Everything except the body's own bytes is lines: the head, chunk sizes, trailers. */
static void check_consumed(struct http1 *p, const char *bytes, size_t used)
{
    if (p->event == HTTP1_BODY) {
        check_lines(p, bytes, (size_t)(p->body - bytes));
        p->last = 0;
    } else {
        check_lines(p, bytes, used);
    }
}

static int check_framing(struct http1 *p)
{
    size_t at = 0;
    const char *coding = http1_header(p, "Transfer-Encoding", &at);

    if (coding == NULL)
        return 0;
    if (!p->http11)
        return fail(p, HF_E_bad_request, "HTTP/1.0 does not support Transfer-Encoding.");
    /* llhttp treats trailing blanks its own way: a body that it does not read as chunks is
     * refused. */
    if (!p->chunked || strcasecmp(coding, "chunked") != 0 ||
        http1_header(p, "Transfer-Encoding", &at) != NULL)
        return fail(p, HF_E_not_implemented, "The only supported transfer coding is chunked.");
    return 0;
}

static int check_host(struct http1 *p)
{
    size_t at = 0;
    const char *host = http1_header(p, "Host", &at);

    if (host == NULL && p->http11)
        return fail(p, HF_E_bad_request, "HTTP/1.1 requires a Host header.");
    if (host != NULL && http1_header(p, "Host", &at) != NULL)
        return fail(p, HF_E_bad_request, "The request has more than one Host header.");
    return 0;
}

static int finish_head(struct http1 *p)
{
    const llhttp_t *ll = &p->ll;

    if (ll->http_major != 1)
        return fail(p, HF_E_http_version_not_supported, "Use HTTP/1.1.");
    p->stage = HTTP1_IN_BODY;
    p->method = p->response ? 0 : method_of(ll);
    p->status = ll->status_code;
    p->http11 = ll->http_minor > 0;
    p->chunked = (ll->flags & F_CHUNKED) != 0;
    p->has_length = (ll->flags & F_CONTENT_LENGTH) != 0;
    p->length = p->has_length ? ll->content_length : 0;
    p->keep_alive = llhttp_should_keep_alive(ll) != 0;
    p->until_close = p->response && !p->bodiless && llhttp_message_needs_eof(ll) != 0;
    if (p->response) {
        p->upgrade = p->status == 101;
        return check_framing(p);
    }
    p->upgrade = ll->upgrade && p->http11 && ll->method != HTTP_CONNECT;
    if (ll->method == HTTP_CONNECT)
        return fail(p, HF_E_not_implemented, "This server is not a proxy.");
    if (check_host(p) != 0 || check_framing(p) != 0)
        return HPE_USER;
    return 0;
}

static bool is_in_token(char c)
{
    return is_visible(c) && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

/* `at`: where llhttp gave up. An unknown method is still a method as long as it is a word. */
static void fail_parse(struct http1 *p, llhttp_errno_t rc, char at)
{
    if (rc == HPE_INVALID_METHOD && (is_in_token(at) || (at == ' ' && is_in_token(p->last)))) {
        fail_method(p);
        return;
    }
    /* A CR without LF is a bad line end, wherever llhttp finds it. */
    if (rc == HPE_INVALID_VERSION && p->last != '\r')
        fail(p, HF_E_http_version_not_supported, "Use HTTP/1.1.");
    else if (rc == HPE_INVALID_TRANSFER_ENCODING)
        fail(p, HF_E_not_implemented, "The only supported transfer coding is chunked.");
    else
        fail(p, HF_E_bad_request, "The request is not valid HTTP/1.1.");
}

/* Bounds the total size of a head, or of the framing of a body. */
static void count_bytes(struct http1 *p, enum http1_stage stage, size_t used)
{
    if (stage <= HTTP1_IN_HEAD) {
        p->head_bytes += used;
        if (p->head_bytes > p->limits.header_bytes)
            fail(p, HF_E_headers_too_large, "The request's head is too large.");
        return;
    }
    p->extra_bytes += used;
    if (p->event == HTTP1_BODY) {
        p->extra_bytes -= p->body_len;
        if (p->extra_bytes <= p->limits.header_bytes)
            p->extra_bytes = 0;
    }
    if (p->extra_bytes > p->limits.header_bytes)
        fail(p, HF_E_headers_too_large, "A chunk's extensions or the trailers are too large.");
}

/* Runs llhttp up to its next pause and checks what it consumed. */
static size_t run_parser(struct http1 *p, const char *bytes, size_t len)
{
    enum http1_stage stage = p->stage;
    llhttp_errno_t rc;
    size_t used;

    if (llhttp_get_errno(&p->ll) == HPE_PAUSED)
        llhttp_resume(&p->ll);
    rc = llhttp_execute(&p->ll, bytes, len);
    used = rc == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&p->ll) - bytes);
    if (p->failed)
        return used;
    check_consumed(p, bytes, used);
    count_bytes(p, stage, used);
    if (rc != HPE_OK && rc != HPE_PAUSED)
        fail_parse(p, rc, used < len ? bytes[used] : '\0');
    return used;
}

enum http1_event http1_feed(struct http1 *p, const char *bytes, size_t len, size_t *used)
{
    *used = 0;
    p->event = HTTP1_MORE;
    if (http1_is_complete(p))
        p->event = HTTP1_DONE;
    else if (len > 0 && !p->failed && p->stage != HTTP1_AT_END)
        *used = run_parser(p, bytes, len);
    if (p->event == HTTP1_HEAD && !p->failed)
        finish_head(p);
    if (p->event == HTTP1_DONE)
        p->stage = HTTP1_AT_END;
    return p->failed ? HTTP1_ERROR : (enum http1_event)p->event;
}

bool http1_finish(struct http1 *p)
{
    if (p->failed || (p->stage != HTTP1_AT_END && (p->stage != HTTP1_IN_BODY || !p->until_close)))
        return false;
    p->stage = HTTP1_AT_END;
    return true;
}

const char *http1_method_name(const struct http1 *p)
{
    return llhttp_method_name((llhttp_method_t)p->ll.method);
}

bool http1_next_header(const struct buf *headers, size_t *at, const char **name, const char **value)
{
    const char *start = buf_data(headers);

    if (*at >= headers->len)
        return false;
    *name = start + *at;
    *value = *name + strlen(*name) + 1;
    *at = (size_t)(*value + strlen(*value) + 1 - start);
    return true;
}

const char *http1_header(const struct http1 *p, const char *name, size_t *at)
{
    const char *key, *value;

    while (http1_next_header(&p->headers, at, &key, &value)) {
        if (strcasecmp(key, name) == 0)
            return value;
    }
    return NULL;
}

const char *http1_next_item(const char **list, size_t *len)
{
    const char *item = *list + strspn(*list, " \t,");
    size_t n = strcspn(item, ",");

    *list = item + n;
    while (n > 0 && (item[n - 1] == ' ' || item[n - 1] == '\t'))
        n--;
    *len = n;
    return n > 0 ? item : NULL;
}

bool http1_has_token(const char *list, const char *token)
{
    size_t len = strlen(token), n;
    const char *item;

    while (list != NULL && (item = http1_next_item(&list, &n)) != NULL) {
        if (n == len && strncasecmp(item, token, n) == 0)
            return true;
    }
    return false;
}
