/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_wait.c - wait_for: the first of several conditions (common/wait_for.h). Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/common/process_json.h"
#include "dialects/common/wait_for.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_tools.h"

#define WAIT_TIMEOUT_MS 30000 /* the default: below the minute that clients allow a call */

struct mcp_tool_wait_request {
    int64_t from, timeout_ms, max_bytes;
};

/* The other arguments are conditions. */
#define F(kind, member, ...) JSON_FIELD(kind, struct mcp_tool_wait_request, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(INT, from, .min = 0, .max = INT64_MAX),
    F(INT, timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, max_bytes, .min = 0, .max = LIMIT_MCP_OUTPUT_MAX_BYTES),
};
#undef F

struct mcp_tool_wait_waiting {
    struct mcp_call call;
    struct wait *wait;
    size_t max_bytes;
};

static void waiting_release(struct call *c)
{
    wait_cancel(list_entry(c, struct mcp_tool_wait_waiting, call.call)->wait);
    mcp_call_release(c);
}

static const struct call_kind waiting_kind = {.release = waiting_release, .drain = mcp_call_drain};

/* --- the reply ----------------------------------------------------------------- */

static void write_between(const struct mcp_tool_wait_waiting *w, const struct wait_result *r,
                          struct json_out *o, struct buf *text)
{
    const struct journal *j = process_journal(r->process);
    uint64_t start = r->from < journal_first(j) ? journal_first(j) : r->from;
    struct headtail h;

    headtail_init(&h, w->max_bytes);
    if (start < r->end)
        headtail_feed(&h, journal_bytes(j, start), (size_t)(r->end - start));
    tool_write_output(o, text, &h);
    headtail_fini(&h);
}

static void waiting_done(void *arg, const struct wait_result *r)
{
    struct mcp_tool_wait_waiting *w = arg;
    struct mcp_call *c = &w->call;
    struct buf *text = &mcp_call_mcp(c)->text;
    struct json_out o = tool_open(c);
    const char *matched = r->index != WAIT_NO_INDEX ? wait_kind_name(r->kind) : NULL;
    const struct scan_match *m = r->match;
    struct process_view v;

    process_view(r->process, &v);
    tool_write_state(&o, &v);
    json_kstr(&o, "matched", matched);
    process_json_range(&o, "match", m != NULL ? m->start : 0, m != NULL ? m->end : 0);
    json_kbool(&o, "timed_out", r->timed_out);
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->end);
    json_ku64(&o, "missed_bytes", r->missed);
    write_between(w, r, &o, text);
    tool_put_state(text, &v);
    buf_printf(text, r->timed_out ? "\n[timed out]" : "\n[matched: %s]",
               matched != NULL ? matched : "nothing");
    w->wait = NULL; /* it frees itself */
    tool_send(c, &o);
}

/* --- the start ------------------------------------------------------------------------- */

/* "exit": false and similar members have no effect. */
static int decode_conditions(const json_t *arguments, struct wait_request *out,
                             struct hf_error *err)
{
    for (int kind = WAIT_TEXT; kind <= WAIT_ECHO_OFF; kind++) {
        const char *name = wait_kind_name((enum wait_kind)kind);
        const json_t *value = json_object_get(arguments, name);

        if (value != NULL && !json_is_false(value) && wait_request_add(out, name, value, err) < 0)
            return -1;
    }
    if (out->count == 0)
        return hf_fail(err, HF_E_missing_field,
                       "specify what to wait for: text, regex, quiet_ms, exit, prompt, port, "
                       "blocked_on_tty or echo_off");
    return 0;
}

static int waiting_begin(struct mcp_call *c, struct process *p, const json_t *arguments,
                         const struct mcp_tool_wait_request *a, struct hf_error *err)
{
    struct wait_request until = {
        .from = a->from, .timeout_ms = a->timeout_ms, .holds = c->exchange->role == ROLE_OWN};
    struct mcp_tool_wait_waiting *w;

    if (decode_conditions(arguments, &until, err) < 0 ||
        (w = mcp_call_begin(c, &waiting_kind, sizeof *w, err)) == NULL)
        return -1;
    w->max_bytes = (size_t)a->max_bytes;
    if (wait_start(p, &until, waiting_done, w, &w->wait, err) < 0) {
        call_end(&w->call.call);
        return -1;
    }
    mcp_call_watch_progress(&w->call, p);
    return 0;
}

void tool_wait_for(struct mcp_call *c, const json_t *arguments)
{
    struct mcp_tool_wait_request a = {
        .from = -1, .timeout_ms = WAIT_TIMEOUT_MS, .max_bytes = LIMIT_MCP_OUTPUT_BYTES};
    struct hf_error err = {0};
    struct process *p;

    if (json_decode_known(arguments, fields, sizeof fields / sizeof *fields, &a, &err) < 0 ||
        (p = tool_process(c, arguments, &err)) == NULL ||
        waiting_begin(c, p, arguments, &a, &err) < 0)
        tool_fail(c, &err);
}
