/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_upload.c - POST /files/upload: files in a form, each behind a part that says where it goes
 *
 * Parts come in pairs: "metadata" is {"path", "mode", "owner", "group"}, and the "file" behind it
 * is written there. Each file is a transfer, one after the other, and a second one sets its owner
 * if the metadata name one. The body is read only as fast as it is written. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/multipart.h"
#include "dialects/common/transfer.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb_batch.h"

enum upload_stage {
    UPLOAD_BETWEEN,  /* no part is open, or one that is neither of the two */
    UPLOAD_METADATA, /* its bytes are collected */
    UPLOAD_STARTING, /* the writer of a file is being started */
    UPLOAD_WRITING,
    UPLOAD_CLOSING, /* its input has ended; waiting for the result */
    UPLOAD_OWNING,  /* its owner is being set */
};

struct osb_upload {
    struct call call; /* its rq is NULL once it is replied to, or the client has disconnected */
    char room[OSB_FILES_USER_BYTES];
    const char *user; /* NULL, or room */
    struct multipart form;
    enum upload_stage stage;
    struct transfer *transfer; /* NULL: none */
    struct buf metadata;       /* of the file that follows; the text, while it is collected */
    json_t *target;            /* decoded; NULL: no file may follow */
    size_t files;
    bool last; /* the body is complete */
    bool done; /* the form's last boundary was seen */
};

/* --- the end --------------------------------------------------------------------------------- */

static void upload_release(struct call *c)
{
    struct osb_upload *u = (struct osb_upload *)c;

    transfer_free(u->transfer);
    buf_fini(&u->metadata);
    json_decref(u->target);
}

static void upload_leave(struct call *c)
{
    struct osb_upload *u = (struct osb_upload *)c;

    if (u->transfer != NULL)
        transfer_abandon(u->transfer);
    u->transfer = NULL;
}

static void upload_refuse(struct osb_upload *u, int status, const char *code, const char *why)
{
    osb_refuse(call_detach(&u->call), status, code, why);
    upload_leave(&u->call);
    call_end(&u->call);
}

static void upload_error(struct osb_upload *u, const struct hf_error *err)
{
    osb_error(call_detach(&u->call), err);
    upload_leave(&u->call);
    call_end(&u->call);
}

static void upload_drain(struct call *c)
{
    upload_refuse((struct osb_upload *)c, 503, "RUNTIME_ERROR",
                  "the daemon is shutting down; try again in a moment");
}

static const struct call_kind upload_kind = {
    .release = upload_release,
    .disconnected = upload_leave,
    .drain = upload_drain,
};

static void upload_reply(struct osb_upload *u)
{
    if (u->target != NULL) {
        upload_refuse(u, 400, "INVALID_FILE", "there are more metadata parts than files");
    } else if (u->files == 0) {
        upload_refuse(u, 400, "INVALID_FILE_METADATA", "metadata file is missing");
    } else {
        http_reply_empty(call_detach(&u->call), 200);
        call_end(&u->call);
    }
}

/* --- one file -------------------------------------------------------------------------------- */

static void upload_continue(struct osb_upload *u)
{
    json_decref(u->target);
    u->target = NULL;
    u->files++;
    u->stage = UPLOAD_BETWEEN;
    if (u->last && u->done)
        upload_reply(u);
    else
        http_body_resume(u->call.rq);
}

static bool transfer_went_well(struct osb_upload *u, const struct transfer_end *end)
{
    u->transfer = NULL;
    if (end->not_started) {
        upload_error(u, &end->fault.err);
    } else if (!end->ok) {
        osb_files_fault(call_detach(&u->call), &end->fault, true);
        call_end(&u->call);
    }
    return !end->not_started && end->ok;
}

static void owner_done(void *arg, const struct transfer_end *end)
{
    if (transfer_went_well(arg, end))
        upload_continue(arg);
}

static const char *member(const struct osb_upload *u, const char *name)
{
    const char *text = json_string_value(json_object_get(u->target, name));

    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* 0, or err; the operation is freed. */
static int upload_run(struct osb_upload *u, struct file_op *op, const struct transfer_ops *ops)
{
    struct hf_error err;
    int rc = transfer_start(u->call.base, op, ops, u, &u->transfer, &err);

    file_op_fini(op);
    if (rc < 0)
        upload_error(u, &err);
    return rc;
}

static int upload_path(struct osb_upload *u, struct buf *out)
{
    struct hf_error err;
    int rc = osb_files_path(member(u, "path"), out, &err);

    if (rc < 0)
        upload_refuse(u, 400, "INVALID_FILE_METADATA", err.detail);
    return rc;
}

static void file_done(void *arg, const struct transfer_end *end)
{
    static const struct transfer_ops ops = {.done = owner_done};
    struct osb_upload *u = arg;
    hf_autobuf struct buf path = {0};
    struct file_op op;

    if (!transfer_went_well(u, end))
        return;
    if (member(u, "owner") == NULL && member(u, "group") == NULL) {
        upload_continue(u);
        return;
    }
    if (upload_path(u, &path) < 0)
        return;
    u->stage = UPLOAD_OWNING;
    file_op_init(&op, u->user, "permissions", buf_cstr(&path));
    file_op_option(&op, "owner", member(u, "owner"));
    file_op_option(&op, "group", member(u, "group"));
    (void)upload_run(u, &op, &ops);
}

/* Writes what is held to the process, then the end if that was reached, then resumes reading. A
 * process that accepts no more has ended; its exit status says why. */
static void upload_push(void *arg)
{
    struct osb_upload *u = arg;
    struct stdin_feed *feed = transfer_feed(u->transfer);
    bool eof = feed->eof;

    if (stdin_feed_flush(feed, NULL) <= 0)
        return;
    if (eof)
        u->stage = UPLOAD_CLOSING;
    else
        http_body_resume(u->call.rq);
}

static void file_started(void *arg)
{
    ((struct osb_upload *)arg)->stage = UPLOAD_WRITING;
    upload_push(arg);
}

/* False: replied to, and u is freed. */
static bool file_open(struct osb_upload *u)
{
    static const struct transfer_ops ops = {
        .started = file_started, .room = upload_push, .done = file_done};
    hf_autobuf struct buf path = {0};
    char mode[OSB_FILES_MODE_BYTES];
    struct hf_error err;
    struct file_op op;

    if (u->target == NULL || u->files == LIMIT_OSB_BATCH) {
        upload_refuse(u, 400, "INVALID_FILE_METADATA",
                      u->target == NULL ? "each file must follow its metadata"
                                        : "a form can have at most 1000 files");
        return false;
    }
    if (osb_files_mode(json_object_get(u->target, "mode"), mode, &err) < 0) {
        upload_refuse(u, 400, "INVALID_FILE_METADATA", err.detail);
        return false;
    }
    if (upload_path(u, &path) < 0)
        return false;
    file_op_init(&op, u->user, "write", buf_cstr(&path));
    file_op_option(&op, "mode", mode[0] != '\0' ? mode : NULL);
    u->stage = UPLOAD_STARTING;
    return upload_run(u, &op, &ops) == 0;
}

/* --- the form -------------------------------------------------------------------------------- */

static bool part_begin(struct osb_upload *u)
{
    if (strcmp(u->form.name, "file") == 0)
        return file_open(u);
    if (strcmp(u->form.name, "metadata") != 0)
        return true;
    if (u->target != NULL) {
        upload_refuse(u, 400, "INVALID_FILE", "each file must follow its metadata");
        return false;
    }
    buf_clear(&u->metadata);
    u->stage = UPLOAD_METADATA;
    return true;
}

static bool part_bytes(struct osb_upload *u)
{
    if (u->stage == UPLOAD_WRITING) {
        stdin_feed_hold(transfer_feed(u->transfer), u->form.data, u->form.data_len);
        upload_push(u);
    } else if (u->stage == UPLOAD_METADATA) {
        if (u->metadata.len + u->form.data_len > LIMIT_OSB_METADATA_BYTES) {
            upload_refuse(u, 400, "INVALID_FILE_METADATA", "the metadata is longer than 64 KiB");
            return false;
        }
        buf_put(&u->metadata, u->form.data, u->form.data_len);
    }
    return true;
}

static bool part_end(struct osb_upload *u)
{
    struct hf_error err = {0};

    if (u->stage == UPLOAD_WRITING) {
        transfer_feed(u->transfer)->eof = true;
        upload_push(u);
        return true;
    }
    if (u->stage != UPLOAD_METADATA)
        return true;
    u->stage = UPLOAD_BETWEEN;
    u->target =
        json_parse(u->metadata.len > 0 ? buf_data(&u->metadata) : "", u->metadata.len, &err);
    if (json_is_object(u->target))
        return true;
    upload_refuse(u, 400, "INVALID_FILE_METADATA", "metadata must be a JSON object");
    return false;
}

/* False: u is freed. */
static bool form_event(struct osb_upload *u, enum multipart_event e)
{
    switch (e) {
    case MULTIPART_PART: return part_begin(u);
    case MULTIPART_DATA: return part_bytes(u);
    case MULTIPART_PART_END: return part_end(u);
    case MULTIPART_DONE: u->done = true; return true;
    case MULTIPART_ERROR:
        upload_refuse(u, 400, "INVALID_FILE", "the body is not multipart/form-data");
        return false;
    default: return true;
    }
}

static bool is_busy(const struct osb_upload *u)
{
    return u->stage == UPLOAD_STARTING || u->stage == UPLOAD_CLOSING || u->stage == UPLOAD_OWNING ||
           (u->transfer != NULL && transfer_feed(u->transfer)->held.len > 0);
}

static size_t upload_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct osb_upload *u = http_user(rq);
    size_t at = 0, used;

    while (at < len && !is_busy(u)) {
        enum multipart_event e =
            multipart_feed(&u->form, (const char *)bytes + at, len - at, &used);

        at += used;
        if (!form_event(u, e))
            return len;
    }
    u->last = last;
    if (last && at == len && !u->done)
        upload_refuse(u, 400, "INVALID_FILE", "the form is cut short");
    else if (last && u->done && u->stage == UPLOAD_BETWEEN)
        upload_reply(u);
    return at;
}

void osb_files_upload(struct http_request *rq)
{
    struct osb_upload *u = hf_xalloc(sizeof *u);

    if (!multipart_init(&u->form, http_header(rq, "Content-Type"))) {
        osb_refuse(rq, 400, "INVALID_FILE", "send multipart/form-data");
        free(u);
    } else if (!osb_files_user(rq, u->room, &u->user)) {
        free(u);
    } else {
        call_adopt(&u->call, rq, &upload_kind);
        http_body_stream(rq, upload_on_body);
    }
}
