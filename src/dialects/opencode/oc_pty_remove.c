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

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opencode/opencode.h"

struct oc_pty_remove_removal {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct oc *oc;
    struct process *process; /* referenced */
    struct dispose *dispose; /* NULL: removed individually */
};

struct dispose {
    struct http_request *rq; /* NULL: the client has disconnected */
    struct oc *oc;
    char *directory;
    size_t open; /* pending removals, plus one while they are being started */
};

static void removal_free(struct pending *p)
{
    struct oc_pty_remove_removal *r = list_entry(p, struct oc_pty_remove_removal, pending);

    process_unref(r->process);
    pending_fini(p);
    free(r);
}

static void dispose_step(struct dispose *d);

static void removal_on_free(struct pending *p)
{
    struct oc_pty_remove_removal *r = list_entry(p, struct oc_pty_remove_removal, pending);
    struct dispose *d = r->dispose;

    process_end_cancel(r->process, r);
    removal_free(p);
    if (d != NULL && --d->open == 0) {
        free(d->directory);
        free(d);
    }
}

static void removal_on_disconnect(void *user)
{
    ((struct oc_pty_remove_removal *)user)->rq = NULL;
}

static void reply_draining(struct http_request **rq)
{
    struct hf_error err;

    if (*rq == NULL)
        return;
    http_set_user(*rq, NULL, NULL);
    hf_fail(&err, HF_E_shutting_down,
            "the daemon is shutting down; the requested operation continues");
    oc_error(*rq, &err);
    *rq = NULL;
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static void removal_drain(struct pending *p)
{
    struct oc_pty_remove_removal *r = list_entry(p, struct oc_pty_remove_removal, pending);

    reply_draining(r->dispose != NULL ? &r->dispose->rq : &r->rq);
    removal_on_free(p);
}

static const struct pending_kind removal_kind = {.drain = removal_drain, .free = removal_on_free};

bool oc_is_being_removed(const struct oc *oc, const char *id)
{
    for (const struct list *l = oc->pending.next; l != &oc->pending; l = l->next) {
        const struct pending *p = list_entry(l, struct pending, link);
        struct process_view v;

        if (p->kind != &removal_kind)
            continue;
        process_view(list_entry(p, struct oc_pty_remove_removal, pending)->process, &v);
        if (strcmp(v.id, id) == 0)
            return true;
    }
    return false;
}

static void removal_reply(struct http_request *rq)
{
    if (oc_is_api(rq))
        http_reply_empty(rq, 204);
    else
        oc_send_true(rq);
}

/* Several requests may remove it at once: the first to finish notifies the others' clients as
 * well. */
static void removal_publish(struct oc *oc, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    if (engine_find(oc->engine, v.id, NULL) != p)
        return;
    oc_publish_deleted(oc, &v);
    process_forget(p);
}

/* Process the engine's exit event while the removal is known, so that clients see that it was
 * deleted, not that it exited. */
static void removal_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct oc_pty_remove_removal *r = arg;
    struct dispose *d = r->dispose;
    struct http_request *rq = r->rq;

    (void)s;
    oc_publish_now(r->oc);
    removal_publish(r->oc, p);
    oc_publish_now(r->oc);
    removal_free(&r->pending);
    if (d != NULL)
        dispose_step(d);
    else if (rq != NULL)
        removal_reply(rq);
}

static void removal_begin(struct oc *oc, struct process *p, struct http_request *rq,
                          struct dispose *d)
{
    struct oc_pty_remove_removal *r = hf_xalloc(sizeof *r);

    r->oc = oc;
    r->rq = rq;
    r->dispose = d;
    r->process = process_ref(p);
    pending_init(&r->pending, &oc->pending, &removal_kind);
    if (rq != NULL)
        http_set_user(rq, r, removal_on_disconnect);
    process_delete(p, OC_PTY_GRACE_MS, "api", removal_on_ended, r);
}

void oc_pty_remove(struct http_request *rq)
{
    struct process *p = oc_process(rq);

    if (p != NULL)
        removal_begin(oc_of(rq), p, rq, NULL);
}

/* --- all PTYs of a directory --------------------------------------------------------- */

static void dispose_step(struct dispose *d)
{
    struct oc *oc = d->oc;
    struct buf text = {0};
    struct json_out o;

    if (--d->open > 0)
        return;
    if (oc_is_heard(oc)) {
        o = oc_event(oc, &text, "server.instance.disposed");
        json_kstr(&o, "directory", d->directory);
        oc_event_send(oc, &text, &o, d->directory);
        oc_streams_end(oc, d->directory);
    }
    if (d->rq != NULL)
        oc_send_true(d->rq);
    free(d->directory);
    free(d);
}

static void dispose_on_disconnect(void *user)
{
    ((struct dispose *)user)->rq = NULL;
}

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
    struct oc *oc = oc_of(rq);
    struct dispose *d = hf_xalloc(sizeof *d);
    char directory[PATH_MAX];
    struct process *p = NULL;

    d->rq = rq;
    d->oc = oc;
    d->directory = hf_xstrdup(oc_directory(rq, directory));
    d->open = 1;
    http_set_user(rq, d, dispose_on_disconnect);
    while ((p = engine_next(oc->engine, p)) != NULL)
        if (is_of_directory(p, d->directory)) {
            d->open++;
            removal_begin(oc, p, NULL, d);
        }
    dispose_step(d);
}
