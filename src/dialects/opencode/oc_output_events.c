/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_output_events.c - a running command's output as events, each with all output so far
 *
 * Nothing is copied: a viewer notices new output, and at most every OC_CHUNK_MS the part is written
 * from the journal. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opencode/oc_message.h"
#include "engine/stream/viewer.h"

struct chatter {
    struct list link;
    struct oc *oc;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct timer *timer;
};

static void chatter_free(struct chatter *c)
{
    list_remove(&c->link);
    viewer_detach(c->viewer);
    timer_close(c->timer);
    process_unref(c->process);
    free(c);
}

static bool on_ready(void *arg)
{
    (void)arg;
    return true;
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct chatter *c = arg;

    (void)s;
    if (!timer_is_active(c->timer))
        timer_start(c->timer, OC_CHUNK_MS);
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void on_exited(void *arg, const struct exit_record *x)
{
    (void)arg, (void)x; /* the engine's log reports the end, which stops this */
}

static const struct viewer_ops ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

static void on_timer(struct timer *t, void *arg)
{
    struct chatter *ch = arg;
    struct process_view v;
    struct oc_command c;
    struct session *s;

    (void)t;
    process_view(ch->process, &v);
    s = v.running && v.session_id != NULL ? session_find(ch->oc->base.engine, v.session_id, NULL)
                                          : NULL;
    if (s == NULL)
        return;
    oc_command_of_process(&c, ch->oc, s, ch->process, OC_MESSAGE_BYTES);
    oc_publish_parts(ch->oc, &c);
    oc_command_fini(&c);
}

void oc_chatter_start(struct oc *oc, struct process *p)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = journal_first(process_journal(p)),
        .internal = true,
        .read_only = true,
        .only_stream = -1,
    };
    struct chatter *c = hf_xalloc(sizeof *c);

    c->oc = oc;
    c->process = process_ref(p);
    c->timer = timer_new(oc->base.loop, on_timer, c);
    list_append(&oc->chatter, &c->link);
    if (viewer_attach(p, &o, &ops, c, &c->viewer, NULL) < 0)
        chatter_free(c);
}

void oc_chatter_stop(struct oc *oc, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &oc->chatter) {
        struct chatter *c = list_entry(it, struct chatter, link);
        struct process_view v;

        process_view(c->process, &v);
        if (id == NULL || strcmp(v.id, id) == 0)
            chatter_free(c);
    }
}
