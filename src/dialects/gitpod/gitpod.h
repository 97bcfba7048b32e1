/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod.h - the TerminalService of Gitpod's supervisor: gRPC, and its JSON gateway
 *
 * Facts: docs/dialects/gitpod.md. An alias is the daemon's own id of a process with a terminal, so
 * what is started here is visible everywhere, and vice versa. Title, annotations and starter token
 * are in the process's metadata, below "gitpod". Layer: dialects.
 */
#ifndef HF_DIALECTS_GITPOD_GITPOD_H
#define HF_DIALECTS_GITPOD_GITPOD_H

#include "dialects/common/dialect_base.h"
#include "dialects/common/grpc.h"

extern const struct dialect gitpod_dialect;

/* The message of a request; the caller owns it. NULL: replied. */
json_t *gitpod_message(struct http_request *rq, const struct pb_message *m);
/* The same, and the terminal that the message names. NULL: replied, with `why` if there is no such
 * terminal. `living`: exited terminals do not count. The caller owns *message in either case. */
struct process *gitpod_find(struct http_request *rq, const struct pb_message *m, bool living,
                            const char *why, json_t **message);
#define GITPOD_NOT_FOUND "terminal not found"
bool gitpod_is_terminal(struct process *p, bool living);

/*
 * What a terminal has in addition to a process: {"token": …, "workdir": …, "title": …,
 * "annotations": {…}, "force_success": true}. Never NULL; the caller owns it.
 */
json_t *gitpod_meta(struct process *p);
struct gitpod_title {
    char text[1024 + 1];
    bool api; /* set by a client, not by the program */
};
void gitpod_title(struct process *p, struct gitpod_title *out);

/* handlers */
void gitpod_open(struct http_request *rq);
void gitpod_get(struct http_request *rq);
void gitpod_list(struct http_request *rq);
void gitpod_listen(struct http_request *rq);
void gitpod_write(struct http_request *rq);
void gitpod_set_size(struct http_request *rq);
void gitpod_set_title(struct http_request *rq);
void gitpod_annotate(struct http_request *rq);
void gitpod_shutdown(struct http_request *rq);

/* gitpod_schema.c */
extern const struct pb_message gitpod_alias_request, gitpod_open_request, gitpod_shutdown_request,
    gitpod_write_request, gitpod_size_request, gitpod_title_request, gitpod_annotate_request;
extern const struct pb_message gitpod_terminal, gitpod_open_response, gitpod_list_response,
    gitpod_write_response, gitpod_listen_response;
#define GITPOD_LISTEN_DATA 1 /* the number of `data` in gitpod_listen_response */

#endif
