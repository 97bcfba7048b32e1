/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_file_read.c - a file in one reply, or as a stream of events
 *
 * A reply is held in memory, so there is a limit; a stream has none, and is paced by its client.
 * Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/cloudflare/cf_file.h"
#include "dialects/cloudflare/cf_mime.h"
#include "dialects/cloudflare/cloudflare_limits.h"

#define SNIFF_BYTES 4096 /* decide whether a file without a known ending is text */

/* The first line describes the file. What follows are its bytes. False: nothing follows. */
static bool read_head(struct cf_file *f, const char **bytes, size_t *len)
{
    const char *line;
    struct file_entry e;
    size_t n;

    if (f->size >= 0)
        return *len > 0;
    line = file_lines_next(&f->lines, bytes, len, &n);
    if (line == NULL || !file_entry_decode(&e, line, n))
        return false;
    f->size = e.size >= 0 ? e.size : 0;
    file_entry_fini(&e);
    return *len > 0;
}

static void put_type(struct json_out *o, const struct cf_file *f)
{
    json_kstr(o, "encoding", f->as_text ? "utf-8" : "base64");
    json_kbool(o, "isBinary", !f->as_text);
    json_kstr(o, "mimeType", f->type);
}

static void not_opened(struct cf_file *f)
{
    cf_file_fail(f, 500, "FILESYSTEM_ERROR", "the file operation has failed", NULL, -1, -1);
}

/* --- one reply ------------------------------------------------------------------------------- */

static void too_large(struct cf_file *f)
{
    char text[160];

    snprintf(
        text, sizeof text,
        "the file is larger than %d bytes: read it by readFileStream(), or a part by a command",
        LIMIT_CF_FILE_BYTES);
    cf_file_abandon(f);
    cf_file_fail(f, 413, "FILE_TOO_LARGE", text, NULL, f->size, LIMIT_CF_FILE_BYTES);
}

static size_t max_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void whole_bytes(struct cf_file *f, const char *bytes, size_t len)
{
    bool some = read_head(f, &bytes, &len);

    if (f->size > LIMIT_CF_FILE_BYTES ||
        (some && f->bytes.len + len > (size_t)LIMIT_CF_FILE_BYTES)) {
        f->size = f->size > LIMIT_CF_FILE_BYTES ? f->size : (int64_t)(f->bytes.len + len);
        too_large(f);
        return;
    }
    if (some && cf_file_hold(f, max_of((size_t)f->size, f->bytes.len + len)))
        buf_put(&f->bytes, bytes, len);
}

/* Not with very many characters that JSON escapes, or bytes that it replaces. */
static bool fits_as_text(const char *bytes, size_t len)
{
    bool valid = utf8_is_valid(bytes, len);
    size_t size = len;

    for (size_t i = 0; i < len && size <= LIMIT_CF_TEXT_BYTES; i++) {
        unsigned char c = (unsigned char)bytes[i];

        size += c < 0x20 ? (strchr("\n\r\t\b\f", c) != NULL && c != '\0' ? 1 : 5)
                         : (c == '"' || c == '\\') + (c >= 0x80 && !valid ? 2 : 0);
    }
    return size <= LIMIT_CF_TEXT_BYTES;
}

/* As the file is known to its end, it may not end within a character either. */
static bool is_whole_text(const char *type, const char *bytes, size_t len)
{
    return cf_mime_is_text(type, bytes, len) && utf8_is_valid(bytes, len);
}

static void whole_done(struct cf_file *f)
{
    const char *bytes = buf_data(&f->bytes), *wanted = f->request.encoding;
    size_t len = f->bytes.len;
    struct json_out o;

    if (f->size < 0) {
        not_opened(f);
        return;
    }
    f->type = cf_mime_type(f->path, bytes, len);
    f->as_text = wanted != NULL ? !f->binary_input : is_whole_text(f->type, bytes, len);
    if (f->as_text && !fits_as_text(bytes, len)) {
        if (wanted != NULL) {
            cf_file_fail(f, 413, "FILE_TOO_LARGE",
                         "the text is too large as JSON: read it as base64", NULL, f->size,
                         LIMIT_CF_FILE_BYTES);
            return;
        }
        f->as_text = false;
    }
    o = cf_file_ok(f);
    json_key(&o, "content");
    if (f->as_text)
        json_strn(&o, bytes, len);
    else
        json_base64(&o, bytes, len);
    put_type(&o, f);
    json_ku64(&o, "size", len);
    cf_send(&f->call, 200, &o);
}

void cf_file_read(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "read",
                                             .operation = "file.read",
                                             .missing = "File not found",
                                             .bytes = whole_bytes,
                                             .done = whole_done};

    cf_file_begin(q, &kind);
}

/* --- a stream -------------------------------------------------------------------------------- */

static void send_chunk(struct cf_file *f, const char *bytes, size_t len)
{
    struct json_out o;

    if (len == 0)
        return;
    o = cf_event(&f->call, "chunk");
    json_key(&o, "data");
    if (f->as_text)
        json_strn(&o, bytes, len);
    else
        json_base64(&o, bytes, len);
    cf_event_send(&f->call, &o);
}

/* Three bytes are four characters of base64, so clients may join all chunks before they decode. */
static void send_groups(struct cf_file *f, const char *bytes, size_t len)
{
    size_t n;

    buf_put(&f->bytes, bytes, len);
    n = f->bytes.len - f->bytes.len % 3;
    send_chunk(f, buf_data(&f->bytes), n);
    buf_drop(&f->bytes, n);
}

static void stream_error(struct cf_file *f, const char *why)
{
    struct json_out o = cf_event(&f->call, "error");

    json_kstr(&o, "error", why);
    cf_event_send(&f->call, &o);
    call_stream_end(&f->call);
}

/* The client has a part of the text already, so it cannot become base64. */
static void stream_spoilt(struct cf_file *f)
{
    cf_file_abandon(f);
    stream_error(f, "the file began as text, but is not UTF-8: read it as base64 by readFile()");
}

/* False: the stream has ended with an error. */
static bool send_bytes(struct cf_file *f, const char *bytes, size_t len)
{
    struct buf whole = {0};

    f->sent += (int64_t)len;
    if (!f->as_text) {
        send_groups(f, bytes, len);
        return true;
    }
    if (!utf8_check_feed(&f->check, bytes, len)) {
        stream_spoilt(f);
        return false;
    }
    whole_text_feed(&f->text, false, bytes, len, &whole);
    send_chunk(f, buf_data(&whole), whole.len);
    buf_fini(&whole);
    return true;
}

/* `all`: these are all bytes of the file. */
static void stream_begin(struct cf_file *f, bool all)
{
    bool (*is_text)(const char *, const char *, size_t) = all ? is_whole_text : cf_mime_is_text;
    struct buf begun = f->bytes;
    struct json_out o;

    f->type = cf_mime_type(f->path, buf_data(&f->bytes), f->bytes.len);
    f->as_text = is_text(f->type, buf_data(&f->bytes), f->bytes.len);
    cf_stream_begin(&f->call);
    o = cf_event(&f->call, "metadata");
    put_type(&o, f);
    json_kint(&o, "size", f->size);
    cf_event_send(&f->call, &o);
    f->bytes = (struct buf){0};
    (void)send_bytes(f, buf_data(&begun), begun.len); /* they are text as far as they go */
    buf_fini(&begun);
}

static void stream_bytes(struct cf_file *f, const char *bytes, size_t len)
{
    if (!read_head(f, &bytes, &len))
        return;
    if (f->call.streams) {
        (void)send_bytes(f, bytes, len);
        return;
    }
    buf_put(&f->bytes, bytes, len);
    if (f->bytes.len >= SNIFF_BYTES)
        stream_begin(f, false);
}

static void stream_done(struct cf_file *f)
{
    struct buf rest = {0};
    struct json_out o;

    if (f->size < 0) {
        not_opened(f);
        return;
    }
    if (!f->call.streams)
        stream_begin(f, true);
    if (f->as_text && !utf8_check_done(&f->check)) {
        stream_spoilt(f);
        return;
    }
    send_chunk(f, buf_data(&f->bytes), f->bytes.len); /* one or two bytes that are not text */
    whole_text_end(&f->text, false, &rest);
    send_chunk(f, buf_data(&rest), rest.len);
    buf_fini(&rest);
    o = cf_event(&f->call, "complete");
    json_kint(&o, "bytesRead", f->sent);
    cf_event_send(&f->call, &o);
    call_stream_end(&f->call);
}

/* Also before the first byte: that is where its clients look for it. */
static void stream_failed(struct cf_file *f, const struct file_fault *fault)
{
    if (!f->call.streams)
        cf_stream_begin(&f->call);
    stream_error(f, fault->err.detail);
}

void cf_file_stream(struct cf_request *q)
{
    static const struct cf_file_kind kind = {.op = "read",
                                             .operation = "file.read",
                                             .missing = "File not found",
                                             .bytes = stream_bytes,
                                             .done = stream_done,
                                             .failed = stream_failed};

    cf_file_begin(q, &kind);
}
