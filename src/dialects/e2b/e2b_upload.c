/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_upload.c - POST /files: one file as the body, or several in a form
 *
 * Each file is a transfer, one after the other. The body is read only as fast as it is written:
 * what there is no room for is held, and reading pauses until that is written. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "dialects/common/multipart.h"
#include "dialects/common/transfer.h"
#include "dialects/e2b/e2b_files.h"

#define UPLOAD_FILES_MAX 1000 /* in one form */

enum stage {
    BETWEEN,  /* no file is open */
    STARTING, /* its writer is being started */
    WRITING,
    CLOSING, /* its input has ended; waiting for the result */
    SKIPPING /* a part of the form that is not a file */
};

struct e2b_upload {
    struct call call; /* its rq is NULL once it is replied to, or the client has disconnected */
    struct file_request request; /* request.path: "" if each part names its own */
    char path[PATH_MAX];         /* of the file that is open */
    struct multipart *form;      /* NULL: the body is the file */
    enum stage stage;
    bool gzip;              /* the body is packed */
    char *metadata;         /* of every file, an object in JSON; NULL: none */
    struct file_lines told; /* what its writer reports */
    struct transfer *file;  /* writes the file that is open; NULL: none */
    struct buf results;     /* the finished files, as JSON */
    size_t files;
    bool last; /* the body is complete */
    bool done; /* the form's last boundary was seen */
};

/* --- the end ------------------------------------------------------------------------------- */

static void upload_release(struct call *c)
{
    struct e2b_upload *u = list_entry(c, struct e2b_upload, call);

    transfer_free(u->file);
    buf_fini(&u->results);
    file_lines_fini(&u->told);
    free(u->metadata);
    free(u->form);
}

static void upload_leave(struct call *c)
{
    struct e2b_upload *u = list_entry(c, struct e2b_upload, call);

    transfer_abandon(u->file);
    u->file = NULL;
}

static void upload_end(struct e2b_upload *u)
{
    upload_leave(&u->call);
    call_end(&u->call);
}

static void upload_fail(struct e2b_upload *u, int status, const char *why)
{
    e2b_plain_error(call_detach(&u->call), status, why);
    upload_end(u);
}

static void upload_drain(struct call *c)
{
    upload_fail(list_entry(c, struct e2b_upload, call), 503, "the daemon is shutting down");
}

static const struct call_kind upload_kind = {
    .release = upload_release,
    .disconnected = upload_leave,
    .drain = upload_drain,
};

static void upload_reply(struct e2b_upload *u)
{
    struct buf *b = &u->call.base->scratch;

    if (u->files == 0) {
        upload_fail(u, 400, "the body contains no file");
        return;
    }
    buf_clear(b);
    buf_putc(b, '[');
    buf_put(b, buf_data(&u->results), u->results.len);
    buf_putc(b, ']');
    http_reply_json(call_detach(&u->call), 200, b);
    upload_end(u);
}

/* --- one file -------------------------------------------------------------------------------- */

static void upload_push(void *arg);

static void file_note(struct e2b_upload *u, const struct file_entry *e)
{
    struct json_out o;

    if (u->files++ > 0)
        buf_putc(&u->results, ',');
    json_out_init(&o, &u->results);
    e2b_file_info(&o, u->path, e);
}

/* The writer reports the file once it has its name. */
static void file_bytes(void *arg, const char *bytes, size_t len)
{
    struct e2b_upload *u = arg;
    struct file_entry e;
    size_t n;
    const char *line = file_lines_next(&u->told, &bytes, &len, &n);

    if (line == NULL || !file_entry_decode(&e, line, n))
        return;
    file_note(u, &e);
    file_entry_fini(&e);
}

static void file_started(void *arg)
{
    struct e2b_upload *u = arg;

    u->stage = WRITING;
    upload_push(u);
}

static void file_done(void *arg, const struct transfer_end *end)
{
    struct e2b_upload *u = arg;
    const struct e2b_file_words w = e2b_file_words(&end->fault);

    u->file = NULL;
    if (end->not_started) {
        e2b_error(call_detach(&u->call), &end->fault.err);
        upload_end(u);
    } else if (u->stage != CLOSING || !end->ok) {
        upload_fail(u, w.status, w.message);
    } else {
        u->stage = BETWEEN;
        if (u->form == NULL || (u->last && u->done))
            upload_reply(u);
        else
            http_body_resume(u->call.rq);
    }
}

/* False: replied to, and u is freed. */
static bool file_open(struct e2b_upload *u)
{
    static const struct transfer_ops ops = {
        .started = file_started, .bytes = file_bytes, .room = upload_push, .done = file_done};
    struct file_op op;
    struct hf_error err;
    int rc;

    if (u->files >= UPLOAD_FILES_MAX) {
        upload_fail(u, 400, "the form has too many files");
        return false;
    }
    e2b_file_op(&op, u->call.rq, &u->request, "write", u->path, NULL);
    file_op_option(&op, "set", u->metadata);
    file_op_flag(&op, "gzip", u->gzip);
    rc = transfer_start(u->call.base, &op, &ops, u, &u->file, &err);
    file_op_fini(&op);
    if (rc == 0) {
        u->stage = STARTING;
        return true;
    }
    e2b_error(call_detach(&u->call), &err);
    upload_end(u);
    return false;
}

/*
 * Writes what is held to the process, then the end if that was reached, then resumes reading. A
 * process that accepts no more has ended; its exit status says why.
 */
static void upload_push(void *arg)
{
    struct e2b_upload *u = arg;
    struct stdin_feed *feed = transfer_feed(u->file);
    bool eof = feed->eof;
    int rc = stdin_feed_flush(feed, NULL);

    if (rc <= 0)
        return;
    if (eof)
        u->stage = CLOSING;
    else
        http_body_resume(u->call.rq);
}

/* --- the body --------------------------------------------------------------------------------- */

static bool is_busy(const struct e2b_upload *u)
{
    return u->stage == STARTING || u->stage == CLOSING ||
           (u->file != NULL && transfer_feed(u->file)->held.len > 0);
}

/* The destination of a part: the query's path, else its own name, including slashes. */
static bool part_begin(struct e2b_upload *u)
{
    struct hf_error err;

    if (strcmp(u->form->name, "file") != 0) {
        u->stage = SKIPPING;
        return true;
    }
    if (u->request.path[0] != '\0') {
        memcpy(u->path, u->request.path, sizeof u->path);
    } else if (e2b_file_path(&u->request.user, u->form->filename, strlen(u->form->filename),
                             u->path, &err) < 0) {
        upload_fail(u, 400, "a file has no name, and the query has no path");
        return false;
    }
    return file_open(u);
}

/* False: u is freed. */
static bool form_event(struct e2b_upload *u, enum multipart_event e)
{
    switch (e) {
    case MULTIPART_PART: return part_begin(u);
    case MULTIPART_DATA:
        if (u->stage == WRITING) {
            stdin_feed_hold(transfer_feed(u->file), u->form->data, u->form->data_len);
            upload_push(u);
        }
        return true;
    case MULTIPART_PART_END:
        if (u->stage == WRITING) {
            transfer_feed(u->file)->eof = true;
            upload_push(u);
        } else {
            u->stage = BETWEEN;
        }
        return true;
    case MULTIPART_DONE: u->done = true; return true;
    case MULTIPART_ERROR: upload_fail(u, 400, "the body is not multipart/form-data"); return false;
    default: return true;
    }
}

static size_t upload_on_form(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct e2b_upload *u = http_user(rq);
    size_t at = 0, used;

    while (at < len && !is_busy(u)) {
        enum multipart_event e = multipart_feed(u->form, (const char *)bytes + at, len - at, &used);

        at += used;
        if (!form_event(u, e))
            return len;
    }
    u->last = last;
    if (last && !u->done)
        upload_fail(u, 400, "the form is cut short");
    else if (last && u->stage == BETWEEN)
        upload_reply(u);
    return at;
}

static size_t upload_on_raw(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct e2b_upload *u = http_user(rq);
    struct stdin_feed *feed = transfer_feed(u->file);

    u->last = feed->eof = last; /* reported once, whether there is room or not */
    if (u->stage == STARTING || (feed->held.len > 0 && len > 0))
        return 0;
    stdin_feed_hold(feed, bytes, len);
    if (feed->held.len > 0 || last)
        upload_push(u);
    return len;
}

/* False: the request has been replied to. */
static bool upload_form(struct http_request *rq, struct e2b_upload *u)
{
    const char *type = http_header(rq, "Content-Type"),
               *coding = http_header(rq, "Content-Encoding");

    u->gzip = coding != NULL && strcasecmp(coding, "gzip") == 0;
    if (coding != NULL && !u->gzip && strcasecmp(coding, "identity") != 0) {
        e2b_plain_error(rq, 400, "unsupported Content-Encoding: send gzip or identity");
        return false;
    }
    if (type != NULL && strncasecmp(type, "application/octet-stream", 24) == 0) {
        if (u->request.path[0] != '\0')
            return true;
        e2b_plain_error(rq, 400, "name the destination with ?path=");
        return false;
    }
    if (u->gzip) {
        e2b_plain_error(rq, 415,
                        "a form cannot be gzipped; send the file as application/octet-stream");
        return false;
    }
    u->form = hf_xalloc(sizeof *u->form);
    if (multipart_init(u->form, type))
        return true;
    e2b_plain_error(rq, 400, "send multipart/form-data or application/octet-stream");
    return false;
}

void e2b_files_post(struct http_request *rq)
{
    struct e2b_upload *u = hf_xalloc(sizeof *u);

    if (!e2b_files_decode(rq, "write", &u->request) || !e2b_metadata(rq, &u->metadata) ||
        !upload_form(rq, u)) {
        free(u->metadata);
        free(u->form);
        free(u);
        return;
    }
    call_adopt(&u->call, rq, &upload_kind);
    memcpy(u->path, u->request.path, sizeof u->path);
    if (u->form != NULL || file_open(u))
        http_body_stream(rq, u->form != NULL ? upload_on_form : upload_on_raw);
}
