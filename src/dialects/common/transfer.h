/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - one file operation, from its start to its result
 *
 * A helper process (file_op.h) carries it out. Its standard output arrives as the owner has room
 * for it, and its standard input is fed as it reads, so nothing is queued beyond the ring of the
 * process. Then comes exactly one `done`, and the transfer is freed; unless the owner lets go of it
 * before. file_call.h, file_download.h and file_upload.h are the usual owners. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_TRANSFER_H
#define HF_DIALECTS_COMMON_TRANSFER_H

#include "dialects/common/dialect_base.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "dialects/common/stdin_feed.h"

struct transfer;

struct transfer_end {
    bool ok;
    /* It could not be started: `err` of the fault is the engine's, for the dialect's own shape. */
    bool not_started;
    struct file_fault fault; /* unless ok */
    const char *note;        /* what it wrote on standard error */
    size_t note_len;
};

/* Each may be NULL; the default is in brackets. */
struct transfer_ops {
    void (*started)(void *arg); /* input is accepted from now on */
    bool (*ready)(void *arg);   /* is there room for output? [always] */
    void (*bytes)(void *arg, const char *bytes, size_t len);
    void (*room)(void *arg);                                 /* there is room for input again */
    void (*done)(void *arg, const struct transfer_end *end); /* required */
};

/* 0, or err with *out NULL: nothing was started. The operation is not needed afterwards. No op is
 * called before it returns. */
int transfer_start(struct dialect_base *b, const struct file_op *op, const struct transfer_ops *ops,
                   void *arg, struct transfer **out, struct hf_error *err);
void transfer_pump(struct transfer *t); /* there is room for output again */
/* A part of a body: as stdin_feed_take(). */
size_t transfer_take(struct transfer *t, const void *bytes, size_t len, bool last);
/* For an owner that decodes its input, and holds what there is no room for. */
struct stdin_feed *transfer_feed(struct transfer *t);

/* Each lets go: no op is called any more, and the transfer frees itself. */
void transfer_abandon(struct transfer *t); /* the helper is ended; a new file never appears */
void transfer_leave(struct transfer *t);   /* the operation completes all the same */
/* The same when the engine itself is about to be freed. */
void transfer_free(struct transfer *t);

#endif
