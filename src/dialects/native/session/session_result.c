/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_result.c - the result of a command in a session. Layer: dialects.
 */
#include "dialects/native/session/session_result.h"

#include "dialects/native/json_reply.h"

void session_result_write(struct native *n, struct json_out *o, const char *session_id, bool base64,
                          const struct session_result *r)
{
    uint64_t omitted;

    json_kstr(o, "session_id", session_id);
    json_ku64(o, "number", r->number);
    json_reply_headtail(n, o, "stdout", r->out, base64);
    json_reply_headtail(n, o, "stderr", r->err, base64);
    omitted = json_reply_headtail(n, o, "output", r->all, base64);
    json_kstr(o, "encoding", base64 ? "base64" : "utf8");
    process_json_exit(o, &r->exit);
    json_kbool(o, "timed_out", r->exit.kind == EXIT_TIMED_OUT);
    json_ku64(o, "omitted_bytes", omitted);
    json_kbool(o, "shell_replaced", r->shell_replaced);
    json_key(o, "cwd");
    if (r->cwd.len > 0)
        json_strn(o, r->cwd.bytes, r->cwd.len);
    else
        json_nil(o);
    json_kstr(o, "process_id", r->process_id);
    json_ku64(o, "offset", r->from);
    json_ku64(o, "next", r->to);
    json_ktime(o, "started_at", r->started_wall_ms);
    json_ktime(o, "ended_at", r->ended_wall_ms);
}

int session_run_draining(uint64_t number, struct hf_error *err)
{
    if (number == 0)
        return hf_fail(err, HF_E_shutting_down,
                       "the daemon is shutting down; the command was not started");
    return hf_fail(err, HF_E_shutting_down,
                   "the daemon is shutting down; look up command %llu in the transcript afterwards",
                   (unsigned long long)number);
}
