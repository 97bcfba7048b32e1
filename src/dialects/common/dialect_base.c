/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect_base.c - instances of dialects, their replies and requests. Layer: dialects.
 */
#include "dialects/common/dialect_base.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/call.h"
#include "engine/notes.h"

/* --- life cycle ------------------------------------------------------------------------------ */

static void base_init(struct dialect_base *b, const struct dialect *d,
                      const struct dialect_host *host)
{
    b->json_type = d->json_type;
    b->host = *host;
    b->engine = host->engine;
    b->loop = host->loop;
    list_init(&b->calls);
    list_init(&b->typing);
    route_rows_make(&b->rows, d->groups);
    b->table = (struct route_table){
        .prefix = d->prefix,
        .routes = b->rows.rows,
        .count = b->rows.count,
        .error = d->error,
        .context = b,
        .ways = d->ways,
    };
}

struct dialect_base *dialect_make(const struct dialect *d, const struct dialect_host *host)
{
    struct dialect_base *b = hf_xalloc(d->size);

    base_init(b, d, host);
    if (d->init != NULL)
        d->init(b);
    return b;
}

void dialect_drain(struct dialect_base *b)
{
    b->closed = b->draining = true;
    call_drain_all(&b->calls);
}

void dialect_free(const struct dialect *d, struct dialect_base *b)
{
    call_free_all(&b->calls);
    if (d->fini != NULL)
        d->fini(b);
    route_rows_fini(&b->rows);
    buf_fini(&b->scratch);
    free(b);
}

int dialect_check_open(const struct dialect_base *b, struct hf_error *err)
{
    if (b->closed)
        return hf_fail(err, HF_E_shutting_down,
                       "the daemon is shutting down and accepts no new requests; reconnect");
    return 0;
}

/* --- replies --------------------------------------------------------------------------------- */

static struct json_out scratch_open(struct dialect_base *b, char bracket)
{
    struct json_out o;

    buf_clear(&b->scratch);
    json_out_init(&o, &b->scratch);
    json_open(&o, bracket);
    return o;
}

struct json_out dialect_reply_open(struct dialect_base *b)
{
    return scratch_open(b, '{');
}

struct json_out dialect_array_open(struct dialect_base *b)
{
    return scratch_open(b, '[');
}

void dialect_reply_send(struct http_request *rq, int status, struct json_out *o)
{
    const char *type = dialect_base_of(rq)->json_type;

    json_close(o, '}');
    http_reply(rq, status, type != NULL ? type : "application/json", buf_data(o->buf), o->buf->len);
    buf_clear(o->buf); /* frees what a large reply used */
}

void dialect_reply_json(struct http_request *rq, int status, json_t *v)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o;

    assert(v != NULL);
    buf_clear(&b->scratch);
    json_out_init(&o, &b->scratch);
    json_value(&o, v);
    json_decref(v);
    http_reply(rq, status, b->json_type != NULL ? b->json_type : "application/json",
               buf_data(o.buf), o.buf->len);
}

void dialect_fail(struct http_request *rq, enum hf_code code, const char *fmt, ...)
{
    struct hf_error err = {0};
    char detail[sizeof err.detail];
    va_list args;

    va_start(args, fmt);
    vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    hf_fail(&err, code, "%s", detail);
    http_reply_error(rq, &err);
}

bool dialect_failed(struct http_request *rq, int rc, const struct hf_error *err)
{
    if (rc < 0)
        http_reply_error(rq, err);
    return rc < 0;
}

/* --- requests -------------------------------------------------------------------------------- */

json_t *dialect_body(struct http_request *rq)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = json_parse(text, len, &err);

    if (body == NULL)
        http_reply_error(rq, &err);
    return body;
}

json_t *dialect_object(struct http_request *rq)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len == 0 ? json_object() : json_parse(text, len, &err);

    if (json_is_object(body))
        return body;
    if (body != NULL)
        hf_fail(&err, HF_E_bad_type, "the body must be a JSON object");
    json_decref(body);
    http_reply_error(rq, &err);
    return NULL;
}

bool dialect_is_json(const struct http_request *rq)
{
    const char *type = http_header(rq, "Content-Type");
    size_t len;

    if (type == NULL)
        return false;
    len = strcspn(type, "; \t");
    if (len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0)
        return true;
    return len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0;
}

struct process *dialect_process(struct http_request *rq, const char *param)
{
    struct hf_error err = {0};
    struct process *p = engine_find(dialect_base_of(rq)->engine, http_param(rq, param), &err);

    if (p == NULL)
        http_reply_error(rq, &err);
    return p;
}

bool dialect_query_number(struct http_request *rq, const char *name, int64_t min, int64_t max,
                          int64_t *out)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text_to_i64(text, min, max, out))
        return true;
    dialect_fail(rq, HF_E_bad_value, "query parameter %s must be a number", name);
    return false;
}

bool dialect_query_flag(const struct http_request *rq, const char *name)
{
    return text_to_bool(http_query(rq, name)) == 1;
}

/* --- notes ------------------------------------------------------------------------------- */

json_t *dialect_note(const struct engine *e, const char *name)
{
    size_t len;
    const char *text = engine_note(e, name, &len);

    return text != NULL ? json_parse(text, len, NULL) : NULL;
}

int dialect_note_set(struct engine *e, const char *name, const json_t *v)
{
    char *text = v != NULL ? json_dumps(v, JSON_COMPACT) : NULL;
    int rc = engine_note_set(e, name, text, text != NULL ? strlen(text) : 0);

    free(text);
    return rc;
}
