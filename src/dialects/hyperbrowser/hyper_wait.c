/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_wait.c - requests whose reply comes when a process has ended
 *
 * Clients give up after 30 s unless the head of the response has arrived by then; the body may take
 * any time. So the head is sent early, and periodically a space, which JSON allows before the
 * object, so that proxies keep the connection. A wait with a short timeout does without: its reply
 * may be a 408. Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/common/call.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyper_result.h"
#include "transport/sse.h"

#define HEAD_MS 1000       /* what ends within this time gets a plain reply, or an error */
#define PLAIN_MAX_MS 25000 /* timeouts up to this are reported by the status */
#define SMALL_BYTES 65536  /* a result with up to this much output is sent whole */
#define BEFORE "{\"result\":"
#define BEHIND "}"

struct hyper_wait {
    struct call call;
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *deadline, *alive;
    struct hyper_wait_options o;
    struct result result;
    bool sending; /* the result is being sent */
};

static struct hyper_wait *wait_of(struct call *c)
{
    return list_entry(c, struct hyper_wait, call);
}

static struct hyper *wait_hyper(const struct hyper_wait *w)
{
    return (struct hyper *)w->call.base;
}

static void wait_release(struct call *c)
{
    struct hyper_wait *w = wait_of(c);

    exit_waiter_cancel(&w->waiter);
    timer_close(w->deadline);
    timer_close(w->alive);
    process_unref(w->process);
    wait_hyper(w)->waits--;
}

static void wait_fail(struct hyper_wait *w, const struct hf_error *err)
{
    if (w->call.streams)
        call_stream_abort(&w->call);
    else
        hyper_error(call_end(&w->call), err);
}

static void ignore_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)arg, (void)p, (void)s;
}

static void wait_disconnected(struct call *c)
{
    const struct hyper_wait *w = wait_of(c);

    if (w->o.started)
        process_terminate(w->process, -1, "detach", ignore_end, NULL);
}

/* --- the reply --------------------------------------------------------------------------- */

static void wait_pump(struct hyper_wait *w)
{
    if (result_pump(&w->result, w->call.out, &w->call.base->scratch))
        call_stream_end(&w->call);
}

static void wait_room(struct call *c)
{
    if (wait_of(c)->sending)
        wait_pump(wait_of(c));
}

/* The whole rest of the body. */
static void wait_end(struct hyper_wait *w, const struct buf *text)
{
    http_stream_write(w->call.out, &(struct iovec){buf_data(text), text->len}, 1);
    call_stream_end(&w->call);
}

static void wait_begin_reply(struct hyper_wait *w)
{
    if (!w->call.streams)
        call_stream(&w->call, 200, "application/json");
}

static void reply_terminal(struct hyper_wait *w)
{
    struct json_out o;

    if (!w->call.streams) {
        hyper_reply_terminal(call_detach(&w->call), w->process, w->o.request.include_output);
        call_end(&w->call);
        return;
    }
    o = dialect_reply_open(w->call.base);
    json_key(&o, "pty");
    hyper_write_terminal(&o, w->process, w->o.request.include_output);
    json_close(&o, '}');
    wait_end(w, o.buf);
}

static void reply_result(struct hyper_wait *w)
{
    struct buf *out = &w->call.base->scratch;

    result_init(&w->result, w->process, BEFORE, BEHIND);
    if (!w->call.streams && result_bytes(&w->result) <= SMALL_BYTES) {
        buf_clear(out);
        while (result_piece(&w->result, out))
            ;
        http_reply_json(call_detach(&w->call), 200, out);
        call_end(&w->call);
        return;
    }
    wait_begin_reply(w);
    w->sending = true;
    wait_pump(w);
}

/* Also for a process that still runs: then the wait is over, and the reply says so. */
static void wait_reply(struct hyper_wait *w)
{
    exit_waiter_cancel(&w->waiter);
    timer_stop(w->deadline);
    timer_stop(w->alive);
    if (w->o.kind == HYPER_TERMINAL)
        reply_terminal(w);
    else
        reply_result(w);
}

/* --- the daemon shuts down ----------------------------------------------------------------- */

/* The state without the output: there is no time for it, and the next worker has it. */
static void reply_state(struct hyper_wait *w)
{
    struct buf *out = &w->call.base->scratch;

    result_init(&w->result, w->process, BEFORE, BEHIND);
    result_leave_out(&w->result);
    buf_clear(out);
    while (result_piece(&w->result, out))
        ;
    wait_end(w, out);
}

/*
 * The process keeps running under the next worker. A client that only waits may retry. A client
 * that started it must not, or it would run twice: avoid every status and every abort that clients
 * treat as a reason to retry.
 */
static void wait_drain(struct call *c)
{
    struct hyper_wait *w = wait_of(c);
    struct hf_error err = {0};
    struct process_view v;

    process_view(w->process, &v);
    if (w->o.started && w->sending)
        return; /* being sent, and soon complete or aborted */
    if (w->o.started && w->call.streams) {
        reply_state(w);
        return;
    }
    if (w->o.started)
        hf_fail(&err, HF_E_internal,
                "the daemon is shutting down; the command keeps running as process %s", v.id);
    else
        hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again");
    wait_fail(w, &err);
}

static const struct call_kind wait_kind = {
    .release = wait_release,
    .disconnected = wait_disconnected,
    .drain = wait_drain,
    .room = wait_room,
};

/* --- what it waits for ---------------------------------------------------------------------- */

static void wait_on_exit(void *arg, struct process *p)
{
    (void)p;
    wait_reply(arg);
}

static void wait_on_deadline(struct timer *t, void *arg)
{
    struct hyper_wait *w = arg;
    struct process_view v;
    struct hf_error err = {0};

    (void)t;
    if (w->call.streams) {
        wait_reply(w);
        return;
    }
    process_view(w->process, &v);
    hf_fail(&err, HF_E_request_timeout, "wait timed out after %lld ms: %s is still running",
            (long long)w->o.request.timeout_ms, v.id);
    wait_fail(w, &err);
}

static void wait_on_alive(struct timer *t, void *arg)
{
    static char space[] = " ";
    struct hyper_wait *w = arg;

    timer_start(t, SSE_KEEPALIVE_MS);
    wait_begin_reply(w);
    if (call_is_ready(&w->call))
        http_stream_write(w->call.out, &(struct iovec){space, 1}, 1);
}

static struct hyper_wait *wait_new(struct http_request *rq, struct process *p,
                                   const struct hyper_wait_options *o)
{
    struct hyper_wait *w = call_begin(rq, &wait_kind, sizeof *w);
    struct loop *loop = w->call.base->loop;

    w->process = process_ref(p);
    w->o = *o;
    w->deadline = timer_new(loop, wait_on_deadline, w);
    w->alive = timer_new(loop, wait_on_alive, w);
    list_init(&w->waiter.link);
    w->waiter.fn = wait_on_exit;
    w->waiter.arg = w;
    wait_hyper(w)->waits++;
    return w;
}

bool hyper_wait_admit(struct http_request *rq)
{
    struct hf_error err = {0};

    if (hyper_of(rq)->waits < LIMIT_WAITS)
        return true;
    hf_fail(&err, HF_E_too_many_waits, "%d requests are already waiting", LIMIT_WAITS);
    hyper_error(rq, &err);
    return false;
}

void hyper_wait(struct http_request *rq, struct process *p, const struct hyper_wait_options *o)
{
    struct hyper_wait *w = wait_new(rq, p, o);

    if (!process_is_running(p)) {
        wait_reply(w);
        return;
    }
    process_wait_exit(p, &w->waiter);
    if (o->request.timeout_ms >= 0)
        timer_start(w->deadline, (uint64_t)o->request.timeout_ms);
    if (o->request.timeout_ms < 0 || o->request.timeout_ms > PLAIN_MAX_MS)
        timer_start(w->alive, HEAD_MS);
    if (w->call.base->draining) /* its process was being started when the others were notified */
        wait_drain(&w->call);
}

static void wait_handle(struct http_request *rq, enum hyper_wait_kind kind)
{
    struct process *p = hyper_process(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct hyper_wait_options o = {.kind = kind};
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (hyper_decode_wait(&o.request, body, &err) < 0)
        hyper_error(rq, &err);
    else if (hyper_wait_admit(rq))
        hyper_wait(rq, p, &o);
}

void hyper_wait_result(struct http_request *rq)
{
    wait_handle(rq, HYPER_RESULT);
}

void hyper_terminal_wait(struct http_request *rq)
{
    wait_handle(rq, HYPER_TERMINAL);
}
