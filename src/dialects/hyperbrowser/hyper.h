/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper.h - Hyperbrowser's sandbox runtime, and as much of its control plane as a client needs
 *
 * Facts: docs/dialects/hyperbrowser.md. Ids of processes and terminals are the daemon's own, so
 * what is started here is visible everywhere, and vice versa. Pieces of output are the journal's
 * runs, whose numbers never change. A client's `seq` is a run's number plus one, and its cursor is
 * the last seq that it has. Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPER_H
#define HF_DIALECTS_HYPERBROWSER_HYPER_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/hyperbrowser/hyper_decode.h"

extern const struct dialect hyperbrowser_dialect;

struct hyper {
    struct dialect_base base;
    size_t waits; /* requests that wait for an exit */
};

static inline struct hyper *hyper_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* hyper.c: replies */
void hyper_error(struct http_request *rq, const struct hf_error *err); /* in their shape */

/* hyper.c: decoding. NULL or false: the request has been replied to. */
struct process *hyper_process(struct http_request *rq);
bool hyper_number(struct http_request *rq, const char *name, uint64_t *out); /* of the query */

/* hyper_json.c */
const char *hyper_status(const struct process_view *v);
void hyper_write_process(struct json_out *o, struct process *p);
void hyper_write_terminal(struct json_out *o, struct process *p, bool output);
/* "exit_code" and "error" in the spelling of their object, if there is something to report. */
void hyper_write_end(struct json_out *o, const struct process_view *v, const char *exit_code);
/* One run as {"type"?, "stream"?, "seq", "data", "timestamp"}. */
void hyper_write_run(struct json_out *o, const char *type, const struct slice *s);
void hyper_reply_process(struct http_request *rq, struct process *p);
void hyper_reply_terminal(struct http_request *rq, struct process *p, bool output);

/* hyper_get.c: the number of the first run for a client that has everything up to `seq`. */
bool hyper_cursor(struct http_request *rq, struct process *p, const char *name, uint64_t window,
                  uint64_t *run);

/* hyper_wait.c: replies when the process has ended. */
enum hyper_wait_kind { HYPER_RESULT, HYPER_TERMINAL };
struct hyper_wait_options {
    enum hyper_wait_kind kind;
    struct hyper_wait_request request;
    bool started; /* by the same request: terminated if the client disconnects */
};
/*
 * Is there room for one more? False: refused. Call before starting anything: a refused request must
 * have no effect, so hyper_wait() itself refuses nothing.
 */
bool hyper_wait_admit(struct http_request *rq);
void hyper_wait(struct http_request *rq, struct process *p, const struct hyper_wait_options *o);

/* hyper_stream.c: replies with the event `started`, then with the output and the result. */
void hyper_stream_from_start(struct http_request *rq, struct process *p);

/* handlers */
void hyper_exec(struct http_request *rq);
void hyper_start(struct http_request *rq);
void hyper_list(struct http_request *rq);
void hyper_get(struct http_request *rq);
void hyper_kill(struct http_request *rq);
void hyper_signal(struct http_request *rq);
void hyper_stdin(struct http_request *rq);
void hyper_wait_result(struct http_request *rq);
void hyper_stream(struct http_request *rq);

void hyper_terminal_create(struct http_request *rq);
void hyper_terminal_get(struct http_request *rq);
void hyper_terminal_wait(struct http_request *rq);
void hyper_terminal_kill(struct http_request *rq);
void hyper_terminal_resize(struct http_request *rq);
void hyper_terminal_connect(struct http_request *rq);

/* hyper_files.c, hyper_file_read.c, hyper_file_write.c */
void hyper_file_stat(struct http_request *rq);
void hyper_file_list(struct http_request *rq);
void hyper_file_read(struct http_request *rq);
void hyper_file_write(struct http_request *rq);
void hyper_file_upload(struct http_request *rq);
void hyper_file_download(struct http_request *rq);
void hyper_file_mkdir(struct http_request *rq);
void hyper_file_move(struct http_request *rq);
void hyper_file_copy(struct http_request *rq);
void hyper_file_delete(struct http_request *rq);
void hyper_file_chmod(struct http_request *rq);
void hyper_file_chown(struct http_request *rq);
void hyper_file_no_watch(struct http_request *rq);
void hyper_file_no_url(struct http_request *rq);

void hyper_sandbox_create(struct http_request *rq);
void hyper_sandbox_get(struct http_request *rq);
void hyper_sandbox_list(struct http_request *rq);
void hyper_sandbox_stop(struct http_request *rq);

#endif
