/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_run.c - run_command: start, wait, reply with the output; start_process: start, reply
 *
 * An internal viewer reads the output; it pauses the process rather than miss a byte. Head and tail
 * are collected as output arrives. Cancelling the call terminates the command. A client that
 * disconnects leaves it running: after a network failure, the client finds it in the list, or
 * repeats its request with the same Idempotency-Key. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/idempotency.h"
#include "dialects/mcp/mcp_tool_spawn.h"
#include "dialects/mcp/mcp_tools.h"
#include "engine/stream/viewer.h"

struct mcp_tool_run {
    struct mcp_call call;
    struct process *process; /* NULL until started; referenced */
    struct viewer *viewer;
    struct headtail output;
    struct timer *yield; /* NULL: to the end, or not started yet */
    int64_t yield_ms;    /* -1: to the end */
    bool waits;          /* run_command */
    /* While the process is being started with a key: in mcp.starting, or in the followers of the
     * call that starts it. */
    struct list link, followers;
    char *key; /* NULL: none */
    char hash[IDEMPOTENCY_HASH_LEN + 1];
};

static void run_release(struct call *c)
{
    struct mcp_tool_run *r = list_entry(c, struct mcp_tool_run, call.call);

    viewer_detach(r->viewer);
    process_unref(r->process);
    headtail_fini(&r->output);
    timer_close(r->yield);
    list_remove(&r->link);
    while (!list_is_empty(&r->followers))
        list_remove(r->followers.next);
    free(r->key);
    mcp_call_release(c);
}

static void run_disconnected(struct call *c)
{
    struct mcp_tool_run *r = list_entry(c, struct mcp_tool_run, call.call);

    if (r->call.cancelled)
        process_terminate(r->process, -1, "api", NULL, NULL);
}

/* A start takes milliseconds, and its callback is owed: run_on_spawned() ends the call. */
static const struct call_kind starting_kind = {
    .release = run_release, .drain = mcp_call_drain, .stays = true};
static const struct call_kind running_kind = {
    .release = run_release, .disconnected = run_disconnected, .drain = mcp_call_drain};

/* Replies with the output so far and the status; ends the run. */
static void run_reply(struct mcp_tool_run *r)
{
    struct mcp_call *c = &r->call;
    struct buf *text = &mcp_call_mcp(c)->text;
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(r->process, &v);
    tool_write_state(&o, &v);
    json_kbool(&o, "timed_out", !v.running && v.exit->kind == EXIT_TIMED_OUT);
    tool_write_output(&o, text, &r->output);
    json_ku64(&o, "next", viewer_offset(r->viewer));
    tool_put_state(text, &v);
    tool_send(c, &o);
}

static void run_bytes(void *arg, const struct slice *s)
{
    struct mcp_tool_run *r = arg;

    headtail_feed(&r->output, s->bytes, s->len);
}

/* The first reader misses nothing. A later one, with the same key, gets what is held. */
static void run_gap(void *arg, uint64_t from, uint64_t to)
{
    struct mcp_tool_run *r = arg;

    headtail_skip(&r->output, to - from);
}

static void run_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    run_reply(arg);
}

static const struct viewer_ops run_ops = {
    .bytes = run_bytes,
    .gap = run_gap,
    .exited = run_exited,
};

static void run_on_yield(struct timer *t, void *arg)
{
    (void)t;
    run_reply(arg);
}

static int run_begin_waiting(struct mcp_tool_run *r, struct process *p, struct hf_error *err)
{
    const struct viewer_options o = viewer_own(0);
    int rc = viewer_attach(p, &o, &run_ops, r, &r->viewer, err);

    if (rc < 0)
        return rc;
    r->process = process_ref(p);
    r->call.call.kind = &running_kind;
    mcp_call_watch_progress(&r->call, p);
    if (r->yield_ms >= 0) {
        r->yield = timer_new(r->call.call.base->loop, run_on_yield, r);
        timer_start(r->yield, (uint64_t)r->yield_ms);
    }
    return 0;
}

static void start_reply(struct mcp_call *c, struct process *p)
{
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(p, &v);
    json_kstr(&o, "process_id", v.id);
    json_key(&o, "process");
    process_write_json(p, &o);
    if (v.running)
        buf_printf(&mcp_call_mcp(c)->text, "[%s is running, pid %d]", v.id, (int)v.pid);
    else
        tool_put_state(&mcp_call_mcp(c)->text, &v);
    tool_send(c, &o);
}

/* The process runs, now or since an earlier request with the same key. */
static int run_started(struct mcp_tool_run *r, struct process *p, struct hf_error *err)
{
    if (r->waits)
        return run_begin_waiting(r, p, err);
    start_reply(&r->call, p);
    return 0;
}

static void run_spawned(struct mcp_tool_run *r, struct process *p, const struct hf_error *why)
{
    struct hf_error err = {0};

    list_remove(&r->link); /* from now on the engine finds it by its key */
    if (p == NULL) {
        tool_fail(&r->call, why);
    } else if (r->call.exchange == NULL) {
        if (r->call.cancelled)
            process_terminate(p, -1, "api", NULL, NULL);
        call_end(&r->call.call);
    } else if (run_started(r, p, &err) < 0) {
        process_terminate(p, -1, "api", NULL, NULL);
        tool_fail(&r->call, &err);
    }
}

static void run_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    struct mcp_tool_run *r = arg;

    while (!list_is_empty(&r->followers))
        run_spawned(list_entry(r->followers.next, struct mcp_tool_run, link), p, why);
    run_spawned(r, p, why);
}

/* The call that is starting the process of this key; NULL: none is. */
static struct mcp_tool_run *find_starting(const struct mcp *m, const char *key)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, (struct list *)&m->starting) {
        struct mcp_tool_run *r = list_entry(it, struct mcp_tool_run, link);

        if (key != NULL && strcmp(r->key, key) == 0)
            return r;
    }
    return NULL;
}

static void run_join(struct mcp_tool_run *r, struct list *list, const struct idempotency *again)
{
    r->key = hf_xstrdup(again->key);
    memcpy(r->hash, again->hash, sizeof r->hash);
    list_append(list, &r->link);
}

static int run_begin(struct mcp_call *c, struct tool_spawn *t, const struct idempotency *again,
                     bool waits, struct hf_error *err)
{
    struct process *p = NULL;
    struct mcp_tool_run *leader, *r;

    if (idempotency_find(again, c->call.base->engine, &p, err) < 0)
        return -1;
    leader = p == NULL ? find_starting(mcp_call_mcp(c), again->key) : NULL;
    if (leader != NULL && idempotency_check(again, leader->hash, err) < 0)
        return -1;
    r = mcp_call_begin(c, &starting_kind, sizeof *r, err);
    if (r == NULL)
        return -1;
    r->waits = waits;
    r->yield_ms = t->yield_ms;
    list_init(&r->link);
    list_init(&r->followers);
    headtail_init(&r->output, (size_t)t->request.max_output_bytes);
    if (leader != NULL) {
        run_join(r, &leader->followers, again);
        return 0;
    }
    if (p == NULL && again->key != NULL) {
        run_join(r, &mcp_call_mcp(c)->starting, again);
        t->request.spec.idempotency_key = again->key;
        t->request.spec.request_hash = again->hash;
    }
    if (p != NULL
            ? run_started(r, p, err) == 0
            : engine_spawn(c->call.base->engine, &t->request.spec, run_on_spawned, r, err) == 0)
        return 0;
    call_end(&r->call.call);
    return -1;
}

/* A batch has one key and several requests, so it is ignored there. */
static int decode_key(const struct mcp_call *c, struct idempotency *again, struct hf_error *err)
{
    *again = (struct idempotency){0};
    if (c->exchange->batch || c->exchange->call.rq == NULL)
        return 0;
    return idempotency_decode(again, c->exchange->call.rq, err);
}

static void decode_and_begin(struct mcp_call *c, const json_t *arguments, bool waits)
{
    struct tool_spawn t = {0};
    struct idempotency again;
    struct hf_error err = {0};

    if (dialect_check_open(c->call.base, &err) < 0 || decode_key(c, &again, &err) < 0 ||
        tool_spawn_decode(&t, arguments, waits, &err) < 0 ||
        run_begin(c, &t, &again, waits, &err) < 0)
        tool_fail(c, &err);
    tool_spawn_fini(&t);
}

void tool_run_command(struct mcp_call *c, const json_t *arguments)
{
    decode_and_begin(c, arguments, true);
}

void tool_start_process(struct mcp_call *c, const json_t *arguments)
{
    decode_and_begin(c, arguments, false);
}
