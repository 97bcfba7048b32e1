/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_request.h - what every command does with the daemon: ask, complain, name a process
 *
 * The functions print what went wrong and return an exit code, so that a command
 * is a list of calls. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_REQUEST_H
#define HF_CLI_CLIENT_CLIENT_REQUEST_H

#include "base/json.h"
#include "cli/client/client_fetch.h"
#include "cli/client/command.h"

/* Asks; any 2xx is success. Else the complaint is printed and its exit code returned. `out` is
 * good, and to be freed, only on success. */
int request(const struct client_call *call, const char *method, const char *path,
            const struct buf *json_body, struct fetch_reply *out);
int request_with(const struct client_call *call, const struct fetch_ask *what,
                 struct fetch_reply *out);

/*
 * A worker that dies takes its connections with it, and the next one answers at once. So
 * what only asks is asked again a few times; what changes something is not, since it may have happened.
 * The calls are those of client_fetch.h otherwise.
 */
int request_call(const struct client_call *call, const struct fetch_ask *what,
                 struct fetch_reply *out, struct hf_error *err);
int request_open(const struct client_call *call, const struct fetch_ask *what,
                 struct fetch_stream *out, struct hf_error *err);
/* For those who repeat by themselves. Zeroed at first. */
struct ask_tries {
    unsigned count;
    uint64_t began_ms;
};
void request_begin(struct ask_tries *t); /* before each request */
bool request_again(struct ask_tries *t,
                   int rc); /* after a pause: it was cut, and is worth another */

/* Busy, or a proxy that does not reach the daemon at present: it may be back soon. */
bool request_may_retry(int status);
/* The daemon's problem in words; returns the exit code it means. */
int request_print_problem(const struct client_call *call, const struct fetch_reply *r);
/* It could not be reached at all. */
int request_print_unreachable(const struct client_call *call, const struct hf_error *err);

/*
 * What people call a process (an id, the beginning of one, a tag, tag:NAME, pid:N)
 * as what the API calls it, escaped for a path. CLI_OK, or an exit code after the complaint.
 */
int request_name_process(const struct client_call *call, const char *name, struct buf *out);
/* "/v1/processes/ID" and, printed behind it, `rest`. */
int request_process_path(const struct client_call *call, const char *name, struct buf *out,
                         const char *rest);

/* Of what has ended; one that nobody knows is no success, and is complained of. */
int request_exit_code(const struct client_call *call, const json_t *ended);
const char *request_json_text(const json_t *object, const char *key); /* "" if it is none */
int64_t request_json_number(const json_t *object, const char *key);   /* 0 if it is none */

#endif
