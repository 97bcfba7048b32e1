/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_input.c - send_input: text, then keys, then the end of input
 *
 * The reply has the offset of the output before the input, so that a client that waits for the
 * effect cannot miss it and does not match older output. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/common/input_decode.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_input {
    struct job job;
    struct process *process; /* referenced */
    struct input_waiter waiter;
    struct buf held; /* not written yet */
    uint64_t accepted_bytes, from;
    bool eof;
};

static void input_free(struct mcp_tool_input *in)
{
    input_waiter_cancel(&in->waiter);
    process_unref(in->process);
    buf_fini(&in->held);
    mcp_job_fini(&in->job);
    free(in);
}

static void input_end(struct job *j, enum mcp_call_end why)
{
    (void)why;
    input_free(list_entry(j, struct mcp_tool_input, job));
}

static const struct job_kind input_kind = {.end = input_end};

static void input_fail(struct mcp_tool_input *in, struct hf_error *err)
{
    struct mcp_call *c = in->job.call;
    size_t len = strlen(err->detail);

    snprintf(err->detail + len, sizeof err->detail - len, " (%llu bytes were written)",
             (unsigned long long)in->accepted_bytes);
    input_free(in);
    tool_fail(c, err);
}

static void input_reply(struct mcp_tool_input *in)
{
    struct mcp_call *c = in->job.call;
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(in->process, &v);
    json_kstr(&o, "process_id", v.id);
    json_ku64(&o, "accepted_bytes", in->accepted_bytes);
    json_ku64(&o, "from", in->from);
    buf_printf(&mcp_call_mcp(c)->text,
               "[%llu bytes were written; the output before them ends at %llu]",
               (unsigned long long)in->accepted_bytes, (unsigned long long)in->from);
    input_free(in);
    tool_send(c, &o);
}

/* Writes what fits, then waits for more room or finishes. */
static void input_push(struct mcp_tool_input *in)
{
    struct hf_error err = {0};
    ssize_t n = 0;

    if (in->held.len > 0)
        n = process_input(in->process, buf_data(&in->held), in->held.len, &err);
    if (n < 0) {
        input_fail(in, &err);
        return;
    }
    in->accepted_bytes += (uint64_t)n;
    buf_drop(&in->held, (size_t)n);
    if (in->held.len > 0)
        process_wait_for_room(in->process, &in->waiter);
    else if (in->eof && process_input_eof(in->process, &err) < 0)
        input_fail(in, &err);
    else
        input_reply(in);
}

static void input_on_room(void *arg)
{
    input_push(arg);
}

/* The tool's names for what the native protocol calls `data`. */
static int decode(const json_t *arguments, struct process *p, struct buf *bytes, bool *eof,
                  struct hf_error *err)
{
    json_auto_t *body = json_object();
    static const char *const names[][2] = {{"text", "data"}, {"keys", "keys"}, {"eof", "eof"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *v = json_object_get(arguments, names[i][0]);

        if (v != NULL)
            json_object_set(body, names[i][1], v);
    }
    if (json_object_size(body) == 0)
        return hf_fail(err, HF_E_missing_field, "specify what to send: text, keys or eof");
    return input_request_decode(body, process_app_cursor(p), bytes, eof, err);
}

static int input_begin(struct mcp_call *c, const json_t *arguments, struct process *p,
                       struct hf_error *err)
{
    struct mcp_tool_input *in = hf_xalloc(sizeof *in);
    int rc = decode(arguments, p, &in->held, &in->eof, err);

    if (rc == 0)
        rc = mcp_job_begin(&in->job, c, &input_kind, err);
    if (rc < 0) {
        buf_fini(&in->held);
        free(in);
        return rc;
    }
    in->process = process_ref(p);
    in->from = journal_next(process_journal(p));
    list_init(&in->waiter.link);
    in->waiter.fn = input_on_room;
    in->waiter.arg = in;
    input_push(in);
    return 0;
}

void tool_send_input(struct mcp_call *c, const json_t *arguments)
{
    struct hf_error err = {0};
    const json_t *id = json_object_get(arguments, "process_id");
    const char *ref = id != NULL ? json_text(id, "process_id", &err) : NULL;
    struct process *p;

    if (id == NULL)
        hf_fail_field(&err, HF_E_missing_field, "process_id", "\"process_id\" is required");
    if (ref == NULL || (p = tool_process(c, ref, &err)) == NULL ||
        input_begin(c, arguments, p, &err) < 0)
        tool_fail(c, &err);
}
