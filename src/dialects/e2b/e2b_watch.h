/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_watch.h - what WatchDir and the polled watchers have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_WATCH_H
#define HF_DIALECTS_E2B_E2B_WATCH_H

#include "dialects/common/file_watch.h"
#include "dialects/e2b/e2b_files.h"

/* A request to watch; `open` borrows from it and from the message. */
struct e2b_watch_open {
    struct file_request file;
    struct file_watch_open open;
};
/* 0, or err. */
int e2b_watch_decode(const struct http_request *rq, const json_t *message,
                     struct e2b_watch_open *out, struct hf_error *err);
/* Replies why the directory cannot be watched, in the original's words. */
void e2b_watch_refuse(struct http_request *rq, const struct hf_error *err);

/*
 * Calls `put` with the events that a report is in the original: a rename is an event for each name.
 * The name is relative to the directory.
 */
typedef void e2b_watch_put(void *arg, const char *name, const char *type, json_t *entry);
void e2b_watch_events(const struct file_report *r, e2b_watch_put *put, void *arg);
/* The message FilesystemEvent. */
void e2b_watch_write(struct json_out *o, const char *name, const char *type, json_t *entry);

#endif
