/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_find.c - /find and /api/fs/find: lines by a regular expression, and paths by a few characters
 *
 * In the request's directory, without what the project's ignore files name. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/file_call.h"
#include "dialects/opencode/oc_pattern.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"

/* --- lines ----------------------------------------------------------------------------------- */

static void write_text(struct json_out *o, const char *key, const char *text)
{
    json_kopen(o, key, '{');
    json_kstr(o, "text", text != NULL ? text : "");
    json_close(o, '}');
}

static void write_match(struct json_out *o, const struct file_entry *e, int below)
{
    const json_t *span;
    size_t i;

    json_open(o, '{');
    write_text(o, "path", strlen(e->path) >= (size_t)below ? e->path + below : "");
    write_text(o, "lines", e->text);
    json_kint(o, "line_number", e->line);
    json_kint(o, "absolute_offset", e->offset);
    json_kopen(o, "submatches", '[');
    json_array_foreach (e->spans, i, span) {
        json_open(o, '{');
        write_text(o, "match", json_string_value(json_object_get(span, "text")));
        json_kint(o, "start", json_integer_value(json_object_get(span, "start")));
        json_kint(o, "end", json_integer_value(json_object_get(span, "end")));
        json_close(o, '}');
    }
    json_close(o, ']');
    json_close(o, '}');
}

void oc_find_text(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = write_match, .reply = oc_entries_reply, .failed = oc_file_failed};
    const char *pattern = oc_query(rq, "pattern");
    hf_autobuf struct buf expression = {0};
    struct oc_place place;
    struct hf_error err = {0};
    struct file_op op;
    bool any_case;

    if (pattern == NULL || !oc_place(rq, ".", &place))
        return;
    if (dialect_failed(rq, oc_pattern_decode(pattern, &expression, &any_case, &err), &err))
        return;
    file_op_init(&op, NULL, "search", place.directory);
    file_op_option(&op, "regex", buf_cstr(&expression));
    file_op_flag(&op, "case", !any_case);
    file_op_flag(&op, "ignore", true);
    file_op_flag(&op, "spans", true);
    file_op_number(&op, "limit", OC_FIND_LINES);
    file_call_begin(rq, &op, &ops, oc_place_below(&place));
}

/* --- paths ----------------------------------------------------------------------------------- */

/* "file", "directory", or "" for both; NULL: replied. */
static const char *query_kind(struct http_request *rq)
{
    const char *kind = http_query(rq, "type"), *dirs = http_query(rq, "dirs");

    if (kind != NULL && strcmp(kind, "file") != 0 && strcmp(kind, "directory") != 0) {
        oc_invalid(rq, 400, "Query", "Expected \"file\" | \"directory\"\n  at [\"type\"]");
        return NULL;
    }
    if (oc_is_api(rq) || dirs == NULL)
        return kind != NULL ? kind : "";
    if (strcmp(dirs, "true") != 0 && strcmp(dirs, "false") != 0) {
        oc_invalid(rq, 400, "Query", "Expected \"true\" | \"false\"\n  at [\"dirs\"]");
        return NULL;
    }
    return kind != NULL ? kind : strcmp(dirs, "false") == 0 ? "file" : "";
}

static bool query_limit(struct http_request *rq, int64_t *out)
{
    const char *text = http_query(rq, "limit");
    int64_t most = oc_is_api(rq) ? LIMIT_SEARCH_RESULTS : LIMIT_OC_FIND_PATHS;

    *out = oc_is_api(rq) ? OC_FIND_API_PATHS : OC_FIND_PATHS;
    if (text == NULL || text_to_i64(text, 1, most, out))
        return true;
    if (oc_is_api(rq) && text_to_i64(text, 1, INT64_MAX, out)) {
        *out = most;
        return true;
    }
    oc_invalid(rq, 400, "Query",
               oc_is_api(rq) ? "Expected a positive integer\n  at [\"limit\"]"
                             : "Expected an integer between 1 and 200\n  at [\"limit\"]");
    return false;
}

void oc_find_files(struct http_request *rq)
{
    static const struct file_call_ops ops = {
        .entry = oc_write_path, .reply = oc_entries_reply, .failed = oc_file_failed};
    static const struct file_call_ops api_ops = {
        .entry = oc_write_entry, .reply = oc_entries_reply, .failed = oc_file_failed};
    const char *query = oc_query(rq, "query"), *kind;
    struct oc_place place;
    struct file_op op;
    int64_t limit;

    if (query == NULL || (kind = query_kind(rq)) == NULL || !query_limit(rq, &limit) ||
        !oc_place(rq, ".", &place))
        return;
    if (strlen(query) > LIMIT_SEARCH_PATTERN_BYTES) {
        oc_invalid(rq, 400, "Query", "the query is too long\n  at [\"query\"]");
        return;
    }
    file_op_init(&op, NULL, "find", place.directory);
    file_op_arg(&op, query);
    file_op_option(&op, "kind", kind[0] != '\0' ? kind : NULL);
    file_op_number(&op, "limit", limit);
    file_call_begin(rq, &op, oc_is_api(rq) ? &api_ops : &ops, oc_place_below(&place));
}

/* There is no language server. */
void oc_find_symbols(struct http_request *rq)
{
    if (oc_query(rq, "query") != NULL)
        oc_send_json(rq, "[]");
}
