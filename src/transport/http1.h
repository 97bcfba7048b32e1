/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.h - an HTTP/1 request or response as events: head, body pieces, done
 *
 * llhttp parses; the code around it makes it strict where peers could be played against each other
 * (line ends, folding, both lengths, Host) and keeps every part bounded. One parser handles one
 * message: bytes after it are left for the next. It is a pull parser: each call returns at the
 * first event with the number of bytes it consumed, so the caller may stop anywhere.
 *
 * Pure: bytes in, events out. Owned by the request. Layer: transport.
 */
#ifndef HF_TRANSPORT_HTTP1_H
#define HF_TRANSPORT_HTTP1_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct http1_limits {
    size_t header_bytes, header_count, uri_bytes;
};

enum http1_event {
    HTTP1_MORE,  /* everything consumed */
    HTTP1_HEAD,  /* the head is complete */
    HTTP1_BODY,  /* body, body_len: a piece, inside the bytes just consumed */
    HTTP1_DONE,  /* the message is complete */
    HTTP1_ERROR, /* error says why; the connection's framing is lost */
};

enum http1_stage { HTTP1_AT_START, HTTP1_IN_HEAD, HTTP1_IN_BODY, HTTP1_AT_END };

struct http1 {
    llhttp_t ll;
    struct http1_limits limits;
    struct buf target;   /* request target as sent */
    struct buf headers;  /* "name\0value\0" after each other */
    struct buf trailers; /* the same, after a chunked body */
    struct buf reason;   /* of a response, as received */
    size_t header_count;
    size_t head_bytes;  /* consumed for the head */
    size_t extra_bytes; /* chunk sizes, extensions and trailers since the last piece */
    struct hf_error error;
    const char *body; /* HTTP1_BODY */
    size_t body_len;
    unsigned method; /* enum http_method; 0: another */
    char last;       /* last byte that was not of the body: line ends are checked in pairs */
    uint8_t stage;   /* enum http1_stage */
    uint8_t event;   /* private */
    bool failed;
    bool response;
    bool to_head;                  /* the response to a HEAD request */
    bool says_length, says_coding; /* the head has Content-Length, Transfer-Encoding */
    /* Valid once the head is complete: */
    bool bodiless;    /* a response that has no body, whatever its headers say */
    bool until_close; /* a response whose body ends with the connection */
    uint16_t status;  /* of a response */
    bool http11;      /* not HTTP/1.0 */
    bool keep_alive;
    bool upgrade; /* Connection: upgrade with an Upgrade header, on HTTP/1.1 */
    bool chunked;
    bool has_length;
    uint64_t length; /* Content-Length; 0 without */
    uint64_t seen;   /* bytes of the body so far */
};

void http1_init(struct http1 *p, const struct http1_limits *limits);
/* For the response to a request; to_head: to a HEAD request, so that no body follows. */
void http1_init_response(struct http1 *p, const struct http1_limits *limits, bool to_head);
void http1_fini(struct http1 *p); /* wipes: heads hold tokens */
/* For the next message of its kind: like fini and init, but keeps small buffers. */
void http1_again(struct http1 *p, bool to_head);

/* Consumes up to len bytes and stops after the first event. */
enum http1_event http1_feed(struct http1 *p, const char *bytes, size_t len, size_t *used);

/* The peer sends no more: is the message complete? */
bool http1_finish(struct http1 *p);
const char *http1_method_name(const struct http1 *p); /* "GET" */

static inline bool http1_has_body(const struct http1 *p)
{
    return !p->bodiless && (p->chunked || p->until_close || p->length > 0);
}
/* All of the body was delivered: HTTP1_DONE comes next and needs no bytes. */
static inline bool http1_is_complete(const struct http1 *p)
{
    return p->stage == HTTP1_IN_BODY &&
           (p->bodiless || (!p->chunked && !p->until_close && p->seen == p->length));
}

/* Bytes of the body that have not arrived, as far as known; 1 if only the end is missing. */
static inline uint64_t http1_missing(const struct http1 *p)
{
    return p->has_length ? p->length - p->seen : p->chunked && p->stage == HTTP1_IN_BODY;
}

/* Case-insensitive; the first at or after *at (start with 0), which advances. NULL: no more. */
const char *http1_header(const struct http1 *p, const char *name, size_t *at);
/* Iterates: start with *at = 0; false: no more. */
bool http1_next_header(const struct buf *headers, size_t *at, const char **name,
                       const char **value);
/*
 * The next item of a comma-separated list, without surrounding blanks; the list advances past it.
 * NULL: no more. All code reads such lists with this function: two parsers would disagree on what a
 * peer sent.
 */
const char *http1_next_item(const char **list, size_t *len);
/* Is the token in the comma-separated list (case-insensitive)? NULL list: no. */
bool http1_has_token(const char *list, const char *token);

#endif
