/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_command.c - POST /command: run a line and stream its output; resume such a stream
 *
 * A command is not tied to the connection that started it: it keeps running when its client
 * disconnects, and a client finds it again by its id. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/follow.h"
#include "dialects/common/uuid.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env.h"
#include "dialects/opensandbox/osb_event_feed.h"
#include "transport/sse.h"

/* --- the stream ------------------------------------------------------------------- */

struct osb_command {
    struct follow follow;
    struct osb_feed feed;
};

static struct osb_feed *feed_of(struct follow *f)
{
    return &((struct osb_command *)f)->feed;
}

static void command_bytes(struct follow *f, const struct slice *s)
{
    osb_feed_bytes(feed_of(f), s);
}

static void command_gap(struct follow *f, uint64_t from, uint64_t to)
{
    (void)from;
    osb_feed_gap(feed_of(f), to);
}

static bool command_exited(struct follow *f, const struct exit_record *x)
{
    osb_feed_end(feed_of(f), x);
    return true;
}

static void command_release(struct follow *f)
{
    osb_feed_fini(feed_of(f));
}

/* To a draining daemon's client, a stream without an end is incomplete. */
static const struct follow_ops command_ops = {
    .bytes = command_bytes,
    .gap = command_gap,
    .exited = command_exited,
    .release = command_release,
};

/* `after`: the last event that the client has. Lines are split again from the first retained byte,
 * so that they are the same as before; those that the client has are skipped. Lost output is
 * reported, so the feed then begins before it. */
static void command_stream(struct http_request *rq, struct process *p, uint64_t after,
                           uint64_t began_ms)
{
    struct follow_open o = {
        .type = SSE_TYPE,
        .headers = osb_feed_headers,
        .viewer = {.since = SINCE_OFFSET,
                   .internal = true,
                   .verbatim = true,
                   .heavy = true,
                   .slice_bytes = OSB_FEED_SLICE_BYTES,
                   .only_stream = -1},
    };
    uint64_t first = journal_first(process_journal(p));
    bool head = http_method(rq) == HTTP_HEAD_M;
    struct osb_command *c = hf_xalloc(sizeof *c);
    struct process_view v;
    struct hf_error err;

    o.viewer.offset = osb_eid_offset(after) < first ? osb_eid_offset(after) : first;
    osb_feed_init(&c->feed, rq, began_ms);
    c->feed.at = o.viewer.offset;
    osb_feed_resume(&c->feed, after);
    if (follow_begin(&c->follow, &command_ops, rq, p, &o, &err) < 0) {
        osb_error(rq, &err);
        return;
    }
    if (head)
        return;
    process_view(p, &v);
    osb_feed_begin(&c->feed, c->follow.out, v.id);
    if (c->feed.base->draining) /* too late to refuse it; now its client knows the id */
        follow_abort(&c->follow);
}

/* --- start ---------------------------------------------------------------------- */

struct osb_command_start {
    struct call call;
    uint64_t began_ms;
    bool background;
    char *cwd; /* to recognize an error about it */
};

static void starting_release(struct call *c)
{
    free(((struct osb_command_start *)c)->cwd);
}

static const struct call_kind starting_kind = {.release = starting_release, .stays = true};

/* A program that cannot be started is the command's own failure, as in execd. Its id names
 * nothing, there as here. */
static void starting_not_started(struct osb_command_start *c, const struct hf_error *err)
{
    char id[UUID_BYTES];
    struct osb_feed f = {0};

    uuid_make(id);
    osb_feed_init(&f, c->call.rq, c->began_ms);
    osb_feed_stream(&f, &c->call, id);
    osb_feed_fail(&f, err->detail);
    osb_feed_fini(&f);
    call_stream_end(&c->call);
}

static void starting_fail(struct osb_command_start *c, const struct hf_error *err)
{
    struct hf_error why = *err;
    bool program = err->code == HF_E_spawn_failed || err->code == HF_E_user_unknown;

    if (err->code == HF_E_spawn_failed && c->cwd != NULL && strcmp(err->path, c->cwd) == 0) {
        why.code = HF_E_bad_value; /* of the body */
        program = false;
    }
    if (program && c->call.rq != NULL)
        starting_not_started(c, err);
    else
        call_fail(&c->call, &why);
}

/* The client gets the id, and an end at once. */
static void starting_detach(struct osb_command_start *c, const char *id)
{
    struct osb_feed f = {0};

    osb_feed_init(&f, c->call.rq, c->began_ms);
    osb_feed_stream(&f, &c->call, id);
    osb_feed_end(&f, NULL);
    osb_feed_fini(&f);
    call_stream_end(&c->call);
}

static void starting_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct osb_command_start *c = arg;
    uint64_t began_ms = c->began_ms;
    struct http_request *rq;
    struct process_view v;

    if (p == NULL) {
        starting_fail(c, err);
    } else if (c->background && c->call.rq != NULL) {
        process_view(p, &v);
        starting_detach(c, v.id);
    } else {
        rq = call_end(&c->call);
        if (rq != NULL)
            command_stream(rq, p, 0, began_ms);
    }
}

static void command_start(struct http_request *rq, struct command_request *a)
{
    struct spec_env *vars = osb_env_overlay(osb_of(rq), &a->body.spec.env, &a->body.spec.env_count);
    struct osb_command_start *c = call_begin(rq, &starting_kind, sizeof *c);
    struct hf_error err;

    c->began_ms = clock_mono_ms();
    c->background = a->background;
    c->cwd = hf_xstrdup(a->body.spec.cwd);
    a->body.spec.quiet_start = !a->background && !a->body.spec.pty;
    if (engine_spawn(c->call.base->engine, &a->body.spec, starting_on_spawned, c, &err) < 0)
        starting_fail(c, &err);
    free(vars);
}

static void command_post(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct command_request a;
    struct hf_error err;

    if (body == NULL || !osb_is_open(rq))
        return;
    if (osb_command_request_decode(&a, body, &err) < 0 ||
        osb_env_notice(osb_of(rq), a.line, &err) < 0)
        osb_error(rq, &err);
    else
        command_start(rq, &a);
    osb_command_request_fini(&a);
}

void osb_command_post(struct http_request *rq)
{
    osb_env_with(rq, command_post);
}

/* --- resume -------------------------------------------------------------------------- */

void osb_command_resume(struct http_request *rq)
{
    const char *text = http_query(rq, "after_eid");
    struct process *p = osb_process(rq);
    uint64_t after = 0;

    if (p == NULL)
        return;
    if (text != NULL && !text_to_u64(text, UINT64_MAX, &after))
        osb_refuse(rq, 400, "INVALID_QUERY", "after_eid must be a number");
    else
        command_stream(rq, p, after, clock_mono_ms());
}
