/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_upload.c - POST /files: one file as the body, or several in a form
 *
 * Each file is written by a separate process (file_op.h), one after the other. The body is read
 * only as fast as that process consumes it: what it has no room for is held, and reading pauses
 * until that is written. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "dialects/common/multipart.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/e2b/e2b_files.h"

#define UPLOAD_FILES_MAX 1000 /* in one form */

enum stage {
    BETWEEN,  /* no file is open */
    STARTING, /* its process is being started */
    WRITING,
    CLOSING, /* its input has ended; waiting for its exit */
    SKIPPING /* a part of the form that is not a file */
};

struct e2b_upload {
    struct call call; /* its rq is NULL once it is replied to, or the client has disconnected */
    struct file_request request; /* request.path: "" if each part names its own */
    char path[PATH_MAX];         /* of the file that is open */
    struct multipart *form;      /* NULL: the body is the file */
    enum stage stage;
    struct stdin_feed feed; /* its process writes the file that is open */
    struct exit_waiter exit;
    struct buf results; /* the finished files, as JSON */
    size_t files;
    bool last; /* the body is complete */
    bool done; /* the form's last boundary was seen */
};

/* --- the end ------------------------------------------------------------------------------- */

static void upload_release(struct call *c)
{
    struct e2b_upload *u = list_entry(c, struct e2b_upload, call);

    stdin_feed_fini(&u->feed);
    exit_waiter_cancel(&u->exit);
    buf_fini(&u->results);
    free(u->form);
}

/* A process that is being started returns here once it is running. */
static void upload_stop(struct call *c)
{
    struct e2b_upload *u = list_entry(c, struct e2b_upload, call);

    c->rq = NULL;
    if (u->stage == STARTING)
        return;
    if (u->feed.process != NULL)
        file_op_end(u->feed.process);
    call_end(c);
}

static void upload_fail(struct e2b_upload *u, int status, const char *why)
{
    e2b_plain_error(u->call.rq, status, why);
    upload_stop(&u->call);
}

static void upload_drain(struct call *c)
{
    if (c->rq != NULL)
        upload_fail(list_entry(c, struct e2b_upload, call), 503, "the daemon is shutting down");
}

static const struct call_kind upload_kind = {
    .stays = true,
    .release = upload_release,
    .disconnected = upload_stop,
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
    http_reply_json(u->call.rq, 200, b);
    upload_stop(&u->call);
}

/* --- one file -------------------------------------------------------------------------------- */

static void upload_push(void *arg);

static void file_note(struct e2b_upload *u)
{
    const char *base = strrchr(u->path, '/');
    struct json_out o;

    if (u->files++ > 0)
        buf_putc(&u->results, ',');
    json_out_init(&o, &u->results);
    json_open(&o, '{');
    json_kstr(&o, "path", u->path);
    json_kstr(&o, "name", base != NULL ? base + 1 : u->path);
    json_kstr(&o, "type", "file");
    json_close(&o, '}');
}

/* Its output is short, and held whole. */
static void file_failed(struct e2b_upload *u)
{
    struct journal *j = process_journal(u->feed.process);
    struct slice s = journal_slice(j, journal_first(j), sizeof(struct file_fault));
    struct file_fault f;

    e2b_file_fault(&f, s.bytes, s.stream == STREAM_STDERR ? s.len : 0);
    upload_fail(u, f.status, f.message);
}

static void file_on_exit(void *arg, struct process *p)
{
    struct e2b_upload *u = arg;
    struct process_view v;

    process_view(p, &v);
    if (u->stage != CLOSING || v.exit->exit_code != 0) {
        file_failed(u);
        return;
    }
    file_note(u);
    stdin_feed_fini(&u->feed);
    u->stage = BETWEEN;
    process_forget(p);
    if (u->form == NULL || (u->last && u->done))
        upload_reply(u);
    else
        http_body_resume(u->call.rq);
}

static void file_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct e2b_upload *u = arg;

    u->stage = WRITING;
    if (p != NULL)
        stdin_feed_bind(&u->feed, p);
    if (u->call.rq == NULL) {
        upload_stop(&u->call);
    } else if (p == NULL) {
        e2b_error(u->call.rq, err);
        upload_stop(&u->call);
    } else {
        process_wait_exit(p, &u->exit);
        upload_push(u);
    }
}

/* False: replied to, and u is freed. */
static bool file_open(struct e2b_upload *u)
{
    const char *args[FILE_OP_ARGS];
    struct spawn_spec spec;
    struct hf_error err;

    u->feed.eof = false;
    if (u->files >= UPLOAD_FILES_MAX) {
        upload_fail(u, 400, "the form has too many files");
        return false;
    }
    file_op_spec(&spec, args, file_user(&u->request), "write", u->path, NULL);
    if (engine_spawn(u->call.base->engine, &spec, file_on_spawned, u, &err) == 0) {
        u->stage = STARTING;
        return true;
    }
    e2b_error(u->call.rq, &err);
    upload_stop(&u->call);
    return false;
}

/*
 * Writes what is held to the process, then the end if that was reached, then resumes reading. A
 * process that accepts no more has ended; its exit status says why.
 */
static void upload_push(void *arg)
{
    struct e2b_upload *u = arg;

    bool eof = u->feed.eof;
    int rc = stdin_feed_flush(&u->feed, NULL);

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
    return u->stage == STARTING || u->stage == CLOSING || u->feed.held.len > 0;
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
            stdin_feed_hold(&u->feed, u->form->data, u->form->data_len);
            upload_push(u);
        }
        return true;
    case MULTIPART_PART_END:
        if (u->stage == WRITING) {
            u->feed.eof = true;
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

    u->last = u->feed.eof = last; /* reported once, whether there is room or not */
    if (u->stage == STARTING || (u->feed.held.len > 0 && len > 0))
        return 0;
    stdin_feed_hold(&u->feed, bytes, len);
    if (u->feed.held.len > 0 || last)
        upload_push(u);
    return len;
}

/* False: the request has been replied to. */
static bool upload_form(struct http_request *rq, struct e2b_upload *u)
{
    const char *type = http_header(rq, "Content-Type"),
               *coding = http_header(rq, "Content-Encoding");

    if (coding != NULL && strcasecmp(coding, "identity") != 0) {
        e2b_plain_error(rq, 415, "compressed uploads are not supported");
        return false;
    }
    if (type != NULL && strncasecmp(type, "application/octet-stream", 24) == 0) {
        if (u->request.path[0] != '\0')
            return true;
        e2b_plain_error(rq, 400, "name the destination with ?path=");
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

    stdin_feed_init(&u->feed, upload_push, u);
    list_init(&u->exit.link);
    u->exit.fn = file_on_exit;
    u->exit.arg = u;
    if (!e2b_files_decode(rq, "write", &u->request) || !upload_form(rq, u)) {
        free(u->form);
        free(u);
        return;
    }
    call_adopt(&u->call, rq, &upload_kind);
    memcpy(u->path, u->request.path, sizeof u->path);
    if (u->form != NULL || file_open(u))
        http_body_stream(rq, u->form != NULL ? upload_on_form : upload_on_raw);
}
