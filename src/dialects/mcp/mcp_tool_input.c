/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_input.c - send_input: text, then keys, then the end of input
 *
 * The reply has the offset of the output before the input, so that a client that waits for the
 * effect cannot miss it and does not match older output. Layer: dialects.
 */
#include "dialects/common/input_decode.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_input {
    struct mcp_call call;
    struct stdin_feed feed;
    size_t len;    /* of all its input */
    uint64_t from; /* end of the output before it */
};

static void input_release(struct call *c)
{
    stdin_feed_fini(&list_entry(c, struct mcp_tool_input, call.call)->feed);
    mcp_call_release(c);
}

static const struct call_kind input_kind = {.release = input_release, .drain = mcp_call_drain};

static void input_fail(struct mcp_tool_input *in, struct hf_error *err)
{
    size_t len = strlen(err->detail);

    snprintf(err->detail + len, sizeof err->detail - len, " (%zu bytes were written)",
             in->len - in->feed.held.len);
    tool_fail(&in->call, err);
}

static void input_reply(struct mcp_tool_input *in)
{
    struct mcp_call *c = &in->call;
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(in->feed.process, &v);
    json_kstr(&o, "process_id", v.id);
    json_ku64(&o, "accepted_bytes", in->len);
    json_ku64(&o, "from", in->from);
    buf_printf(&mcp_call_mcp(c)->text,
               "[%zu bytes were written; the output before them ends at %llu]", in->len,
               (unsigned long long)in->from);
    tool_send(c, &o);
}

/* Writes what fits, then waits for more room or finishes. */
static void input_push(void *arg)
{
    struct mcp_tool_input *in = arg;
    struct hf_error err = {0};
    int rc = stdin_feed_flush(&in->feed, &err);

    if (rc < 0)
        input_fail(in, &err);
    else if (rc > 0)
        input_reply(in);
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
    struct mcp_tool_input *in = NULL;
    struct buf bytes = {0};
    bool eof = false;

    if (decode(arguments, p, &bytes, &eof, err) == 0)
        in = mcp_call_begin(c, &input_kind, sizeof *in, err);
    if (in == NULL) {
        buf_fini(&bytes);
        return -1;
    }
    stdin_feed_init(&in->feed, input_push, in);
    stdin_feed_bind(&in->feed, p);
    in->feed.held = bytes;
    in->feed.eof = eof;
    in->len = bytes.len;
    in->from = journal_next(process_journal(p));
    input_push(in);
    return 0;
}

void tool_send_input(struct mcp_call *c, const json_t *arguments)
{
    struct hf_error err = {0};
    struct process *p = tool_process(c, arguments, &err);

    if (p == NULL || input_begin(c, arguments, p, &err) < 0)
        tool_fail(c, &err);
}
