/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - runs a process to its end and collects its output, stream by stream
 *
 * This is the "exec" call of most platforms. The first bytes of each stream are kept, up to a
 * bound; the rest is read and counted. Nothing is lost before the bound, since the collector is a
 * lossless viewer. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_COLLECT_H
#define HF_DIALECTS_COMMON_COLLECT_H

#include "base/buf.h"
#include "engine/engine.h"

struct collect;

/* The first bytes of a stream, and how many were written. */
struct collect_kept {
    struct buf bytes;
    uint64_t total;
};
void collect_keep(struct collect_kept *k, const struct slice *s, size_t max);

struct collected {
    struct process *process;
    const struct exit_record *exit;
    const struct buf *out, *err;   /* a terminal's output is all in out */
    uint64_t out_total, err_total; /* as written */
};

struct collect_ops {
    void (*failed)(void *arg, const struct hf_error *err); /* the process could not be started */
    void (*done)(void *arg, const struct collected *c);    /* the process has ended */
};

/* 0: exactly one of the ops is called later, unless abandoned before, and the collector is freed
 * after it. Else err, nothing was started, and *out is NULL. */
int collect_start(struct engine *e, struct spawn_spec *spec, size_t max_bytes,
                  const struct collect_ops *ops, void *arg, struct collect **out,
                  struct hf_error *err);
/* The caller has disconnected. `end`: terminate the process as well. */
void collect_abandon(struct collect *c, bool end);
/* The same when the engine itself is about to be freed. */
void collect_free(struct collect *c);
/* NULL until it is started. */
struct process *collect_process(const struct collect *c);

#endif
