/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_file_put.c - bulk-upload: files as the parts files[N].file of a form, whose destinations are
 * the parts files[N].path before them
 *
 * Each file is a transfer, one after the other, and the body is read only as fast as it is written.
 * A file that cannot be written is reported at the end, and the others are written all the same, as
 * in the original. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/multipart.h"
#include "dialects/common/transfer.h"
#include "dialects/daytona/daytona_limits.h"
#include "dialects/daytona/dt_file.h"

enum put_stage {
    BETWEEN,  /* no file is open */
    NAMING,   /* a part with a path */
    STARTING, /* its writer is being started */
    WRITING,
    CLOSING, /* its input has ended; waiting for the result */
    SKIPPING /* a part that is not needed */
};

struct put {
    struct call call;
    struct multipart form;
    enum put_stage stage;
    struct transfer *file; /* writes the file that is open; NULL: none */
    json_t *paths;         /* {"N":"path"}: from the parts with paths */
    char key[64];          /* N of the part that is open */
    struct buf text;       /* of the path that is being read */
    int64_t bytes;         /* of the file that is open */
    struct buf files, errors;
    size_t count;
    bool last, done; /* the body is complete; the form's last boundary was seen */
};

static void put_release(struct call *c)
{
    struct put *p = (struct put *)c;

    transfer_free(p->file);
    json_decref(p->paths);
    buf_fini(&p->text);
    buf_fini(&p->files);
    buf_fini(&p->errors);
}

static void put_leave(struct call *c)
{
    struct put *p = (struct put *)c;

    transfer_abandon(p->file);
    p->file = NULL;
}

static void put_drain(struct call *c)
{
    put_leave(c);
    dt_fail(call_detach(c), 503, NULL, "the daemon is shutting down");
    call_end(c);
}

static const struct call_kind put_kind = {
    .release = put_release, .disconnected = put_leave, .drain = put_drain};

/* --- results --------------------------------------------------------------------------------- */

static void note_error(struct put *p, const char *what, const char *why)
{
    struct buf text = {0};
    struct json_out o;

    if (p->errors.len > LIMIT_DT_ERRORS_BYTES)
        return;
    buf_printf(&text, "%s: %s", what, why);
    if (p->errors.len > 0)
        buf_putc(&p->errors, ',');
    json_out_init(&o, &p->errors);
    json_str(&o, buf_cstr(&text));
    buf_fini(&text);
}

static const char *path_of_part(const struct put *p)
{
    return json_string_value(json_object_get(p->paths, p->key));
}

static void note_file(struct put *p)
{
    struct json_out o;

    if (p->files.len > 0)
        buf_putc(&p->files, ',');
    json_out_init(&o, &p->files);
    json_open(&o, '{');
    json_kstr(&o, "path", path_of_part(p));
    json_kint(&o, "bytes", p->bytes);
    json_close(&o, '}');
}

static void put_reply(struct put *p)
{
    struct json_out o = dialect_reply_open(p->call.base);

    if (p->errors.len > 0) {
        json_kopen(&o, "errors", '[');
        json_raw(&o, buf_data(&p->errors), p->errors.len);
        json_close(&o, ']');
    }
    json_kopen(&o, "files", '[');
    if (p->files.len > 0)
        json_raw(&o, buf_data(&p->files), p->files.len);
    json_close(&o, ']');
    call_send(&p->call, p->errors.len > 0 ? 400 : 200, &o);
}

/* --- one file -------------------------------------------------------------------------------- */

/* What is held goes to the process, then the end if that was reached; then reading resumes. */
static void put_push(void *arg)
{
    struct put *p = arg;
    bool eof = transfer_feed(p->file)->eof;

    if (stdin_feed_flush(transfer_feed(p->file), NULL) <= 0)
        return;
    if (eof)
        p->stage = CLOSING;
    else
        http_body_resume(p->call.rq);
}

static void put_started(void *arg)
{
    struct put *p = arg;

    p->stage = WRITING;
    put_push(p);
}

static void put_done(void *arg, const struct transfer_end *end)
{
    struct put *p = arg;
    bool whole = p->stage == CLOSING || transfer_feed(p->file)->eof;

    p->file = NULL;
    if (end->ok && whole)
        note_file(p);
    else
        note_error(p, path_of_part(p),
                   end->not_started ? end->fault.err.detail : dt_file_words(&end->fault).message);
    p->stage = whole ? BETWEEN : SKIPPING;
    if (p->last && p->done && p->stage == BETWEEN)
        put_reply(p);
    else
        http_body_resume(p->call.rq);
}

static void file_open(struct put *p)
{
    static const struct transfer_ops ops = {
        .started = put_started, .room = put_push, .done = put_done};
    struct hf_error err = {0};
    char path[PATH_MAX];
    struct file_op op;

    p->stage = SKIPPING;
    p->bytes = 0;
    if (path_of_part(p) == NULL) {
        note_error(p, p->form.name, "missing .path metadata");
    } else if (p->count++ >= LIMIT_DT_FILES) {
        note_error(p, path_of_part(p), "too many files in one form");
    } else if (!dt_file_path((struct dt *)p->call.base, path_of_part(p), path)) {
        note_error(p, path_of_part(p), "invalid path");
    } else {
        file_op_init(&op, NULL, "write", path);
        if (transfer_start(p->call.base, &op, &ops, p, &p->file, &err) < 0)
            note_error(p, path_of_part(p), err.detail);
        else
            p->stage = STARTING;
        file_op_fini(&op);
    }
}

/* --- the body -------------------------------------------------------------------------------- */

/* N of files[N].SUFFIX, or of any name with this suffix. */
static bool has_suffix(struct put *p, const char *suffix)
{
    const char *name = p->form.name;
    size_t len = strlen(name), n = strlen(suffix);

    if (len < n || strcmp(name + len - n, suffix) != 0 || len - n >= sizeof p->key)
        return false;
    memcpy(p->key, name, len - n);
    p->key[len - n] = '\0';
    return true;
}

static void part_begin(struct put *p)
{
    p->stage = SKIPPING;
    if (has_suffix(p, ".path")) {
        buf_clear(&p->text);
        p->stage = NAMING;
    } else if (has_suffix(p, ".file")) {
        file_open(p);
    }
}

static void part_data(struct put *p)
{
    if (p->stage == NAMING && p->text.len <= PATH_MAX)
        buf_put(&p->text, p->form.data, p->form.data_len);
    if (p->stage != WRITING)
        return;
    p->bytes += (int64_t)p->form.data_len;
    stdin_feed_hold(transfer_feed(p->file), p->form.data, p->form.data_len);
    put_push(p);
}

static void path_end(struct put *p)
{
    const char *text = buf_cstr(&p->text);
    size_t len = p->text.len;
    json_t *v = NULL;

    p->stage = BETWEEN;
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    if (len > 0 && len < PATH_MAX && memchr(text, '\0', len) == NULL &&
        json_object_size(p->paths) < LIMIT_DT_FILES)
        v = json_stringn(text, len);
    if (v == NULL || json_object_set_new(p->paths, p->key, v) < 0)
        note_error(p, p->form.name, len == 0 ? "empty path" : "invalid path, or too many");
}

static void part_end(struct put *p)
{
    if (p->stage == NAMING) {
        path_end(p);
    } else if (p->stage == WRITING) {
        transfer_feed(p->file)->eof = true;
        put_push(p);
    } else {
        p->stage = BETWEEN;
    }
}

static bool is_busy(const struct put *p)
{
    return p->stage == STARTING || p->stage == CLOSING ||
           (p->file != NULL && transfer_feed(p->file)->held.len > 0);
}

/* False: replied, and p is freed. */
static bool put_event(struct put *p, enum multipart_event e)
{
    switch (e) {
    case MULTIPART_PART: part_begin(p); return true;
    case MULTIPART_DATA: part_data(p); return true;
    case MULTIPART_PART_END: part_end(p); return true;
    case MULTIPART_DONE: p->done = true; return true;
    case MULTIPART_ERROR:
        put_leave(&p->call);
        dt_fail(call_detach(&p->call), 400, "BAD_REQUEST", "invalid multipart form");
        call_end(&p->call);
        return false;
    default: return true;
    }
}

static size_t put_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct put *p = http_user(rq);
    size_t at = 0, used;

    while (at < len && !is_busy(p)) {
        enum multipart_event e =
            multipart_feed(&p->form, (const char *)bytes + at, len - at, &used);

        at += used;
        if (!put_event(p, e))
            return len;
    }
    p->last = last;
    if (last && !p->done)
        (void)put_event(p, MULTIPART_ERROR);
    else if (last && p->stage == BETWEEN)
        put_reply(p);
    return at;
}

void dt_file_bulk_upload(struct http_request *rq)
{
    struct put *p = hf_xalloc(sizeof *p);

    if (!multipart_init(&p->form, http_header(rq, "Content-Type"))) {
        free(p);
        dt_fail(rq, 400, "BAD_REQUEST", "invalid multipart form");
        return;
    }
    p->paths = json_object();
    call_adopt(&p->call, rq, &put_kind);
    http_body_stream(rq, put_on_body);
}
