/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_size.c - which viewer's window decides the size of the terminal
 *
 * It is the window that changed last, the smallest in each direction, the owner's (the first viewer
 * that attached, while it stays attached), or none.
 *
 * The first change applies at once. Further changes within SIZE_DEBOUNCE_MS, as when a window is
 * dragged, are merged into one at its end. When a viewer leaves, the remaining windows count only
 * after SIZE_LEAVE_MS, so that a reconnect does not make everyone's screen jump twice. The size is
 * computed when the timer fires, from the viewers attached then. Layer: engine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/tty_activity_own.h"
#include "engine/stream/viewer_own.h"

int size_policy_from_name(const char *name)
{
    static const char *const names[] = {"latest", "smallest", "fixed", "owner"};
    int i;

    for (i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

const char *size_policy_name(enum size_policy p)
{
    static const char *const names[] = {"latest", "smallest", "fixed", "owner"};

    return names[p];
}

static int tty_set_size(int fd, uint16_t rows, uint16_t cols)
{
    struct winsize ws = {.ws_row = rows, .ws_col = cols};
    int rc;

    do
        rc = ioctl(fd, TIOCSWINSZ, &ws);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

/* Sets the size of a viewer's window, or one requested by `by`. 0, or -errno with nothing
 * changed. */
static int size_set(struct process *p, uint16_t rows, uint16_t cols, const struct viewer *of,
                    const char *by)
{
    struct viewer_notice n = {
        .kind = NOTICE_SIZE, .rows = rows, .cols = cols, .by = by, .from = of};
    struct record_head *h = p->rec.head;
    int rc;

    if (output_tty(p) < 0 || (h->rows == rows && h->cols == cols))
        return 0;
    rc = tty_set_size(output_tty(p), rows, cols);
    if (rc < 0)
        return rc;
    h->rows = rows;
    h->cols = cols;
    journal_mark_size(&p->journal, rows, cols);
    screen_terminal_resized(p);
    viewers_notice(p, &n);
    process_updated(p);
    tty_activity_activity(p);
    return 0;
}

/* --- whose window counts ---------------------------------------------------------- */

static struct viewer *first_with_window(struct process *p)
{
    struct list *it, *tmp;

    viewers_each(it, tmp, p)
    {
        struct viewer *v = list_entry(it, struct viewer, link);
        if (v->rows > 0)
            return v;
    }
    return NULL;
}

/* NULL: no window is left, or a call has set the size since. */
static struct viewer *latest_with_window(struct process *p)
{
    struct viewer *latest = NULL;
    uint64_t turn = p->size.called;
    struct list *it, *tmp;

    viewers_each(it, tmp, p)
    {
        struct viewer *v = list_entry(it, struct viewer, link);
        if (v->rows > 0 && v->sized > turn) {
            turn = v->sized;
            latest = v;
        }
    }
    return latest;
}

static void size_smallest(struct process *p, const struct viewer *by)
{
    uint16_t rows = UINT16_MAX, cols = UINT16_MAX;
    struct list *it, *tmp;

    viewers_each(it, tmp, p)
    {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (v->rows == 0)
            continue;
        rows = v->rows < rows ? v->rows : rows;
        cols = v->cols < cols ? v->cols : cols;
    }
    if (rows != UINT16_MAX)
        (void)size_set(p, rows, cols, by, NULL);
}

static void size_of(struct process *p, const struct viewer *v)
{
    if (v != NULL)
        (void)size_set(p, v->rows, v->cols, v, NULL);
}

/* The owner has just left and may come back: nobody replaces it yet. */
static bool owner_is_away(const struct process *p)
{
    return p->size.owner == NULL && p->size.owner_client != NULL &&
           loop_now_ms(p->engine->loop) < p->size.leave_ms;
}

static void size_apply(struct process *p)
{
    const struct viewer *latest = latest_with_window(p);

    if (p->size.owner == NULL && !owner_is_away(p))
        p->size.owner = first_with_window(p);
    switch (p->meta.size_policy) {
    case SIZE_LATEST: size_of(p, latest); break;
    case SIZE_OWNER: size_of(p, p->size.owner); break;
    case SIZE_SMALLEST: size_smallest(p, latest); break;
    case SIZE_FIXED: break;
    }
}

/* --- when ------------------------------------------------------------------------- */

static void size_on_timer(struct timer *t, void *arg)
{
    struct process *p = process_ref(arg);
    uint64_t now = loop_now_ms(p->engine->loop);

    p->size.changed_ms = now;
    size_apply(p);
    if (now < p->size.leave_ms)
        timer_start(t, p->size.leave_ms - now);
    process_unref(p);
}

static void size_after(struct process *p, uint64_t ms)
{
    if (p->size.timer == NULL)
        p->size.timer = timer_new(p->engine->loop, size_on_timer, p);
    timer_start(p->size.timer, ms);
}

void size_settle(struct process *p)
{
    uint64_t now = loop_now_ms(p->engine->loop), since = now - p->size.changed_ms;

    if (p->size.changed_ms != 0 && since < SIZE_DEBOUNCE_MS) {
        size_after(p, SIZE_DEBOUNCE_MS - since);
        return;
    }
    p->size.changed_ms = now;
    size_apply(p);
}

/* An owner that reconnects in time remains the owner. */
static void owner_return(struct viewer *v)
{
    struct process *p = v->process;

    if (owner_is_away(p) && v->client != NULL && strcmp(v->client, p->size.owner_client) == 0)
        p->size.owner = v;
}

void size_viewer(struct viewer *v, uint16_t rows, uint16_t cols)
{
    struct process *p = v->process;

    v->rows = rows;
    v->cols = cols;
    v->sized = ++p->size.turn;
    owner_return(v);
    size_settle(p);
}

void size_on_detach(struct viewer *v)
{
    struct process *p = v->process;

    if (v->rows == 0)
        return;
    if (p->size.owner == v) {
        p->size.owner = NULL;
        free(p->size.owner_client);
        p->size.owner_client = hf_xstrdup(v->client);
    }
    p->size.leave_ms = loop_now_ms(p->engine->loop) + SIZE_LEAVE_MS;
    size_after(p, SIZE_LEAVE_MS);
}

void size_fini(struct process *p)
{
    timer_close(p->size.timer);
    free(p->size.owner_client);
}

/* --- requests --------------------------------------------------------------------- */

static int size_check(const struct process *p, int64_t rows, int64_t cols, struct hf_error *err)
{
    if (!p->rec.head->pty)
        return hf_fail(err, HF_E_not_a_terminal,
                       "this process was started with pipes; start it with \"pty\" to resize");
    if (rows < 1 || rows > TERMINAL_SIZE_MAX || cols < 1 || cols > TERMINAL_SIZE_MAX)
        return hf_fail(err, HF_E_bad_size, "rows and cols must both be 1 to %d", TERMINAL_SIZE_MAX);
    if (!process_is_running(p) || output_tty(p) < 0)
        return hf_fail(err, HF_E_not_running, "the process has exited");
    return 0;
}

int process_resize(struct process *p, int64_t rows, int64_t cols, const char *by,
                   struct hf_error *err)
{
    int rc = size_check(p, rows, cols, err);

    if (rc < 0)
        return rc;
    if (p->size.timer != NULL)
        timer_stop(p->size.timer);
    p->size.called = ++p->size.turn;
    rc = size_set(p, (uint16_t)rows, (uint16_t)cols, NULL, by);
    return rc == 0 ? 0
                   : hf_fail(err, HF_E_internal, "cannot set the terminal size: %s",
                             hf_errno_name(-rc));
}

int viewer_resize(struct viewer *v, int64_t rows, int64_t cols, struct hf_error *err)
{
    int rc = size_check(v->process, rows, cols, err);

    if (rc == 0)
        size_viewer(v, (uint16_t)rows, (uint16_t)cols);
    return rc;
}
