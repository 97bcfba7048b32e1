/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_screen.c - screens for read_screen and process://{id}/screen. Layer: dialects.
 */
#include "dialects/mcp/mcp_screen.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/stream/screen.h"

bool mcp_has_screens(void)
{
    return true;
}

static void deliver(struct mcp_call *c, struct process *p, const struct term *t, mcp_screen_fn *fn,
                    const char *uri)
{
    struct mcp_screen s = {0};
    struct screen_view v;

    screen_view(p, t, &v);
    screen_text(t, 0, &s.text);
    buf_puts(&s.title, v.title);
    s.rows = v.rows;
    s.cols = v.cols;
    s.cursor_row = v.y;
    s.cursor_col = v.x;
    s.alternate = v.alternate;
    s.offset = v.offset;
    fn(c, p, &s, uri);
    buf_fini(&s.text);
    buf_fini(&s.title);
}

/* --- a screen that needs more than one turn --------------------------------------------- */

struct screen_job {
    struct job job;
    struct screen_waiter waiter;
    struct process *process; /* referenced */
    mcp_screen_fn *fn;
    char *uri;
};

static void screen_job_free(struct screen_job *x)
{
    screen_waiter_cancel(&x->waiter);
    process_unref(x->process);
    mcp_job_fini(&x->job);
    free(x->uri);
    free(x);
}

static void screen_job_end(struct job *j, enum mcp_call_end why)
{
    (void)why;
    screen_job_free(list_entry(j, struct screen_job, job));
}

static const struct job_kind screen_job_kind = {.end = screen_job_end};

static void screen_job_done(void *arg, struct process *p)
{
    struct screen_job *x = arg;
    struct mcp_call *c = x->job.call;
    mcp_screen_fn *fn = x->fn;
    char *uri = x->uri;

    x->uri = NULL;
    screen_job_free(x); /* before the reply, which ends the call */
    deliver(c, p, screen_as_it_is(p), fn, uri);
    free(uri);
}

static int screen_job_begin(struct mcp_call *c, struct process *p, const char *uri,
                            mcp_screen_fn *fn, struct hf_error *err)
{
    struct screen_job *x = hf_xalloc(sizeof *x);

    if (mcp_job_begin(&x->job, c, &screen_job_kind, err) < 0) {
        free(x);
        return -1;
    }
    x->process = process_ref(p);
    x->fn = fn;
    x->uri = hf_xstrdup(uri);
    x->waiter.fn = screen_job_done;
    x->waiter.arg = x;
    screen_wait(p, &x->waiter);
    return 0;
}

int mcp_screen_get(struct mcp_call *c, struct process *p, const char *uri, mcp_screen_fn *fn,
                   struct hf_error *err)
{
    const struct term *t = process_screen(p);
    struct process_view v;

    process_view(p, &v);
    if (!v.pty)
        return hf_fail(err, HF_E_not_a_terminal, "this process has no terminal; use read_output");
    if (t == NULL)
        return screen_job_begin(c, p, uri, fn, err);
    deliver(c, p, t, fn, uri);
    return 0;
}
