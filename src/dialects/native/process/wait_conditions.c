/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_conditions.c - POST /v1/processes/{id}/wait: decodes the conditions and writes the reply
 *
 * The reply names the condition that was met, where, and the output up to there. common/wait_for.h
 * does the waiting. Layer: dialects.
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
    json_key(o, "output");
    json_open(o, '{');
    json_ku64(o, "offset", start);
    process_json_data(o, journal_bytes(j, start), (size_t)(end - start));
    json_close(o, '}');
    json_ku64(o, "omitted_bytes", start - r->from);
    json_ku64(o, "missed_bytes", r->missed);
}

static void write_range(struct json_out *o, const struct scan_match *m)
{
    json_key(o, "match");
    json_open(o, '{');
    json_ku64(o, "from", m->start);
    json_ku64(o, "to", m->end);
    json_close(o, '}');
}

static void write_prompt(struct json_out *o, const struct scan_match *m)
{
    json_key(o, "prompt");
    json_open(o, '{');
    if (m->exit_code >= 0)
        json_kint(o, "exit_code", m->exit_code);
    else
        json_knull(o, "exit_code");
    json_close(o, '}');
}

static void write_matched(struct json_out *o, const struct wait_result *r)
{
    bool met = r->index != WAIT_NO_INDEX;

    json_kstr(o, "matched", met ? wait_kind_name(r->kind) : NULL);
    if (met)
        json_ku64(o, "index", r->index);
    else
        json_knull(o, "index");
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
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->end);
    write_between(r, &o);
    w->wait = NULL; /* it frees itself */
    call_send(&w->call, 200, &o);
}

/* --- decoding requests ----------------------------------------------------------------- */

static int waiting_begin(struct http_request *rq, struct process *p,
                         const struct wait_request *request, struct hf_error *err)
{
    struct wait_conditions_waiting *w;

    if (native_wait_begin(native_of(rq), rq, err) < 0)
        return -1;
    w = call_begin(rq, &waiting_kind, sizeof *w);
    if (wait_start(p, request, waiting_done, w, &w->wait, err) < 0) {
        call_end(&w->call);
        return -1;
    }
    return 0;
}

/* A client that only watches, or that came by a link, does not slow the process down. */
static const struct wait_request *decode_with_rights(struct wait_request *request,
                                                     const struct http_request *rq)
{
    request->holds = http_role(rq) == ROLE_OWN && http_grant(rq) == NULL;
    return request;
}

void wait_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    json_auto_t *body = NULL;
    struct wait_request request;
    struct hf_error err;

    if (p == NULL)
        return;
    body = native_decode_json(rq, &err);
    if (body == NULL || wait_request_decode(body, &request, &err) < 0 ||
        waiting_begin(rq, p, decode_with_rights(&request, rq), &err) < 0)
        http_reply_error(rq, &err);
}
