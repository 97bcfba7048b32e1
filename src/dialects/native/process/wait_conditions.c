/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_conditions.c - POST and GET /v1/processes/{id}/wait
 *
 * GET waits for the exit or the timeout. POST waits for conditions; its reply names the one that
 * was met, where, and the output up to there, and common/wait_for.h does the waiting.
 * Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/wait_for.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define WAIT_OUTPUT_BYTES LIMIT_RUN_OUTPUT_BYTES

struct wait_conditions_waiting {
    struct call call;
    struct wait *wait;
};

static void waiting_release(struct call *c)
{
    wait_cancel(list_entry(c, struct wait_conditions_waiting, call)->wait);
    native_wait_end(native_of_call(c));
}

static const struct call_kind waiting_kind = {.release = waiting_release,
                                              .drain_text = NATIVE_CLOSED_TEXT};

/* --- the reply ------------------------------------------------------------------------ */

/* The output in between. If it is long: the end of it, starting at a character boundary. */
static void write_between(const struct wait_result *r, struct json_out *o)
{
    const struct journal *j = process_journal(r->process);
    uint64_t first = journal_first(j), start = r->from, end = r->end;

    if (end - start > WAIT_OUTPUT_BYTES)
        start = end - WAIT_OUTPUT_BYTES;
    if (start < first)
        start = first < end ? first : end;
    for (int i = 0; i < 3 && start > r->from && start < end &&
                    ((unsigned char)*journal_bytes(j, start) & 0xC0) == 0x80;
         i++)
        start++;
    json_kopen(o, "output", '{');
    json_ku64(o, "offset", start);
    process_json_data(o, journal_bytes(j, start), (size_t)(end - start));
    json_close(o, '}');
    json_ku64(o, "omitted_bytes", start - r->from);
    json_ku64(o, "missed_bytes", r->missed);
}

static void write_range(struct json_out *o, const struct scan_match *m)
{
    json_kopen(o, "match", '{');
    json_ku64(o, "from", m->start);
    json_ku64(o, "to", m->end);
    json_close(o, '}');
}

static void write_prompt(struct json_out *o, const struct scan_match *m)
{
    json_kopen(o, "prompt", '{');
    json_kint_if(o, "exit_code", m->exit_code >= 0, m->exit_code);
    json_close(o, '}');
}

static void write_matched(struct json_out *o, const struct wait_result *r)
{
    bool met = r->index != WAIT_NO_INDEX;

    json_kstr(o, "matched", met ? wait_kind_name(r->kind) : NULL);
    json_kint_if(o, "index", met, (int64_t)r->index);
    if (r->match != NULL)
        write_range(o, r->match);
    else
        json_knull(o, "match");
    if (r->match != NULL && r->kind == WAIT_PROMPT)
        write_prompt(o, r->match);
    else
        json_knull(o, "prompt");
}

static void waiting_done(void *arg, const struct wait_result *r)
{
    struct wait_conditions_waiting *w = arg;
    struct json_out o = dialect_reply_open(w->call.base);
    struct process_view v;

    process_view(r->process, &v);
    write_matched(&o, r);
    json_kbool(&o, "timed_out", r->timed_out);
    json_kstr(&o, "status", v.running ? "running" : "exited");
    process_json_exit(&o, process_exit_of(&v));
    process_json_usage(&o, v.usage);
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->end);
    write_between(r, &o);
    w->wait = NULL; /* it frees itself */
    call_send(&w->call, 200, &o);
}

static int waiting_begin(struct http_request *rq, struct process *p,
                         const struct wait_request *request, struct hf_error *err)
{
    struct wait_conditions_waiting *w;
    int rc = native_wait_begin(native_of(rq), rq, err);

    if (rc < 0)
        return rc;
    w = call_begin(rq, &waiting_kind, sizeof *w);
    rc = wait_start(p, request, waiting_done, w, &w->wait, err);
    if (rc < 0)
        call_end(&w->call);
    return rc;
}

int wait_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    json_auto_t *body = native_decode_json(rq, err);
    struct wait_request request;

    if (body == NULL || wait_request_decode(body, &request, err) < 0)
        return -1;
    /* A client that only watches, or that came by a link, does not slow the process down. */
    request.holds = http_role(rq) == ROLE_OWN && http_grant(rq) == NULL;
    return waiting_begin(rq, p, &request, err);
}

/* --- the exit alone ----------------------------------------------------------------------- */

struct exit_wait {
    struct call call;
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer; /* NULL: no timeout */
};

static void exit_wait_release(struct call *c)
{
    struct exit_wait *w = list_entry(c, struct exit_wait, call);

    exit_waiter_cancel(&w->waiter);
    timer_close(w->timer);
    native_wait_end(native_of_call(c));
    process_unref(w->process);
}

static const struct call_kind exit_wait_kind = {.release = exit_wait_release,
                                                .drain_text = NATIVE_CLOSED_TEXT};

/* The process as it is now, and whether the timeout came first. */
static void exit_wait_reply(struct http_request *rq, struct process *p, bool timed_out)
{
    struct json_out o = json_reply_process_open(rq, p, NULL);

    json_kbool(&o, "timed_out", timed_out);
    dialect_reply_send(rq, 200, &o);
}

static void exit_wait_on_exit(void *arg, struct process *p)
{
    struct exit_wait *w = arg;

    exit_wait_reply(w->call.rq, p, false);
    call_end(&w->call);
}

static void exit_wait_on_timer(struct timer *t, void *arg)
{
    struct exit_wait *w = arg;

    (void)t;
    exit_wait_reply(w->call.rq, w->process, true);
    call_end(&w->call);
}

static void exit_wait_begin(struct http_request *rq, struct process *p, int64_t timeout_ms)
{
    struct exit_wait *w = call_begin(rq, &exit_wait_kind, sizeof *w);

    w->process = process_ref(p);
    list_init(&w->waiter.link);
    w->waiter.fn = exit_wait_on_exit;
    w->waiter.arg = w;
    process_wait_exit(p, &w->waiter);
    if (timeout_ms >= 0) {
        w->timer = timer_new(http_loop(rq), exit_wait_on_timer, w);
        timer_start(w->timer, (uint64_t)timeout_ms);
    }
}

int wait_exit_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    int64_t timeout_ms = -1;

    if (native_decode_i64(rq, "timeout_ms", 0, LIMIT_DURATION_MS, &timeout_ms, err) < 0)
        return -1;
    if (!process_is_running(p) || timeout_ms == 0) {
        exit_wait_reply(rq, p, process_is_running(p));
        return 0;
    }
    if (native_wait_begin(native_of(rq), rq, err) < 0)
        return -1;
    exit_wait_begin(rq, p, timeout_ms);
    return 0;
}
