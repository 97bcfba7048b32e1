/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_request.c - a handler's view of its request
 *
 * Layer: transport.
 */
#include "transport/http_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "transport/conn_own.h"

struct request_text {
    struct request_text *next;
    char text[];
};

static void request_on_free_task(void *arg)
{
    request_free(arg);
}

struct http_request *request_new(struct http_server *s, struct conn *c)
{
    struct http1_limits limits = {s->o.header_bytes, s->o.header_count, s->o.uri_bytes};
    struct http_request *rq = hf_xalloc(sizeof *rq);

    list_init(&rq->link);
    rq->server = s;
    rq->c = c;
    rq->free_task = (struct task){.fn = request_on_free_task, .arg = rq};
    rq->path = rq->query_raw = "";
    rq->table = c != NULL ? server_default_table(s, c->listener) : NULL;
    http1_init(&rq->parser, &limits);
    return rq;
}

void request_count_held(struct http_request *rq)
{
    if (rq->c != NULL)
        peer_memory_set(&rq->held, rq->c,
                        sizeof *rq + rq->parser.target.cap + rq->parser.headers.cap +
                            rq->parser.trailers.cap + rq->body.cap + rq->handler_bytes);
}

void http_set_held(struct http_request *rq, size_t bytes)
{
    rq->handler_bytes = bytes;
    request_count_held(rq);
}

void request_free(struct http_request *rq)
{
    peer_memory_clear(&rq->held);
    task_cancel(&rq->free_task);
    request_cancel_call(rq);
    list_remove(&rq->link);
    http1_fini(&rq->parser);
    path_fini(&rq->segments);
    query_fini(&rq->query);
    buf_wipe(&rq->body);
    buf_wipe(&rq->extra);
    free(rq->kept);
    while (rq->texts != NULL) {
        struct request_text *t = rq->texts;

        rq->texts = t->next;
        free(t);
    }
    free(rq);
}

static void request_part(struct http_request *rq)
{
    request_cancel_call(rq);
    peer_memory_part(&rq->held);
    if (rq->c != NULL && rq->c->owner == rq)
        rq->c->owner = NULL;
    rq->c = NULL;
    rq->h2 = NULL;
}

void request_release(struct http_request *rq)
{
    struct http_server *s = rq->server;

    request_part(rq);
    list_remove(&rq->link);
    list_append(&s->requests, &rq->link);
    loop_defer(s->loop, &rq->free_task);
}

void request_orphan(struct http_request *rq)
{
    void (*on_disconnect)(void *) = rq->on_disconnect;

    if (!rq->handling || rq->replied) {
        request_release(rq);
        return;
    }
    if (on_disconnect != NULL) {
        rq->on_disconnect = NULL;
        request_release(rq);
        on_disconnect(rq->user);
        return;
    }
    if (rq->waits) {
        request_release(rq);
        return;
    }
    request_part(rq);
    list_append(&rq->server->requests, &rq->link);
}

void request_free_all(struct http_server *s)
{
    while (!list_is_empty(&s->requests))
        request_free(list_entry(s->requests.next, struct http_request, link));
}

const char *request_keep_text(struct http_request *rq, const char *text, size_t len)
{
    struct request_text *t = hf_xalloc(sizeof *t + len + 1);

    memcpy(t->text, text, len);
    t->next = rq->texts;
    rq->texts = t;
    return t->text;
}

/* --- the target ------------------------------------------------------------------- */

static int bad_target(struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_path,
                   "The request target must be a path, or a http or https address.");
}

/* "http://host/path": the target's host replaces the header's. */
static int parse_absolute(struct http_request *rq, char *target, struct hf_error *err)
{
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    size_t host;

    if (scheme == 0)
        return bad_target(err);
    host = strcspn(target + scheme, "/?");
    if (host == 0)
        return bad_target(err);
    rq->host = request_keep_text(rq, target + scheme, host);
    target += scheme + host;
    rq->path = *target == '/' ? target : "/";
    rq->query_raw = target;
    return 0;
}

int request_parse_target(struct http_request *rq, struct hf_error *err)
{
    size_t at = 0;
    char *target = (char *)(uintptr_t)buf_cstr(&rq->parser.target), *mark;

    rq->host = http1_header(&rq->parser, "Host", &at);
    if (strchr(target, '#') != NULL)
        return bad_target(err);
    if (target[0] == '/' || (strcmp(target, "*") == 0 && rq->parser.method == HTTP_OPTIONS_M)) {
        rq->path = rq->query_raw = target;
    } else if (parse_absolute(rq, target, err) < 0) {
        return -1;
    }
    mark = strchr(rq->query_raw, '?');
    rq->query_raw = "";
    if (mark != NULL) {
        *mark = '\0';
        rq->query_raw = mark + 1;
    }
    return 0;
}

/* --- accessors ---------------------------------------------------------------------- */

const char *http_role_name(enum role role)
{
    static const char *const names[] = {"none", "watch", "type", "own"};

    return names[role];
}

enum http_method http_method(const struct http_request *rq)
{
    return (enum http_method)rq->parser.method;
}

const char *http_path(const struct http_request *rq)
{
    return rq->path;
}

const char *http_query_raw(const struct http_request *rq)
{
    return rq->query_raw;
}

const char *http_param(const struct http_request *rq, const char *name)
{
    return router_param_get(&rq->match, name);
}

bool request_parse_query(struct http_request *rq, struct hf_error *err)
{
    if (rq->query_parsed)
        return true;
    rq->query_parsed = true;
    return query_parse(&rq->query, rq->query_raw, err) == 0;
}

/* Parsed on first use: routes with ROUTE_ANY_QUERY may not need it. */
static const struct url_query *request_query(const struct http_request *rq)
{
    request_parse_query((struct http_request *)(uintptr_t)rq, NULL);
    return &rq->query;
}

const char *http_query(const struct http_request *rq, const char *name)
{
    return query_get(request_query(rq), name);
}

bool http_query_each(const struct http_request *rq, size_t *i, const char **name,
                     const char **value)
{
    const struct url_query *q = request_query(rq);

    if (*i >= q->count)
        return false;
    *name = q->list[*i].name;
    *value = q->list[*i].value;
    ++*i;
    return true;
}

/* Several headers of one name form one list; cookies have their own separator. */
static const char *join_headers(struct http_request *rq, const char *name)
{
    const char *separator = strcasecmp(name, "Cookie") == 0 ? "; " : ", ", *value, *text;
    struct buf all = {0};
    size_t at = 0;

    while ((value = http1_header(&rq->parser, name, &at)) != NULL) {
        if (all.len > 0)
            buf_puts(&all, separator);
        buf_puts(&all, value);
    }
    text = request_keep_text(rq, buf_cstr(&all), all.len);
    buf_wipe(&all);
    return text;
}

const char *http_header(const struct http_request *rq, const char *name)
{
    size_t at = 0;
    const char *first;

    if (strcasecmp(name, "Host") == 0)
        return rq->host;
    first = http1_header(&rq->parser, name, &at);
    if (first == NULL || http1_header(&rq->parser, name, &at) == NULL)
        return first;
    return join_headers((struct http_request *)(uintptr_t)rq, name);
}

bool http_header_each(const struct http_request *rq, size_t *at, const char **name,
                      const char **value)
{
    return http1_next_header(&rq->parser.headers, at, name, value);
}

const char *http_body(const struct http_request *rq, size_t *len)
{
    *len = rq->body.len;
    return rq->body.len > 0 ? buf_data(&rq->body) : "";
}

uint32_t http_token(const struct http_request *rq)
{
    return rq->grant.token;
}

const char *http_grant(const struct http_request *rq)
{
    return rq->grant.id[0] != '\0' ? rq->grant.id : NULL;
}

const char *http_principal(const struct http_request *rq)
{
    if (rq->role == ROLE_OWN)
        return HTTP_OWNER;
    if (rq->grant.id[0] != '\0')
        return rq->grant.id;
    return rq->grant.principal[0] != '\0' ? rq->grant.principal : http_role_name(rq->role);
}

enum role http_role(const struct http_request *rq)
{
    return rq->role;
}

void http_set_trusted(struct http_request *rq, enum role role)
{
    if (rq->c != NULL && role > rq->c->trust)
        conn_set_trust(rq->c, role);
}

bool http_is_tls(const struct http_request *rq)
{
    return rq->c != NULL && conn_is_tls(rq->c);
}

bool http_is_websocket(const struct http_request *rq)
{
    return rq->parser.upgrade && rq->parser.method == HTTP_GET_M &&
           http1_has_token(http_header(rq, "Upgrade"), "websocket");
}

const char *http_peer(const struct http_request *rq)
{
    return rq->c != NULL ? rq->c->peer : "gone";
}

void *http_context(const struct http_request *rq)
{
    return rq->table != NULL ? rq->table->context : NULL;
}

struct loop *http_loop(const struct http_request *rq)
{
    return rq->server->loop;
}

void http_set_user(struct http_request *rq, void *user, void (*on_disconnect)(void *user))
{
    rq->user = user;
    rq->on_disconnect = on_disconnect;
}

void *http_keep(struct http_request *rq, size_t bytes)
{
    if (rq->kept == NULL)
        rq->kept = hf_xalloc(bytes);
    return rq->kept;
}

void *http_user(const struct http_request *rq)
{
    return rq->user;
}
