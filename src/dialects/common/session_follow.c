/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_follow.c - follows the output of a command in a session. Layer: dialects.
 */
#include "dialects/common/session_follow.h"

#include <stdlib.h>

#include "base/mem.h"

struct session_follow {
    struct engine *engine;
    const struct session_follow_ops *ops;
    void *arg;
    struct session_run *run; /* NULL: it has ended */
    struct viewer *viewer;   /* NULL: still waiting */
    struct session_followed result;
    uint64_t to;     /* end of its output, once `run` is NULL */
    bool shell_gone; /* no more output can come */
};

static void follow_free(struct session_follow *f)
{
    viewer_detach(f->viewer);
    free(f);
}

static void follow_finish(struct session_follow *f)
{
    f->ops->done(f->arg, &f->result);
    follow_free(f);
}

static bool follow_ready(void *arg)
{
    struct session_follow *f = arg;

    return f->ops->ready(f->arg);
}

/* Later commands write to the same journal. */
static void follow_bytes(void *arg, const struct slice *s)
{
    struct session_follow *f = arg;
    struct slice mine = *s;
    bool last = f->run == NULL && s->at + s->len >= f->to;

    if (last)
        mine.len = f->to > s->at ? (size_t)(f->to - s->at) : 0;
    if (mine.len > 0)
        f->ops->bytes(f->arg, &mine);
    if (last)
        follow_finish(f);
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    struct session_follow *f = arg;

    f->ops->gap(f->arg, from, to);
    if (f->run == NULL && to >= f->to)
        follow_finish(f);
}

static void follow_exited(void *arg, const struct exit_record *x)
{
    struct session_follow *f = arg;

    (void)x;
    f->shell_gone = true;
    if (f->run == NULL)
        follow_finish(f);
}

static const struct viewer_ops viewer_ops = {
    .ready = follow_ready,
    .bytes = follow_bytes,
    .gap = follow_gap,
    .exited = follow_exited,
};

static void follow_began(void *arg, const struct session_begin *b)
{
    struct viewer_options o = viewer_own_client(b->from);
    struct session_follow *f = arg;
    struct process *p = engine_find(f->engine, b->process_id, NULL);

    o.slice_bytes = f->ops->slice_bytes;
    o.heavy = f->ops->heavy;
    if (f->ops->started != NULL)
        f->ops->started(f->arg, b);
    if (p == NULL || viewer_attach(p, &o, &viewer_ops, f, &f->viewer, NULL) < 0)
        f->shell_gone = true;
}

static void follow_on_done(void *arg, const struct session_result *r, const struct hf_error *err)
{
    struct session_follow *f = arg;
    const struct process *p;

    f->run = NULL;
    if (r == NULL) {
        f->ops->failed(f->arg, err);
        follow_free(f);
        return;
    }
    if (f->ops->result != NULL)
        f->ops->result(f->arg, r);
    p = engine_find(f->engine, r->process_id, NULL);
    f->result = (struct session_followed){r->exit, p == NULL || !process_is_running(p)};
    f->to = r->to;
    if (f->shell_gone || viewer_offset(f->viewer) >= f->to)
        follow_finish(f);
}

int session_follow_start(struct engine *e, struct session *s, const struct session_run_spec *spec,
                         const struct session_follow_ops *ops, void *arg,
                         struct session_follow **out, struct hf_error *err)
{
    struct session_follow *f = hf_xalloc(sizeof *f);
    struct session_run_spec mine = *spec;
    int rc;

    f->engine = e;
    f->ops = ops;
    f->arg = arg;
    mine.began = follow_began;
    rc = session_run(s, &mine, follow_on_done, f, &f->run, err);
    if (rc < 0) {
        free(f);
        return rc;
    }
    *out = f;
    return 0;
}

void session_follow_pump(struct session_follow *f)
{
    if (f->viewer != NULL)
        viewer_pump(f->viewer);
}

void session_follow_leave(struct session_follow *f, bool cancel)
{
    if (f->run != NULL)
        session_run_leave(f->run, cancel);
    follow_free(f);
}
