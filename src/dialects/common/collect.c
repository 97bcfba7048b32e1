/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - collects the output of a process until it ends. Layer: dialects.
 */
#include "dialects/common/collect.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/stream/viewer.h"

struct collect {
    const struct collect_ops *ops; /* NULL: abandoned */
    void *arg;
    struct process *process; /* referenced; NULL until started */
    struct viewer *viewer;
    struct collect_kept out, err;
    size_t max_bytes;
    bool starting; /* the engine has yet to call back */
    bool end;      /* abandoned before the start: terminate it then */
};

void collect_free(struct collect *c)
{
    viewer_detach(c->viewer);
    process_unref(c->process);
    buf_fini(&c->out.bytes);
    buf_fini(&c->err.bytes);
    free(c);
}

struct process *collect_process(const struct collect *c)
{
    return c->process;
}

void collect_keep(struct collect_kept *k, const struct slice *s, size_t max)
{
    size_t room = k->bytes.len < max ? max - k->bytes.len : 0;

    buf_put(&k->bytes, s->bytes, s->len < room ? s->len : room);
    k->total += s->len;
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct collect *c = arg;

    collect_keep(s->stream == STREAM_STDERR ? &c->err : &c->out, s, c->max_bytes);
}

/* A lossless viewer that starts at 0 misses nothing. */
static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct collect *c = arg;

    c->out.total += to - from;
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct collect *c = arg;
    struct collected all = {
        .process = c->process,
        .exit = x,
        .out = &c->out.bytes,
        .err = &c->err.bytes,
        .out_total = c->out.total,
        .err_total = c->err.total,
    };

    c->ops->done(c->arg, &all);
    collect_free(c);
}

static const struct viewer_ops viewer_ops = {
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

static void on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct collect *c = arg;
    struct hf_error err;

    c->starting = false;
    if (p != NULL && (c->ops != NULL || c->end))
        c->process = process_ref(p);
    if (c->ops == NULL) {
        if (p != NULL && c->end)
            process_terminate(p, -1, "detach", NULL, NULL);
    } else if (p == NULL) {
        c->ops->failed(c->arg, why);
    } else if (viewer_attach(p, &o, &viewer_ops, c, &c->viewer, &err) < 0) {
        process_terminate(p, -1, "api", NULL, NULL);
        c->ops->failed(c->arg, &err);
    } else {
        return;
    }
    collect_free(c);
}

int collect_start(struct engine *e, struct spawn_spec *spec, size_t max_bytes,
                  const struct collect_ops *ops, void *arg, struct collect **out,
                  struct hf_error *err)
{
    struct collect *c = hf_xalloc(sizeof *c);
    int rc;

    c->ops = ops;
    c->arg = arg;
    c->max_bytes = max_bytes;
    c->starting = true;
    spec->quiet_start = true;
    *out = c;
    rc = engine_spawn(e, spec, on_spawned, c, err);
    if (rc < 0) {
        *out = NULL;
        collect_free(c);
    }
    return rc;
}

void collect_abandon(struct collect *c, bool end)
{
    c->ops = NULL;
    c->end = end;
    if (c->starting)
        return; /* on_spawned() handles it */
    if (end)
        process_terminate(c->process, -1, "detach", NULL, NULL);
    collect_free(c);
}
