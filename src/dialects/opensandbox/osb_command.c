/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_command.c - POST /command: run a line and stream its output; resume such a stream
 *
 * A command is not tied to the connection that started it: it keeps running when its client
 * disconnects, and a client finds it again by its id. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_event_feed.h"

struct osb_command {
    struct pending pending;
    struct osb_feed feed;
    struct http_request *rq; /* NULL: replied, or the client has disconnected */
    bool background;
    char *cwd; /* to recognize an error about it */
};

static void command_free(struct pending *p)
{
    struct osb_command *c = list_entry(p, struct osb_command, pending);

    osb_feed_fini(&c->feed);
    pending_fini(p);
    free(c->cwd);
    free(c);
}

/* The engine still calls back for a process that is being started; see command_stream(). */
static void command_drain(struct pending *p)
{
    struct osb_command *c = list_entry(p, struct osb_command, pending);

    if (c->feed.process != NULL)
        command_free(p);
}

static const struct pending_kind command_kind = {.drain = command_drain, .free = command_free};

static struct osb_command *command_of(struct osb_feed *f)
{
    return list_entry(f, struct osb_command, feed);
}

static void command_gone(struct osb_feed *f)
{
    command_free(&command_of(f)->pending);
}

static void command_over(struct osb_feed *f, const struct exit_record *x)
{
    osb_feed_end(f, x);
    command_free(&command_of(f)->pending);
}

static const struct feed_ops command_feed = {.gone = command_gone, .over = command_over};

static struct osb_command *command_new(struct http_request *rq)
{
    struct osb *o = osb_of(rq);
    struct osb_command *c = hf_xalloc(sizeof *c);

    c->rq = rq;
    osb_feed_init(&c->feed, o, &command_feed);
    pending_init(&c->pending, &o->pending, &command_kind);
    return c;
}

/* --- start ---------------------------------------------------------------------- */

static void command_refuse(struct osb_command *c, const struct hf_error *err)
{
    bool cwd = err->code == HF_E_spawn_failed && c->cwd != NULL && strcmp(err->path, c->cwd) == 0;

    if (c->rq == NULL)
        return;
    if (cwd)
        osb_refuse(c->rq, 400, "INVALID_REQUEST_BODY", err->detail);
    else
        osb_error(c->rq, err);
}

static void command_stream(struct osb_command *c, struct process *p, uint64_t from)
{
    struct http_request *rq = c->rq;
    struct process_view v;
    struct hf_error err;

    c->rq = NULL;
    c->feed.guest = caller_is_guest(rq);
    if (osb_feed_attach(&c->feed, p, from, &err) < 0) {
        osb_error(rq, &err);
        command_free(&c->pending);
        return;
    }
    process_view(p, &v);
    osb_feed_begin(&c->feed, rq, v.id);
    if (c->feed.osb->draining) /* too late to refuse it; now its client knows the id */
        command_drain(&c->pending);
}

static void command_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct osb_command *c = arg;

    if (c->rq != NULL)
        http_set_user(c->rq, NULL, NULL);
    if (p == NULL)
        command_refuse(c, err);
    if (p == NULL || c->rq == NULL) {
        command_free(&c->pending);
    } else if (c->background) {
        struct process_view v;

        process_view(p, &v);
        osb_feed_begin(&c->feed, c->rq, v.id);
        osb_feed_end(&c->feed, NULL);
        command_free(&c->pending);
    } else {
        command_stream(c, p, 0);
    }
}

static void command_on_disconnect(void *user)
{
    struct osb_command *c = user;

    c->rq = NULL;
}

static void command_start(struct http_request *rq, struct command_request *a)
{
    struct osb_command *c = command_new(rq);
    struct hf_error err;

    c->background = a->background;
    c->cwd = hf_xstrdup(a->spec.cwd);
    a->spec.quiet_start = !a->background && !a->tty;
    http_set_user(rq, c, command_on_disconnect);
    if (engine_spawn(c->feed.osb->engine, &a->spec, command_on_spawned, c, &err) < 0) {
        http_set_user(rq, NULL, NULL);
        command_refuse(c, &err);
        command_free(&c->pending);
    }
}

void osb_command_post(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct command_request a;
    struct hf_error err;

    if (body == NULL || !osb_is_open(rq))
        return;
    if (osb_command_request_decode(&a, body, &err) < 0)
        osb_error(rq, &err);
    else
        command_start(rq, &a);
    osb_command_request_fini(&a);
}

/* --- resume -------------------------------------------------------------------------- */

/* Lines are split again from the first retained byte, so that they are the same as before; those
 * that the client has are skipped. Lost output is reported, so the feed then begins before it. */
void osb_command_resume(struct http_request *rq)
{
    const char *text = http_query(rq, "after_eid");
    struct hf_error err;
    struct process *p = osb_find(osb_of(rq), http_param(rq, "id"), &err);
    struct osb_command *c;
    uint64_t after = 0, first;

    if (p == NULL) {
        osb_error(rq, &err);
    } else if (text != NULL && !text_to_u64(text, UINT64_MAX, &after)) {
        osb_refuse(rq, 400, "INVALID_QUERY", "after_eid must be a number");
    } else {
        c = command_new(rq);
        first = journal_first(process_journal(p));
        osb_feed_resume(&c->feed, after);
        command_stream(c, p, osb_eid_offset(after) < first ? osb_eid_offset(after) : first);
    }
}
