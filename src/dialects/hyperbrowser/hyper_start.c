/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_start.c - starts execs, processes and terminals. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/start_call.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"
#include "transport/sse.h"

/*
 * A result has all the output of a command, so its ring is large, unless running processes together
 * would then leave none for others.
 */
static int64_t history_for(struct engine *e)
{
    const struct engine_options *o = engine_options(e);
    uint64_t all = o->history_dir != NULL ? o->history_disk_bytes : o->journal_memory_bytes;
    struct engine_stats stats;

    engine_stats(e, &stats);
    if (o->journal_bytes >= LIMIT_HYPER_HISTORY_BYTES ||
        (stats.running + 1) * (uint64_t)LIMIT_HYPER_HISTORY_BYTES > all / 2)
        return 0;
    return LIMIT_HYPER_HISTORY_BYTES;
}

typedef int decode_fn(struct hyper_request *a, const json_t *body, struct hf_error *err);

static void start(struct http_request *rq, decode_fn *decode, enum stdin_mode input,
                  start_call_fn *done)
{
    struct hyper *h = hyper_of(rq);
    json_auto_t *body = dialect_object(rq);
    struct hf_error err = {0};
    struct hyper_request request;

    if (body == NULL)
        return;
    if (decode(&request, body, &err) < 0) {
        hyper_error(rq, &err);
    } else {
        request.spec.stdin_mode = input;
        request.spec.history_bytes = request.spec.pty ? 0 : history_for(h->base.engine);
        start_call_begin(
            rq, &request.spec,
            &(struct start_call_options){.done = done, .end_if_disconnected = input == STDIN_NULL});
    }
    hyper_request_fini(&request);
}

static void exec_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    const struct hyper_wait_options o = {
        .kind = HYPER_RESULT, .request = {.timeout_ms = -1}, .started = true};

    if (p == NULL)
        hyper_error(rq, err);
    else
        hyper_wait(rq, p, &o);
}

/* No client can write to its input, so it has none: a program that reads it must not hang. */
void hyper_exec(struct http_request *rq)
{
    if (hyper_wait_admit(rq))
        start(rq, hyper_decode_process, STDIN_NULL, exec_started);
}

static void process_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p == NULL)
        hyper_error(rq, err);
    else
        hyper_reply_process(rq, p);
}

static void stream_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p == NULL)
        hyper_error(rq, err);
    else
        hyper_stream_from_start(rq, p);
}

/* Newer clients start and follow with one request. The process is detached from it: a client that
 * disconnects only stops collecting. */
void hyper_start(struct http_request *rq)
{
    const char *accept = http_header(rq, "Accept");
    bool stream = accept != NULL && strcasestr(accept, SSE_TYPE) != NULL;

    start(rq, hyper_decode_process, STDIN_PIPE, stream ? stream_started : process_started);
}

static void terminal_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p == NULL)
        hyper_error(rq, err);
    else
        hyper_reply_terminal(rq, p, false);
}

void hyper_terminal_create(struct http_request *rq)
{
    start(rq, hyper_decode_terminal, STDIN_DEFAULT, terminal_started);
}
