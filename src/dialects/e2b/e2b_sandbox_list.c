/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_sandbox_list.c - the list of sandboxes: the one that there is, if the query admits it
 *
 * Filters and pages are those of the original, and a value that it refuses is refused here: a
 * filter that is silently ignored would return a sandbox that the caller did not ask for.
 * Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "dialects/e2b/e2b.h"
#include "transport/url_query.h"

#define PAGE_MAX 100
#define CURSOR_BYTES 200 /* "TIME__ID__asc"; the longest of ours has 101 */

struct list_filter {
    bool running, ascending, metadata_fits, after_cursor;
    int64_t started_after; /* wall clock; INT64_MIN: any */
    const char *template;  /* NULL: any */
};

static bool refuse(struct http_request *rq, const char *why)
{
    e2b_plain_error(rq, 400, why);
    return false;
}

/* --- the parameters ----------------------------------------------------------------------- */

/* Of names separated by commas. False: one is no state. */
static bool states_name_running(const char *names, bool *running)
{
    for (;; names++) {
        size_t len = strcspn(names, ",");

        if (len == 7 && memcmp(names, "running", len) == 0)
            *running = true;
        else if (len != 6 || memcmp(names, "paused", len) != 0)
            return false;
        names += len;
        if (*names == '\0')
            return true;
    }
}

/* The parameter may be repeated, as older clients do. */
static bool decode_states(struct http_request *rq, struct list_filter *f)
{
    const char *name, *value;
    bool any = false;

    for (size_t i = 0; http_query_each(rq, &i, &name, &value);) {
        if (strcmp(name, "state") != 0)
            continue;
        any = true;
        if (!states_name_running(value, &f->running))
            return refuse(rq, "state must be running or paused, or both with a comma");
    }
    f->running = f->running || !any;
    return true;
}

/* It is a query within the query: metadata=user%3Dme%26app%3Dx. */
static bool decode_metadata(struct http_request *rq, struct list_filter *f)
{
    const json_t *have = e2b_of(rq)->sandbox.metadata;
    const char *wanted = http_query(rq, "metadata");
    struct url_query q = {0};

    f->metadata_fits = true;
    if (wanted == NULL)
        return true;
    if (query_parse(&q, wanted, NULL) < 0)
        return refuse(rq, "Error parsing metadata: send NAME=VALUE&NAME=VALUE, encoded as one "
                          "value of the query");
    for (size_t i = 0; f->metadata_fits && i < q.count; i++) {
        const char *is = json_string_value(json_object_get(have, q.list[i].name));

        f->metadata_fits = is != NULL && strcmp(is, q.list[i].value) == 0;
    }
    query_fini(&q);
    return true;
}

/* False: not a cursor of this order. */
static bool parse_cursor(char *text, bool ascending, int64_t *at, const char **id)
{
    char *second = strstr(text, "__"), *third;

    if (second == NULL)
        return false;
    *second = '\0';
    *id = second + 2;
    third = strstr(second + 2, "__");
    if (third != NULL) {
        *third = '\0';
        if (strcmp(third + 2, "asc") != 0)
            return false;
    }
    return ascending == (third != NULL) && rfc3339_parse(text, at);
}

/* What the original returns with a full page: where the next one begins. */
static bool decode_cursor(struct http_request *rq, struct list_filter *f)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    const char *token = http_query(rq, "nextToken"), *id;
    struct buf plain = {0};
    char text[CURSOR_BYTES] = "";
    int64_t at;

    f->after_cursor = true;
    if (token == NULL || token[0] == '\0')
        return true;
    if (base64_decode(&plain, token, strlen(token)) && plain.len < sizeof text)
        snprintf(text, sizeof text, "%s", buf_cstr(&plain));
    buf_fini(&plain);
    if (!parse_cursor(text, f->ascending, &at, &id))
        return refuse(rq, "Invalid next token");
    if (at != s->started_ms)
        f->after_cursor = f->ascending ? s->started_ms > at : s->started_ms < at;
    else
        f->after_cursor = f->ascending ? strcmp(s->id, id) < 0 : strcmp(s->id, id) > 0;
    return true;
}

static bool decode_page(struct http_request *rq, struct list_filter *f)
{
    const char *limit = http_query(rq, "limit"), *order = http_query(rq, "order");
    int64_t n;

    if (limit != NULL && !text_to_i64(limit, 1, PAGE_MAX, &n))
        return refuse(rq, "limit must be a number from 1 to 100");
    f->ascending = order != NULL && strcmp(order, "asc") == 0;
    if (order != NULL && !f->ascending && strcmp(order, "desc") != 0)
        return refuse(rq, "order must be asc or desc");
    return decode_cursor(rq, f);
}

static bool decode_filter(struct http_request *rq, struct list_filter *f)
{
    const char *after = http_query(rq, "startedAfter");

    f->started_after = INT64_MIN;
    if (after != NULL && !rfc3339_parse(after, &f->started_after))
        return refuse(rq, "startedAfter must be a time in RFC 3339 format");
    f->template = http_query(rq, "template");
    if (f->template != NULL && (f->template[0] == '\0' || strchr(f->template, ':') != NULL))
        return refuse(rq, "Invalid template: name a template without a tag");
    return decode_states(rq, f) && decode_metadata(rq, f) && decode_page(rq, f);
}

/* --- the reply ----------------------------------------------------------------------------- */

static bool is_listed(const struct e2b_sandbox *s, const struct list_filter *f)
{
    return !s->killed && f->running && f->metadata_fits && s->started_ms >= f->started_after &&
           (f->template == NULL || strcmp(f->template, s->template) == 0);
}

static void reply_list(struct http_request *rq, bool listed)
{
    struct json_out o = dialect_array_open(dialect_base_of(rq));

    if (listed) {
        json_open(&o, '{');
        e2b_write_detail(&o, &e2b_of(rq)->sandbox);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    http_reply_json(rq, 200, &dialect_base_of(rq)->scratch);
}

void e2b_sandbox_list(struct http_request *rq)
{
    struct list_filter f = {0};
    bool listed;

    if (!decode_filter(rq, &f))
        return;
    listed = is_listed(&e2b_of(rq)->sandbox, &f);
    if (f.running)
        http_add_header(rq, "X-Total-Running", listed ? "1" : "0"); /* whatever the page */
    reply_list(rq, listed && f.after_cursor);
}

/* The older call knows no other filter and no pages. */
void e2b_sandbox_list_v1(struct http_request *rq)
{
    struct list_filter f = {.running = true, .started_after = INT64_MIN};

    if (decode_metadata(rq, &f))
        reply_list(rq, is_listed(&e2b_of(rq)->sandbox, &f));
}
