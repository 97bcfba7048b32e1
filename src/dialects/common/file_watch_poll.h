/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_watch_poll.h - a watch whose client fetches the reports from time to time
 *
 * Its queue is bounded by LIMIT_FILE_WATCH_QUEUE_BYTES: when it is full, the watch waits
 * (file_watch.h), so the oldest reports are kept, and what is lost later is an overflow in its
 * place. It exists until it is removed, or until it was not polled for FILE_WATCH_STALE_MS and
 * another watch needs its place; it ends with the worker. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_WATCH_POLL_H
#define HF_DIALECTS_COMMON_FILE_WATCH_POLL_H

#include "base/list.h"
#include "dialects/common/file_watch.h"

struct watch_poll;

/* It is ready, or err: it failed, and it is freed. */
typedef void watch_poll_ready_fn(void *arg, struct watch_poll *p, const struct hf_error *err);
typedef void watch_poll_report_fn(void *arg, const struct file_report *r);

/* `all` is the dialect's list of them. 0: `ready` is called later, once. Else err. */
int watch_poll_start(struct list *all, struct engine *e, const struct file_watch_open *o,
                     watch_poll_ready_fn *ready, void *arg, struct watch_poll **out,
                     struct hf_error *err);
const char *watch_poll_id(const struct watch_poll *p); /* "w" and 20 characters */
struct watch_poll *watch_poll_find(const struct list *all, const char *id); /* NULL: none */
/*
 * Calls `report` for what is queued, up to an overflow. 0; -EOVERFLOW: changes were lost at this
 * point, told once; another negative errno: the watch has failed, err.
 */
int watch_poll_take(struct watch_poll *p, watch_poll_report_fn *report, void *arg,
                    struct hf_error *err);
void watch_poll_remove(struct watch_poll *p); /* before it is ready, too; `ready` is not called */
void watch_poll_remove_all(struct list *all);

#endif
