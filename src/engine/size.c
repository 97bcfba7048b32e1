/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose window decides the terminal's size: the one that changed last, the
 * smallest of all, the first that came (while it is there), or nobody's.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "engine/engine_own.h"

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

static void size_set(struct process *p, uint16_t rows, uint16_t cols, const char *by)
{
    struct winsize ws = {.ws_row = rows, .ws_col = cols};
    struct viewer_notice n = {.kind = NOTICE_SIZE, .rows = rows, .cols = cols, .by = by};
    struct record_head *h = p->rec.head;

    if (p->tty_fd < 0 || (h->rows == rows && h->cols == cols))
        return;
    if (ioctl(p->tty_fd, TIOCSWINSZ, &ws) < 0)
        return;
    h->rows = rows;
    h->cols = cols;
    journal_mark_size(&p->journal, rows, cols);
    viewers_notice(p, &n);
    process_updated(p);
    attention_activity(p);
}

static struct viewer *first_with_window(struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers) {
        struct viewer *v = list_entry(it, struct viewer, link);
        if (v->rows > 0)
            return v;
    }
    return NULL;
}

static void size_smallest(struct process *p, const char *by)
{
    uint16_t rows = UINT16_MAX, cols = UINT16_MAX;
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers) {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (v->rows == 0)
            continue;
        rows = v->rows < rows ? v->rows : rows;
        cols = v->cols < cols ? v->cols : cols;
    }
    if (rows != UINT16_MAX)
        size_set(p, rows, cols, by);
}

void size_viewer(struct viewer *v, uint16_t rows, uint16_t cols)
{
    struct process *p = v->process;
    const char *by = v->client != NULL ? v->client : v->name;

    v->rows = rows;
    v->cols = cols;
    if (p->size_owner == NULL)
        p->size_owner = first_with_window(p);
    if (p->size_policy == SIZE_LATEST || (p->size_policy == SIZE_OWNER && p->size_owner == v))
        size_set(p, rows, cols, by);
    else if (p->size_policy == SIZE_SMALLEST)
        size_smallest(p, by);
}

void size_on_detach(struct process *p)
{
    if (p->size_policy == SIZE_SMALLEST)
        size_smallest(p, NULL);
    if (p->size_policy == SIZE_OWNER && p->size_owner == NULL) {
        p->size_owner = first_with_window(p);
        if (p->size_owner != NULL)
            size_set(p, p->size_owner->rows, p->size_owner->cols, NULL);
    }
}

static int size_check(const struct process *p, int64_t rows, int64_t cols, struct hf_error *err)
{
    if (!p->rec.head->pty)
        return hf_fail(err, HF_E_not_a_terminal,
                       "this process was started with pipes; start it with \"pty\" to resize");
    if (rows < 1 || rows > TERMINAL_SIZE_MAX || cols < 1 || cols > TERMINAL_SIZE_MAX)
        return hf_fail(err, HF_E_bad_size, "rows and cols must both be 1 to %d", TERMINAL_SIZE_MAX);
    if (!process_is_running(p) || p->tty_fd < 0)
        return hf_fail(err, HF_E_not_running, "the process has exited");
    return 0;
}

int process_resize(struct process *p, int64_t rows, int64_t cols, const char *by,
                   struct hf_error *err)
{
    int rc = size_check(p, rows, cols, err);

    if (rc == 0)
        size_set(p, (uint16_t)rows, (uint16_t)cols, by);
    return rc;
}

int viewer_resize(struct viewer *v, int64_t rows, int64_t cols, struct hf_error *err)
{
    int rc = size_check(v->process, rows, cols, err);

    if (rc == 0)
        size_viewer(v, (uint16_t)rows, (uint16_t)cols);
    return rc;
}
