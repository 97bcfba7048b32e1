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
    struct osb_feed feed;
    bool background;
    char *cwd; /* to recognize an error about it */
};

static void command_release(struct call *c)
{
    osb_feed_release(c);
    free(((struct osb_command *)c)->cwd);
}

static const struct call_kind starting_kind = {.release = command_release, .stays = true};
static const struct call_kind stream_kind = {.release = command_release, .room = osb_feed_room};

/* --- start ---------------------------------------------------------------------- */

static void command_fail(struct osb_command *c, const struct hf_error *err)
{
    struct hf_error why = *err;

    if (err->code == HF_E_spawn_failed && c->cwd != NULL && strcmp(err->path, c->cwd) == 0)
        why.code = HF_E_bad_value; /* of the body */
    call_fail(&c->feed.call, &why);
}

static void command_stream(struct osb_command *c, struct process *p, uint64_t from)
{
    struct call *call = &c->feed.call;
    struct process_view v;
    struct hf_error err;

    call->kind = &stream_kind;
    c->feed.guest = caller_is_guest(call->rq);
    if (osb_feed_attach(&c->feed, p, from, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    process_view(p, &v);
    osb_feed_begin(&c->feed, v.id);
    if (call->base->draining) /* too late to refuse it; now its client knows the id */
        call_stream_abort(call);
}

static void command_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct osb_command *c = arg;
    struct process_view v;

    if (p == NULL) {
        command_fail(c, err);
    } else if (c->feed.call.rq == NULL) {
        call_end(&c->feed.call);
    } else if (c->background) {
        process_view(p, &v);
        osb_feed_begin(&c->feed, v.id);
        osb_feed_end(&c->feed, NULL);
    } else {
        command_stream(c, p, 0);
    }
}

static void command_start(struct http_request *rq, struct command_request *a)
{
    struct osb_command *c = osb_feed_new(rq, &starting_kind, sizeof *c, osb_feed_end);
    struct hf_error err;

    c->background = a->background;
    c->cwd = hf_xstrdup(a->spec.cwd);
    a->spec.quiet_start = !a->background && !a->tty;
    if (engine_spawn(c->feed.call.base->engine, &a->spec, command_on_spawned, c, &err) < 0)
        command_fail(c, &err);
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
    struct process *p = osb_process(rq);
    struct osb_command *c;
    uint64_t after = 0, first;

    if (p == NULL)
        return;
    if (text != NULL && !text_to_u64(text, UINT64_MAX, &after)) {
        osb_refuse(rq, 400, "INVALID_QUERY", "after_eid must be a number");
        return;
    }
    c = osb_feed_new(rq, &stream_kind, sizeof *c, osb_feed_end);
    first = journal_first(process_journal(p));
    osb_feed_resume(&c->feed, after);
    command_stream(c, p, osb_eid_offset(after) < first ? osb_eid_offset(after) : first);
}
