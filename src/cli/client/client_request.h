/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_request.h - requests of the commands: send, report errors, find a process by name
 *
 * The functions print errors and return an exit code, so that a command is a list of calls.
 * Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_REQUEST_H
#define HF_CLI_CLIENT_CLIENT_REQUEST_H

#include "base/json.h"
#include "cli/client/client_fetch.h"
#include "cli/client/command.h"

/* Sends a request; any 2xx is success. Otherwise prints the error and returns its exit code. `out`
 * is valid, and must be freed, only on success; NULL: prints the reply with --json or --format. */
int request(const struct client_call *call, const char *method, const char *path,
            const struct buf *json_body, struct fetch_reply *out);
int request_with(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_reply *out);

/*
 * The options of the command that were given, by the names of their members, which are those of the
 * API's fields: as members of an object, or in the query of a path.
 */
void request_put_options(const struct client_call *call, const char *names, struct json_out *o);
void request_put_query(const struct client_call *call, const char *names, struct buf *path);

/* The same for "/v1/processes/ID" and `rest`, with a user's name for the process. */
int request_process(const struct client_call *call, const char *method, const char *name,
                    const char *rest, const struct buf *json_body, struct fetch_reply *out);

/*
 * When a worker dies, its connections break, and the next worker serves at once. So GET and HEAD
 * are retried a few times. A request that changes something is not, since it may have been carried
 * out. Otherwise the functions are those of client_fetch.h.
 */
int request_call(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_reply *out, struct hf_error *err);
int request_open(const struct client_call *call, const struct fetch_request *what,
                 struct fetch_stream *out, struct hf_error *err);
/* Opens a stream and prints errors: CLI_OK for a 200, else an exit code and nothing to close. */
int request_stream(const struct client_call *call, const struct fetch_request *what,
                   struct fetch_stream *out);
/* Checks the result of fetch_call() as request_with() does, for callers with a retry loop. */
int request_check(const struct client_call *call, int rc, const struct hf_error *err,
                  struct fetch_reply *out);
/* For the same. Zero it first. */
struct request_tries {
    unsigned count;
    uint64_t began_ms;
};
void request_begin(struct request_tries *t); /* before each request */
/* True, after a pause: the connection broke, and the request should be repeated. */
bool request_again(struct request_tries *t, int rc);

/* The daemon is busy, or a proxy cannot reach it at present. */
bool request_may_retry(int status);
/* Prints the daemon's error; returns the matching exit code. */
int request_print_problem(const struct client_call *call, const struct fetch_reply *r);
/* The daemon could not be reached at all. */
int request_print_unreachable(const struct client_call *call, const struct hf_error *err);

/*
 * Appends "/v1/processes/ID" and `rest`, with the API's id for a user's name of a process: an id,
 * the beginning of one, a tag, tag:NAME or pid:N. CLI_OK, or an exit code after an error message.
 */
int request_process_path(const struct client_call *call, const char *name, struct buf *out,
                         const char *rest);

/* The exit code of an ended process; an unknown one is an error, which is printed. */
int request_exit_code(const struct client_call *call, const json_t *ended);
const char *request_json_text(const json_t *object, const char *key); /* "": not a string */
int64_t request_json_number(const json_t *object, const char *key);   /* 0: not a number */

#endif
