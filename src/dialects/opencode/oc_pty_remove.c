/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_pty_remove.c - DELETE …/pty/{id} and POST /instance/dispose: terminates the whole tree
 *
 * The original sends a hang-up to the leader only; a shell that ignores it lives on as an orphan.
 * Here the reply is sent when no process is left, or when those left cannot be killed. Layer:
 * dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"

/* One PTY, or all of a directory. */
struct removal {
    struct call call;
    struct list link;           /* in oc.removals */
    char *directory;            /* NULL: one PTY */
    struct process **processes; /* referenced; NULL: it has ended */
    size_t count;
    size_t open; /* those that have not ended, plus one while they are being started */
};

static void removal_release(struct call *c)
{
    struct removal *r = list_entry(c, struct removal, call);

    for (size_t i = 0; i < r->count; i++)
        if (r->processes[i] != NULL) {
            process_end_cancel(r->processes[i], r);
            process_unref(r->processes[i]);
        }
    list_remove(&r->link);
    free(r->processes);
    free(r->directory);
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static const struct call_kind removal_kind = {
    .release = removal_release,
    .stays = true,
    .drain_text = OC_CONTINUES,
};

bool oc_is_being_removed(const struct oc *oc, const struct process *p)
{
    for (const struct list *l = oc->removals.next; l != &oc->removals; l = l->next) {
        const struct removal *r = list_entry(l, struct removal, link);

        for (size_t i = 0; i < r->count; i++)
            if (r->processes[i] == p)
                return true;
    }
    return false;
}

static void removal_reply(struct http_request *rq)
{
    if (oc_is_api(rq))
        http_reply_empty(rq, 204);
    else
        oc_send_json(rq, "true");
}

static void removal_step(struct removal *r)
{
    struct oc *oc = oc_of_call(&r->call);
    struct http_request *rq;
    struct json_out o;

    if (--r->open > 0)
        return;
    if (r->directory != NULL && oc_is_heard(oc)) {
        o = oc_event(oc, "server.instance.disposed");
        json_kstr(&o, "directory", r->directory);
        oc_event_send(oc, &o, r->directory);
        oc_streams_end(oc, r->directory);
    }
    rq = call_end(&r->call);
    if (rq != NULL)
        removal_reply(rq);
}

/* Several requests may remove it at once: the first to finish notifies the others' clients as
 * well. */
static void removal_publish(struct oc *oc, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    if (engine_find(oc->base.engine, v.id, NULL) != p)
        return;
    oc_publish_deleted(oc, &v);
    process_forget(p);
}

/* Process the engine's exit event while the removal is known, so that clients see that it was
 * deleted, not that it exited. */
static void removal_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct removal *r = arg;

    (void)s;
    oc_publish_now(oc_of_call(&r->call));
    removal_publish(oc_of_call(&r->call), p);
    oc_publish_now(oc_of_call(&r->call));
    for (size_t i = 0; i < r->count; i++)
        if (r->processes[i] == p)
            r->processes[i] = NULL;
    process_unref(p);
    removal_step(r);
}

static struct removal *removal_new(struct http_request *rq)
{
    struct removal *r = call_begin(rq, &removal_kind, sizeof *r);

    list_append(&oc_of_call(&r->call)->removals, &r->link);
    r->open = 1;
    return r;
}

static void removal_add(struct removal *r, struct process *p)
{
    r->processes = hf_xrealloc(r->processes, (r->count + 1) * sizeof *r->processes);
    r->processes[r->count++] = process_ref(p);
}

static void removal_begin(struct removal *r)
{
    for (size_t i = 0; i < r->count; i++) {
        r->open++;
        process_delete(r->processes[i], OC_PTY_GRACE_MS, "api", removal_on_ended, r);
    }
    removal_step(r);
}

void oc_pty_remove(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    struct removal *r;

    if (p == NULL)
        return;
    r = removal_new(rq);
    removal_add(r, p);
    removal_begin(r);
}

/* --- all PTYs of a directory --------------------------------------------------------- */

/* Only PTYs that this dialect created for this directory: others' terminals are theirs. */
static bool is_of_directory(struct process *p, const char *directory)
{
    struct process_view v;
    json_auto_t *meta = NULL;
    const char *own;

    process_view(p, &v);
    meta = oc_meta(v.metadata_json);
    own = oc_meta_text(meta, "directory");
    return v.pty && v.running && own != NULL && strcmp(own, directory) == 0;
}

void oc_dispose(struct http_request *rq)
{
    struct removal *r = removal_new(rq);
    char directory[PATH_MAX];
    struct process *p = NULL;

    r->directory = hf_xstrdup(oc_directory(rq, directory));
    while ((p = engine_next(oc_of(rq)->base.engine, p)) != NULL)
        if (is_of_directory(p, r->directory))
            removal_add(r, p);
    removal_begin(r);
}
