/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_watch_poll.c - watches whose clients fetch the reports. Layer: dialects.
 */
#include "dialects/common/file_watch_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/mem.h"

#define ID_CHARS 20

struct watch_poll {
    struct list link;           /* in the dialect's list */
    struct file_watch *watch;   /* NULL: it has ended */
    watch_poll_ready_fn *ready; /* NULL: called */
    void *arg;
    struct buf queue; /* lines of JSON */
    int64_t polled_ms;
    bool failed;
    struct hf_error error;
    char id[ID_CHARS + 2];
};

static void make_id(char *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char bytes[ID_CHARS];

    crypto_random(bytes, sizeof bytes);
    out[0] = 'w';
    for (int i = 0; i < ID_CHARS; i++)
        out[i + 1] = letters[bytes[i] & 31];
    out[ID_CHARS + 1] = '\0';
}

/* --- the watch ------------------------------------------------------------------------------ */

static void poll_report(void *arg, const struct file_report *r)
{
    struct watch_poll *p = arg;
    watch_poll_ready_fn *ready = p->ready;
    struct json_out o;

    if (r->change == FILE_READY) {
        p->ready = NULL;
        ready(p->arg, p, NULL);
        return;
    }
    json_out_init(&o, &p->queue);
    file_report_write(&o, r);
    json_close(&o, '}');
    buf_putc(&p->queue, '\n');
}

/* What was reported before a failure can still be fetched. */
static void poll_ended(void *arg, const struct hf_error *err)
{
    struct watch_poll *p = arg;
    watch_poll_ready_fn *ready = p->ready;

    p->watch = NULL;
    p->failed = err != NULL;
    if (err != NULL)
        p->error = *err;
    if (ready == NULL)
        return;
    p->ready = NULL;
    ready(p->arg, NULL, err);
    watch_poll_remove(p);
}

static bool poll_room(void *arg)
{
    return ((const struct watch_poll *)arg)->queue.len < LIMIT_FILE_WATCH_QUEUE_BYTES;
}

static const struct file_watch_ops poll_ops = {
    .report = poll_report,
    .ended = poll_ended,
    .room = poll_room,
};

/* --- all of a dialect ----------------------------------------------------------------------- */

static struct watch_poll *poll_of(const struct list *l)
{
    return list_entry(l, struct watch_poll, link);
}

/* False: all are in use. */
static bool remove_stale(const struct list *all)
{
    struct watch_poll *oldest = NULL;

    for (const struct list *it = all->next; it != all; it = it->next)
        if (oldest == NULL || poll_of(it)->polled_ms < oldest->polled_ms)
            oldest = poll_of(it);
    if (oldest == NULL || oldest->ready != NULL ||
        (int64_t)clock_mono_ms() - oldest->polled_ms < FILE_WATCH_STALE_MS)
        return false;
    watch_poll_remove(oldest);
    return true;
}

int watch_poll_start(struct list *all, struct engine *e, const struct file_watch_open *o,
                     watch_poll_ready_fn *ready, void *arg, struct watch_poll **out,
                     struct hf_error *err)
{
    struct watch_poll *p = hf_xalloc(sizeof *p);
    int rc;

    p->ready = ready;
    p->arg = arg;
    p->polled_ms = (int64_t)clock_mono_ms();
    list_init(&p->link);
    do {
        rc = file_watch_start(e, o, &poll_ops, p, &p->watch, err);
    } while (rc < 0 && err->code == HF_E_too_many_watches && remove_stale(all));
    if (rc < 0) {
        free(p);
        return rc;
    }
    make_id(p->id);
    list_append(all, &p->link);
    *out = p;
    return 0;
}

const char *watch_poll_id(const struct watch_poll *p)
{
    return p->id;
}

struct watch_poll *watch_poll_find(const struct list *all, const char *id)
{
    for (const struct list *it = all->next; it != all; it = it->next)
        if (poll_of(it)->ready == NULL && strcmp(poll_of(it)->id, id) == 0)
            return poll_of(it);
    return NULL;
}

void watch_poll_remove(struct watch_poll *p)
{
    file_watch_stop(p->watch);
    list_remove(&p->link);
    buf_fini(&p->queue);
    free(p);
}

void watch_poll_remove_all(struct list *all)
{
    while (!list_is_empty(all))
        watch_poll_remove(poll_of(all->next));
}

/* --- fetching ------------------------------------------------------------------------------- */

/* The first report in the queue. */
static json_t *first_line(struct watch_poll *p, struct file_report *r, size_t *len)
{
    const char *text = buf_data(&p->queue),
               *end = p->queue.len > 0 ? memchr(text, '\n', p->queue.len) : NULL;
    json_t *line;

    if (end == NULL)
        return NULL;
    *len = (size_t)(end - text) + 1;
    line = json_parse_own(text, *len - 1);
    if (line != NULL && file_report_decode(line, r))
        return line;
    json_decref(line);
    return NULL;
}

int watch_poll_take(struct watch_poll *p, watch_poll_report_fn *report, void *arg,
                    struct hf_error *err)
{
    struct file_report r;
    size_t len, count = 0;
    json_t *line;
    bool lost = false;

    p->polled_ms = (int64_t)clock_mono_ms();
    while (!lost && (line = first_line(p, &r, &len)) != NULL) {
        lost = r.change == FILE_OVERFLOW;
        if (!lost || count == 0)
            buf_drop(&p->queue, len);
        if (!lost)
            report(arg, &r);
        count++;
        json_decref(line);
    }
    if (p->watch != NULL)
        file_watch_pump(p->watch);
    if (lost && count == 1)
        return -EOVERFLOW;
    if (count > 0 || !p->failed)
        return 0;
    *err = p->error;
    return -EIO;
}
