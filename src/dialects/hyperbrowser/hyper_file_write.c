/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_file_write.c - files/write: one file or several, as text or base64 in JSON
 *
 * All are checked before the first is written; then they are written one after the other.
 * Layer: dialects.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/transfer.h"
#include "dialects/hyperbrowser/hyper_files.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

struct file_write {
    struct call call;
    struct transfer *transfer; /* writes the file `at`; NULL: none */
    json_t *body, *files;      /* files NULL: the body is the file */
    const char *user;          /* borrowed from the body */
    size_t at, count;
    struct buf results; /* the finished files, as JSON */
};

/* --- decoding -------------------------------------------------------------------------------- */

static const json_t *file_at(const struct file_write *w, size_t i)
{
    return w->files != NULL ? json_array_get(w->files, i) : w->body;
}

/* Appends what to write. */
static int decode_data(const struct hyper_file_body *b, struct buf *bytes, struct hf_error *err)
{
    const char *text = json_string_value(b->data);
    size_t len = json_string_length(b->data);

    if (text == NULL)
        return hf_fail_field(err, b->data == NULL ? HF_E_missing_field : HF_E_bad_type, "data",
                             "data must be a string");
    if (b->encoding == NULL || strcmp(b->encoding, "utf8") == 0) {
        buf_put(bytes, text, len);
        return 0;
    }
    if (strcmp(b->encoding, "base64") != 0)
        return hf_fail_field(err, HF_E_bad_value, "encoding", "encoding must be utf8 or base64");
    if (!base64_decode(bytes, text, len))
        return hf_fail_field(err, HF_E_bad_value, "data", "data is not base64");
    return 0;
}

static int decode_file(const struct file_write *w, size_t i, struct hyper_file_body *b,
                       struct buf *bytes, struct hf_error *err)
{
    const json_t *v = file_at(w, i);
    int rc;

    if (!json_is_object(v))
        return hf_fail_field(err, HF_E_bad_type, "files", "each of the files must be an object");
    rc = hyper_file_fields(v, HYPER_NEEDS_PATH, b, err);
    return rc < 0 ? rc : decode_data(b, bytes, err);
}

static int check_all(const struct file_write *w, struct hf_error *err)
{
    struct hyper_file_body b;
    struct buf bytes = {0};
    int rc = 0;

    if (w->count == 0 || w->count > LIMIT_HYPER_FILES)
        return hf_fail_field(err, HF_E_bad_value, "files", "write 1 to %d files",
                             LIMIT_HYPER_FILES);
    for (size_t i = 0; rc == 0 && i < w->count; i++) {
        buf_clear(&bytes);
        rc = decode_file(w, i, &b, &bytes, err);
    }
    buf_fini(&bytes);
    return rc;
}

/* --- the call -------------------------------------------------------------------------------- */

static void write_release(struct call *c)
{
    struct file_write *w = (struct file_write *)c;

    transfer_free(w->transfer);
    json_decref(w->body);
    buf_fini(&w->results);
}

static void write_leave(struct call *c)
{
    struct file_write *w = (struct file_write *)c;

    transfer_abandon(w->transfer);
    w->transfer = NULL;
}

static void write_drain(struct call *c)
{
    struct hf_error err = {0};

    write_leave(c);
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    call_fail(c, &err);
}

static const struct call_kind write_kind = {
    .release = write_release, .disconnected = write_leave, .drain = write_drain};

static void write_note(struct file_write *w, const struct hyper_file_body *b)
{
    const char *base = strrchr(b->path, '/');
    struct json_out o;

    if (w->results.len > 0)
        buf_putc(&w->results, ',');
    json_out_init(&o, &w->results);
    json_open(&o, '{');
    json_kstr(&o, "path", b->path);
    json_kstr(&o, "name", base != NULL ? base + 1 : b->path);
    json_kstr(&o, "type", "file");
    json_close(&o, '}');
}

static void write_reply(struct file_write *w)
{
    struct json_out o = dialect_reply_open(w->call.base);

    json_kopen(&o, "files", '[');
    json_raw(&o, buf_data(&w->results), w->results.len);
    json_close(&o, ']');
    call_send(&w->call, 200, &o);
}

/* Both when the writer starts and when there is room. One that accepts no more has ended. */
static void write_push(void *arg)
{
    const struct file_write *w = arg;

    (void)stdin_feed_flush(transfer_feed(w->transfer), NULL);
}

static void write_next(struct file_write *w);

static void write_done(void *arg, const struct transfer_end *end)
{
    struct file_write *w = arg;

    w->transfer = NULL;
    if (end->not_started || !end->ok) {
        hyper_error(call_detach(&w->call), &end->fault.err);
        call_end(&w->call);
        return;
    }
    w->at++;
    write_next(w);
}

static void write_next(struct file_write *w)
{
    static const struct transfer_ops ops = {
        .started = write_push, .room = write_push, .done = write_done};
    struct hyper_file_body b = {0};
    struct hf_error err = {0};
    struct buf bytes = {0};
    struct file_op op;
    int rc;

    if (w->at == w->count) {
        write_reply(w);
        return;
    }
    rc = decode_file(w, w->at, &b, &bytes, &err);
    if (rc == 0) {
        assert(b.path != NULL);
        write_note(w, &b);
        file_op_init(&op, w->user, "write", b.path);
        file_op_option(&op, "mode", b.mode);
        file_op_flag(&op, "append", b.append);
        rc = transfer_start(w->call.base, &op, &ops, w, &w->transfer, &err);
        file_op_fini(&op);
    }
    if (rc == 0) {
        stdin_feed_hold(transfer_feed(w->transfer), buf_data(&bytes), bytes.len);
        transfer_feed(w->transfer)->eof = true;
    }
    buf_fini(&bytes);
    if (rc < 0)
        call_fail(&w->call, &err);
}

void hyper_file_write(struct http_request *rq)
{
    struct hyper_file_body b;
    json_t *body = hyper_file_body(rq, 0, &b);
    struct hf_error err = {0};
    struct file_write look = {0}, *w;

    if (body == NULL)
        return;
    look.body = body;
    look.files = b.files;
    look.count = b.files != NULL ? json_array_size(b.files) : 1;
    if (dialect_failed(rq, check_all(&look, &err), &err)) {
        json_decref(body);
        return;
    }
    w = call_begin(rq, &write_kind, sizeof *w);
    w->body = body;
    w->files = b.files;
    w->user = b.user;
    w->count = look.count;
    write_next(w);
}
