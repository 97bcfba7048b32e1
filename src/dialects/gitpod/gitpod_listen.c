/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_listen.c - Listen: the output that is held, live output, titles, then the exit
 *
 * The program's name is polled while a client listens, as in the original. The protocol has no
 * message for output that a slow reader has missed, so its stream ends with an error instead of
 * continuing silently: the next Listen begins with all that is held. Layer: dialects.
 */
#include <string.h>

#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/gitpod/gitpod.h"
#include "dialects/gitpod/gitpod_limits.h"

struct gitpod_listen {
    struct follow follow;
    struct timer *timer;
    uint64_t until_ms; /* 0: none */
    struct gitpod_title title;
    bool title_sent; /* the title was sent at least once */
    bool begun;
    bool json;
};

static struct gitpod_listen *listen_of(struct follow *f)
{
    return list_entry(f, struct gitpod_listen, follow);
}

static void listen_release(struct follow *f)
{
    timer_close(listen_of(f)->timer);
}

static void listen_send(struct gitpod_listen *l, const char *key, json_t *value, bool api)
{
    json_auto_t *tree = json_object();

    json_object_set_new(tree, key, value);
    if (api)
        json_object_set_new(tree, "titleSource", json_integer(1));
    grpc_stream_send(l->follow.out, l->json, &gitpod_listen_response, tree);
}

/* The stream ends after it. */
static void listen_result(struct follow *f, enum grpc_code code, const char *why)
{
    grpc_stream_result(f->out, listen_of(f)->json, code, why);
}

/* --- titles --------------------------------------------------------------------------------- */

static void update_title(struct gitpod_listen *l)
{
    struct gitpod_title now;

    if (!http_stream_ready(l->follow.out))
        return; /* the next poll */
    gitpod_title(l->follow.process, &now);
    if (l->title_sent && now.api == l->title.api && strcmp(now.text, l->title.text) == 0)
        return;
    l->title = now;
    l->title_sent = true;
    listen_send(l, "title", json_string_nocheck(now.text), now.api);
}

static void start_timer(struct gitpod_listen *l, uint64_t now)
{
    bool ends_first = l->until_ms != 0 && l->until_ms - now < GITPOD_TITLE_MS;

    timer_start(l->timer, ends_first ? l->until_ms - now : GITPOD_TITLE_MS);
}

static void listen_on_timer(struct timer *t, void *arg)
{
    struct gitpod_listen *l = arg;
    uint64_t now = loop_now_ms(l->follow.call.base->loop);

    (void)t;
    if (l->until_ms != 0 && now >= l->until_ms) {
        listen_result(&l->follow, GRPC_DEADLINE_EXCEEDED, "the deadline of the call has passed");
        follow_end(&l->follow);
        return;
    }
    update_title(l);
    start_timer(l, now);
}

/* --- the stream ----------------------------------------------------------------------------- */

/* The first title precedes all output. */
static bool listen_ahead(struct follow *f)
{
    struct gitpod_listen *l = listen_of(f);

    if (!l->title_sent)
        update_title(l);
    return http_stream_ready(f->out);
}

static void listen_bytes(struct follow *f, const struct slice *s)
{
    struct gitpod_listen *l = listen_of(f);

    l->begun = true;
    if (l->json)
        listen_send(l, "data", json_stringn_nocheck(s->bytes, s->len), false);
    else
        grpc_stream_send_bytes(f->out, GITPOD_LISTEN_DATA, s->bytes, s->len);
}

/*
 * Output that was lost before the start is not reported: that is how far back the daemon holds
 * output.
 */
static void listen_gap(struct follow *f, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    if (!listen_of(f)->begun)
        return;
    listen_result(f, GRPC_INTERNAL, "read timeout: output was missed; listen again");
    follow_end(f);
}

static bool listen_exited(struct follow *f, const struct exit_record *x)
{
    json_auto_t *meta = gitpod_meta(f->process);
    bool forced = json_is_true(json_object_get(meta, "force_success"));

    if (x->exit_code < 0) {
        listen_result(f, GRPC_INTERNAL, "the terminal's exit status is unknown");
        return true;
    }
    listen_send(listen_of(f), "exitCode", json_integer(forced ? 0 : x->exit_code), false);
    listen_result(f, GRPC_OK, NULL);
    return true;
}

static void listen_drain(struct follow *f)
{
    listen_result(f, GRPC_UNAVAILABLE, "the daemon is shutting down; listen again");
}

static const struct follow_ops listen_ops = {
    .ahead = listen_ahead,
    .bytes = listen_bytes,
    .gap = listen_gap,
    .exited = listen_exited,
    .drain = listen_drain,
    .release = listen_release,
};

/* A client that may type shows the output on a terminal, which replies to the programs' queries. */
static struct follow_open listen_open(const struct http_request *rq)
{
    const bool types = http_role(rq) >= ROLE_TYPE;

    return (struct follow_open){
        .type = grpc_stream_type(grpc_is_json(rq)),
        .viewer = {.since = SINCE_OFFSET,
                   .role = types ? VIEWER_TYPE : VIEWER_WATCH,
                   .read_only = !types,
                   .terminal = types,
                   .only_stream = -1,
                   .slice_bytes = GITPOD_DATA_BYTES},
    };
}

void gitpod_listen(struct http_request *rq)
{
    json_auto_t *message = NULL;
    struct process *p = gitpod_find(rq, &gitpod_alias_request, false, GITPOD_NOT_FOUND, &message);
    const struct follow_open o = listen_open(rq);
    struct hf_error err = {0};
    struct gitpod_listen *l;

    if (p == NULL)
        return;
    l = hf_xalloc(sizeof *l);
    l->json = grpc_is_json(rq);
    l->until_ms = grpc_deadline(rq);
    l->timer = timer_new(dialect_base_of(rq)->loop, listen_on_timer, l);
    start_timer(l, loop_now_ms(dialect_base_of(rq)->loop));
    if (follow_begin(&l->follow, &listen_ops, rq, p, &o, &err) < 0)
        http_reply_error(rq, &err);
}
