/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_file_get.c - bulk-download: several files as the parts of a form, one after the other
 *
 * A file that cannot be opened is a part named "error". One that fails later breaks the stream off,
 * so that it never looks whole. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/file_entry.h"
#include "dialects/common/transfer.h"
#include "dialects/daytona/daytona_limits.h"
#include "dialects/daytona/dt_file.h"

struct bulk {
    struct call call;
    struct transfer *transfer; /* reads the file `at`; NULL: none */
    struct file_lines lines;
    json_t *body, *paths; /* paths borrowed from body */
    char *path;           /* of the request */
    size_t at;
    bool opened;
    int64_t left; /* of the file that is open; -1: unknown */
    char boundary[40];
};

static void bulk_release(struct call *c)
{
    struct bulk *b = (struct bulk *)c;

    transfer_free(b->transfer);
    file_lines_fini(&b->lines);
    json_decref(b->body);
    free(b->path);
}

static void bulk_leave(struct call *c)
{
    struct bulk *b = (struct bulk *)c;

    transfer_abandon(b->transfer);
    b->transfer = NULL;
}

static void bulk_drain(struct call *c)
{
    bulk_leave(c);
    call_stream_abort(c);
}

static void bulk_room(struct call *c)
{
    struct bulk *b = (struct bulk *)c;

    if (b->transfer != NULL)
        transfer_pump(b->transfer);
}

static const struct call_kind bulk_kind = {
    .release = bulk_release, .disconnected = bulk_leave, .drain = bulk_drain, .room = bulk_room};

/* --- parts ----------------------------------------------------------------------------------- */

static void send(struct bulk *b, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (len > 0 && b->call.out != NULL)
        http_stream_write(b->call.out, &iov, 1);
}

/* The head of a part; its name is escaped as browsers do. */
static void send_head(struct bulk *b, const char *name, const char *type, int64_t length)
{
    const char *path = json_string_value(json_array_get(b->paths, b->at));
    struct buf head = {0};

    buf_printf(&head, "--%s\r\nContent-Type: %s\r\nContent-Disposition: form-data; name=\"%s\"; ",
               b->boundary, type, name);
    buf_puts(&head, "filename=\"");
    for (; *path != '\0'; path++) {
        if (*path == '"' || *path == '\\')
            buf_putc(&head, '\\');
        if (*path == '\r' || *path == '\n')
            buf_puts(&head, *path == '\r' ? "%0D" : "%0A");
        else
            buf_putc(&head, *path);
    }
    buf_puts(&head, "\"\r\n");
    if (length >= 0)
        buf_printf(&head, "Content-Length: %lld\r\n", (long long)length);
    buf_puts(&head, "\r\n");
    send(b, buf_data(&head), head.len);
    buf_fini(&head);
}

static void send_error(struct bulk *b, int status, const char *code, const char *message)
{
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    json_open(&o, '{');
    dt_put_error(&o, &(struct dt_error){status, code, message, b->path, "POST"});
    json_close(&o, '}');
    send_head(b, "error", "application/json", (int64_t)text.len);
    send(b, buf_data(&text), text.len);
    send(b, "\r\n", 2);
    buf_fini(&text);
}

/* --- one file after the other ----------------------------------------------------------------- */

static void bulk_next(struct bulk *b);

static bool bulk_ready(void *arg)
{
    const struct bulk *b = arg;

    return call_is_ready(&b->call);
}

static void bulk_abort(struct bulk *b)
{
    bulk_leave(&b->call);
    call_stream_abort(&b->call);
}

static void bulk_bytes(void *arg, const char *bytes, size_t len)
{
    struct bulk *b = arg;
    struct file_entry e;
    const char *line;
    size_t n;

    if (!b->opened) {
        line = file_lines_next(&b->lines, &bytes, &len, &n);
        if (line == NULL)
            return;
        if (!file_entry_decode(&e, line, n)) {
            bulk_abort(b);
            return;
        }
        b->opened = true;
        b->left = e.length;
        send_head(b, "file", "application/octet-stream", e.length);
        file_entry_fini(&e);
    }
    if (b->left >= 0 && len > (uint64_t)b->left) {
        bulk_abort(b);
        return;
    }
    if (b->left >= 0)
        b->left -= (int64_t)len;
    send(b, bytes, len);
}

static void bulk_done(void *arg, const struct transfer_end *end)
{
    struct bulk *b = arg;
    const struct dt_file_words w = dt_file_words(&end->fault);

    b->transfer = NULL;
    if (b->opened && end->ok && b->left <= 0) {
        send(b, "\r\n", 2);
    } else if (b->opened || end->ok) {
        call_stream_abort(&b->call);
        return;
    } else if (end->not_started) {
        send_error(b, 503, NULL, end->fault.err.detail);
    } else {
        send_error(b, w.status, w.code, w.message);
    }
    b->at++;
    bulk_next(b);
}

static void bulk_next(struct bulk *b)
{
    static const struct transfer_ops ops = {
        .ready = bulk_ready, .bytes = bulk_bytes, .done = bulk_done};
    struct dt *dt = (struct dt *)b->call.base;
    struct hf_error err = {0};
    char path[PATH_MAX];
    struct file_op op;

    for (; b->at < json_array_size(b->paths); b->at++) {
        if (!dt_file_path(dt, json_string_value(json_array_get(b->paths, b->at)), path)) {
            send_error(b, 400, "BAD_REQUEST", "invalid path");
            continue;
        }
        b->opened = false;
        file_lines_fini(&b->lines);
        file_op_init(&op, NULL, "read", path);
        if (transfer_start(b->call.base, &op, &ops, b, &b->transfer, &err) < 0)
            send_error(b, 503, NULL, err.detail);
        file_op_fini(&op);
        if (b->transfer != NULL)
            return;
    }
    send(b, "--", 2);
    send(b, b->boundary, strlen(b->boundary));
    send(b, "--\r\n", 4);
    call_stream_end(&b->call);
}

static bool are_paths(const json_t *paths)
{
    size_t count = json_array_size(paths);

    for (size_t i = 0; i < count; i++)
        if (json_string_value(json_array_get(paths, i)) == NULL)
            return false;
    return count > 0 && count <= LIMIT_DT_FILES;
}

void dt_file_bulk_download(struct http_request *rq)
{
    json_t *body = dialect_object(rq), *paths = json_object_get(body, "paths");
    unsigned char raw[12];
    struct bulk *b;
    char type[96];

    if (body == NULL)
        return;
    if (!are_paths(paths)) {
        dt_fail(rq, 400, "INVALID_REQUEST_BODY",
                "request body must be {\"paths\": [ ... ]} with 1 to %d paths", LIMIT_DT_FILES);
        json_decref(body);
        return;
    }
    b = call_begin(rq, &bulk_kind, sizeof *b);
    b->body = body;
    b->paths = paths;
    b->path = hf_xstrdup(http_path(rq));
    crypto_random(raw, sizeof raw);
    memcpy(b->boundary, "holdfast-", 9);
    hex_encode(b->boundary + 9, raw, sizeof raw);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%s", b->boundary);
    call_stream(&b->call, 200, type);
    bulk_next(b);
}
