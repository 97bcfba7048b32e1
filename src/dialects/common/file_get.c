/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_get.c - parts, versions and compression of a file that is read by HTTP. Layer: dialects.
 */
#include "dialects/common/file_get.h"

#include <stdio.h>
#include <string.h>

#include "dialects/common/dialect_base.h"
#include "dialects/common/http_range.h"

#define TAG_BYTES FILE_GET_TAG_BYTES
#define GZIP_TAG "-gzip"

static bool wants_part(struct http_request *rq, struct http_range *range)
{
    return http_range_parse(http_header(rq, "Range"), range);
}

/* A part of the packed bytes would be of no use, so a part is never packed. */
static bool wants_gzip(struct http_request *rq)
{
    struct http_range range;

    return !wants_part(rq, &range) && http_lists(rq, "Accept-Encoding", "gzip");
}

static void add_validators(struct http_request *rq, const struct file_entry *e, bool gzip)
{
    char text[TAG_BYTES + 16], date[HTTP_RANGE_DATE_BYTES];

    snprintf(text, sizeof text, "\"%.*s%s\"", TAG_BYTES, e->tag, gzip ? GZIP_TAG : "");
    http_add_header(rq, "ETag", text);
    http_range_date(e->modified_ms, date);
    if (date[0] != '\0')
        http_add_header(rq, "Last-Modified", date);
    http_add_header(rq, "Cache-Control", "private, no-cache");
    http_add_header(rq, "Vary", "Accept-Encoding");
}

static bool names_version(const char *header, const struct file_entry *e, bool weak)
{
    char packed[TAG_BYTES + 16];

    snprintf(packed, sizeof packed, "%.*s" GZIP_TAG, TAG_BYTES, e->tag);
    return http_range_lists_tag(header, e->tag, weak) || http_range_lists_tag(header, packed, weak);
}

/* The client has this version already. */
static bool is_known(struct http_request *rq, const struct file_entry *e)
{
    const char *tags = http_header(rq, "If-None-Match"),
               *since = http_header(rq, "If-Modified-Since");
    char date[HTTP_RANGE_DATE_BYTES];

    if (tags != NULL)
        return names_version(tags, e, true);
    http_range_date(e->modified_ms, date);
    return since != NULL && date[0] != '\0' && strcmp(since, date) == 0;
}

static bool reply_beyond(struct http_request *rq, const struct file_entry *e)
{
    char text[48];

    snprintf(text, sizeof text, "bytes */%lld", (long long)e->size);
    http_add_header(rq, "Content-Range", text);
    dialect_fail(rq, HF_E_range_not_satisfiable, "the file has %lld bytes", (long long)e->size);
    return false;
}

bool file_get_head(struct http_request *rq, const struct file_entry *e,
                   struct file_download_head *h)
{
    const char *match = http_header(rq, "If-Match");
    char text[80];

    if (e->tag == NULL) {
        dialect_fail(rq, HF_E_file_failed, "the file operation failed");
        return false;
    }
    if (match != NULL && !names_version(match, e, false)) {
        dialect_fail(rq, HF_E_precondition_failed, "the file does not match If-Match");
        return false;
    }
    if (is_known(rq, e)) {
        add_validators(rq, e, wants_gzip(rq));
        http_reply_empty(rq, 304);
        return false;
    }
    if (e->beyond)
        return reply_beyond(rq, e);
    add_validators(rq, e, wants_gzip(rq));
    http_add_header(rq, "Accept-Ranges", "bytes");
    if (wants_gzip(rq))
        http_add_header(rq, "Content-Encoding", "gzip");
    if (e->partial) {
        snprintf(text, sizeof text, "bytes %lld-%lld/%lld", (long long)e->from,
                 (long long)(e->from + e->length - 1), (long long)e->size);
        http_add_header(rq, "Content-Range", text);
        h->status = 206;
    }
    return true;
}

/* A date in If-Range names no version for certain, so it never matches. */
static void add_part(struct http_request *rq, struct file_op *op)
{
    const char *only_if = http_header(rq, "If-Range");
    struct http_range range;
    char tag[TAG_BYTES];

    if (!wants_part(rq, &range))
        return;
    if (range.from < 0) {
        file_op_number(op, "last", range.length);
    } else {
        file_op_number(op, "from", range.from);
        if (range.length >= 0)
            file_op_number(op, "length", range.length);
    }
    if (only_if != NULL)
        file_op_option(op, "if_range", http_range_single_tag(only_if, tag, sizeof tag) ? tag : "-");
}

void file_get_options(struct http_request *rq, struct file_op *op)
{
    add_part(rq, op);
    if (wants_gzip(rq))
        file_op_flag(op, "gzip", true);
}
