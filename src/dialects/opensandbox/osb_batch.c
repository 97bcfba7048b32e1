/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_batch.c - file operations of one request, one after the other. Layer: dialects.
 */
#include "dialects/opensandbox/osb_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/transfer.h"
#include "dialects/opensandbox/opensandbox_limits.h"

struct batch_item {
    struct file_op op;
    char *key, *user;
    bool no_directory;
};

struct osb_batch {
    struct call call;
    const struct osb_batch_kind *kind;
    struct batch_item *items;
    size_t count, at;
    struct transfer *transfer; /* of the current one; NULL: none */
    struct file_lines lines;
    struct buf reply; /* values, separated by commas */
    bool is_directory, too_long, too_many;
};

/* --- the end --------------------------------------------------------------------------------- */

static void batch_fini(struct osb_batch *b)
{
    transfer_free(b->transfer);
    for (size_t i = 0; i < b->count; i++) {
        file_op_fini(&b->items[i].op);
        free(b->items[i].key);
        free(b->items[i].user);
    }
    free(b->items);
    file_lines_fini(&b->lines);
    buf_fini(&b->reply);
}

void osb_batch_free(struct osb_batch *b)
{
    batch_fini(b);
    free(b);
}

static void batch_release(struct call *c)
{
    batch_fini((struct osb_batch *)c);
}

static void let_go(struct osb_batch *b)
{
    if (b->transfer != NULL && b->kind->reply == BATCH_EMPTY)
        transfer_leave(b->transfer);
    else
        transfer_abandon(b->transfer);
    b->transfer = NULL;
}

static void batch_disconnected(struct call *c)
{
    let_go((struct osb_batch *)c);
}

static void batch_drain(struct call *c)
{
    let_go((struct osb_batch *)c);
    osb_call_refuse(c, 503, "RUNTIME_ERROR", "the daemon is shutting down; try again in a moment");
}

static const struct call_kind batch_call_kind = {
    .release = batch_release,
    .disconnected = batch_disconnected,
    .drain = batch_drain,
};

static void reply(struct osb_batch *b)
{
    static const char brackets[][2] = {[BATCH_MAP] = {'{', '}'}, [BATCH_LIST] = {'[', ']'}};
    struct buf *out = &b->call.base->scratch;
    struct http_request *rq = call_detach(&b->call);

    if (b->kind->reply == BATCH_EMPTY) {
        http_reply_empty(rq, 200);
    } else {
        buf_clear(out);
        buf_putc(out, brackets[b->kind->reply][0]);
        buf_put(out, buf_data(&b->reply), b->reply.len);
        buf_putc(out, brackets[b->kind->reply][1]);
        http_reply(rq, 200, OSB_JSON, buf_data(out), out->len);
    }
    call_end(&b->call);
}

static void refuse(struct osb_batch *b, int status, const char *code, const char *why)
{
    osb_refuse(call_detach(&b->call), status, code, why);
    call_end(&b->call);
}

/* --- one operation --------------------------------------------------------------------------- */

static void batch_next(struct osb_batch *b);

static void take_entry(struct osb_batch *b, const struct file_entry *e)
{
    struct json_out o;

    b->is_directory = file_entry_is_directory(e);
    b->too_long = b->too_long || e->truncated || b->reply.len > LIMIT_FILE_REPLY_BYTES;
    if (b->kind->entry == NULL || b->too_long || (b->kind->no_directories && b->is_directory))
        return;
    if (b->reply.len > 0)
        buf_putc(&b->reply, ',');
    json_out_init(&o, &b->reply);
    if (b->kind->reply == BATCH_MAP)
        json_key(&o, b->items[b->at].key);
    b->kind->entry(&o, e);
}

static void batch_bytes(void *arg, const char *bytes, size_t len)
{
    struct osb_batch *b = arg;
    const char *line;
    size_t n;

    while ((line = file_lines_next(&b->lines, &bytes, &len, &n)) != NULL) {
        struct file_entry e;

        if (!file_entry_decode(&e, line, n))
            continue;
        take_entry(b, &e);
        file_entry_fini(&e);
    }
}

static void batch_done(void *arg, const struct transfer_end *end)
{
    struct osb_batch *b = arg;
    const struct batch_item *i = &b->items[b->at];
    struct file_fault too_long;

    b->transfer = NULL;
    file_fault_too_long(&too_long);
    if (end->not_started) {
        osb_error(call_detach(&b->call), &end->fault.err);
        call_end(&b->call);
    } else if (b->too_long || (!end->ok && !i->no_directory)) {
        osb_files_fault(call_detach(&b->call), b->too_long ? &too_long : &end->fault,
                        b->kind->absent_is_500);
        call_end(&b->call);
    } else if (end->ok && i->no_directory && b->is_directory) {
        refuse(b, 500, "RUNTIME_ERROR", "the path is a directory");
    } else {
        b->at++;
        batch_next(b);
    }
}

static void batch_next(struct osb_batch *b)
{
    static const struct transfer_ops ops = {.bytes = batch_bytes, .done = batch_done};
    struct hf_error err;

    if (b->at == b->count) {
        reply(b);
        return;
    }
    b->is_directory = false;
    if (transfer_start(b->call.base, &b->items[b->at].op, &ops, b, &b->transfer, &err) < 0) {
        osb_error(call_detach(&b->call), &err);
        call_end(&b->call);
    }
}

/* --- setup ----------------------------------------------------------------------------------- */

struct osb_batch *osb_batch_new(const struct osb_batch_kind *kind)
{
    struct osb_batch *b = hf_xalloc(sizeof *b);

    b->kind = kind;
    return b;
}

struct file_op *osb_batch_add(struct osb_batch *b, const char *user, const char *op,
                              const char *path)
{
    struct batch_item *i;

    if (b->count == LIMIT_OSB_BATCH) {
        b->too_many = true;
        return NULL;
    }
    if (b->items == NULL)
        b->items = hf_xalloc(LIMIT_OSB_BATCH * sizeof *b->items);
    i = &b->items[b->count++];
    i->user = hf_xstrdup(user);
    file_op_init(&i->op, i->user, op, path);
    return &i->op;
}

void osb_batch_key(struct osb_batch *b, const char *key)
{
    if (!b->too_many)
        b->items[b->count - 1].key = hf_xstrdup(key);
}

void osb_batch_no_directory(struct osb_batch *b)
{
    if (!b->too_many)
        b->items[b->count - 1].no_directory = true;
}

void osb_batch_begin(struct osb_batch *b, struct http_request *rq)
{
    call_adopt(&b->call, rq, &batch_call_kind);
    if (b->too_many)
        refuse(b, 400, "INVALID_REQUEST_BODY", "a request can name at most 1000 files");
    else
        batch_next(b);
}
