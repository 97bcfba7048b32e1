/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_http.c - requests through parser, target and router, whole and in pieces
 *
 * The first byte says how the rest is cut. However it is cut, the same requests must come
 * out, and what was accepted must keep the promises that handlers rely on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "transport/http_request.h"
#include "transport/origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            abort();                                                                               \
    } while (0)

static const struct route routes[] = {
    {HTTP_GET_M, "/", NULL, ROLE_NONE, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/run", NULL, ROLE_NONE, 0, 0, NULL},
    {HTTP_GET_M | HTTP_DELETE_M, "/v1/processes/{id}", NULL, ROLE_NONE, 0, 0, "q"},
    {HTTP_GET_M, "/v1/{a}/{b}/{c}", NULL, ROLE_NONE, 0, 0, NULL},
    {HTTP_GET_M, "/assets/", NULL, ROLE_NONE, ROUTE_PREFIX, 0, NULL},
    {HTTP_GET_M, "/proxy/{port}", NULL, ROLE_NONE, ROUTE_PREFIX, 0, NULL},
};
static const struct route_table table = {
    .prefix = "", .routes = routes, .count = 6, .error = NULL, .context = NULL};
static const struct route_table nested = {
    .prefix = "/v1/nested", .routes = routes, .count = 6, .error = NULL, .context = NULL};
static const struct route_table *const tables[] = {&table, &nested};

/* What handlers may take for granted after the gate. */
static void check_head(struct http_request *rq, struct buf *story)
{
    struct http1 *p = &rq->parser;
    size_t count = 0;

    CHECK(p->headers.len == 0 || buf_data(&p->headers)[p->headers.len - 1] == '\0');
    for (size_t at = 0; at < p->headers.len; at += strlen(buf_data(&p->headers) + at) + 1)
        count++;
    CHECK(count == 2 * p->header_count);
    CHECK(!(p->chunked && p->has_length));
    if (request_parse_target(rq, NULL) < 0)
        return;
    buf_printf(story, "%u %s ? %s", p->method, rq->path, rq->query_raw);
    CHECK(rq->path[0] == '/' || strcmp(rq->path, "*") == 0);
    CHECK(strchr(rq->path, '?') == NULL);
    CHECK(!p->http11 || rq->host != NULL);
    if (rq->host != NULL)
        origin_host_is_valid(rq->host);
    if (path_parse(&rq->segments, rq->path, NULL) == 0) {
        router_find(tables, 2, false, rq->path, &rq->segments, p->method, &rq->match);
        CHECK(rq->match.route == NULL || (rq->match.allow & p->method));
    }
    http_query(rq, "q");
    http_wants(rq, "application/json");
    http_accepts(rq, "text/event-stream");
    http_is_websocket(rq);
    http_header(rq, "Cookie");
}

/* All requests of the input, in steps of `step` bytes, told as text. */
static void run(const char *bytes, size_t len, size_t step, struct buf *story)
{
    struct http_server server = {
        .o = {.header_bytes = 1024, .header_count = 20, .uri_bytes = 128},
    };
    struct http_request *rq = request_new(&server, NULL);
    size_t at = 0;
    bool more = true;

    while (more) {
        size_t n = len - at < step ? len - at : step, used;
        enum http1_event e = http1_feed(&rq->parser, bytes + at, n, &used);

        CHECK(used <= n);
        at += used;
        switch (e) {
        case HTTP1_MORE:
            CHECK(used == n);
            more = at < len;
            break;
        case HTTP1_HEAD:
            check_head(rq, story);
            buf_putc(story, '\n');
            break;
        case HTTP1_BODY:
            CHECK(rq->parser.body >= bytes && rq->parser.body + rq->parser.body_len == bytes + at);
            buf_put(story, rq->parser.body, rq->parser.body_len);
            break;
        case HTTP1_DONE:
            buf_printf(story, "\ndone at %zu\n", at);
            request_free(rq);
            rq = request_new(&server, NULL);
            more = at < len;
            break;
        case HTTP1_ERROR:
            CHECK(rq->parser.error.code != HF_OK);
            more = false;
            break;
        }
    }
    request_free(rq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0};
    const char *bytes = (const char *)data + 1;
    size_t step;

    if (size < 2)
        return 0;
    step = data[0] % 64 + 1;
    run(bytes, size - 1, size, &whole);
    run(bytes, size - 1, step, &pieces);
    /* In pieces an error may be found a little sooner or later, but never another request. */
    CHECK(whole.len <= pieces.len ? memcmp(buf_cstr(&whole), buf_cstr(&pieces), whole.len) == 0
                                  : memcmp(buf_cstr(&whole), buf_cstr(&pieces), pieces.len) == 0);
    buf_fini(&whole);
    buf_fini(&pieces);
    return 0;
}
