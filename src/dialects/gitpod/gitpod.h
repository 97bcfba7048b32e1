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

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/dialect.h"
#include "dialects/common/input_call.h"
#include "dialects/common/pb.h"
#include "dialects/common/pending.h"

extern const struct dialect gitpod_dialect;

struct gitpod {
    struct engine *engine;
    struct loop *loop;
    struct route_table table;
    struct list pending;
    struct input_call_queue typing;
};

static inline struct gitpod *gitpod_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* The codes of gRPC that are used. */
enum grpc_code {
    GRPC_OK = 0,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_UNAUTHENTICATED = 16,
};
#define GRPC_TYPE "application/grpc"
#define GRPC_HEAD_BYTES 5

/* gitpod_rpc.c: decodes a call and replies to it, in either form */
bool gitpod_is_json(const struct http_request *rq); /* by the gateway, not by gRPC */
/* The message of a request; NULL: the request has been replied to. */
json_t *gitpod_request(struct http_request *rq, const struct pb_message *m);
/* `wire` or `json`, whichever the form is. */
void gitpod_reply(struct http_request *rq, const struct buf *wire, const struct buf *json);
void gitpod_reply_empty(struct http_request *rq);
void gitpod_fail(struct http_request *rq, enum grpc_code code, const char *message);
void gitpod_error(struct http_request *rq, const struct hf_error *err);
void gitpod_write_status(struct json_out *o, enum grpc_code code, const char *message);
void gitpod_head(char out[GRPC_HEAD_BYTES], size_t len); /* of a message */
void gitpod_trailers(struct http_stream *st, enum grpc_code code, const char *message);
/* The deadline by grpc-timeout, in the loop's ms; 0: none. */
uint64_t gitpod_deadline(const struct http_request *rq);

/* gitpod_grpc_frame.c: pure */
/* The one message of a body; NULL: err. */
const char *gitpod_unframe(const char *body, size_t len, size_t *message_len, enum grpc_code *code,
                           const char **why);
bool gitpod_timeout(const char *text, uint64_t *ms);        /* "100m"; at least 1 */
void gitpod_put_message(struct buf *out, const char *text); /* as grpc-message */

/* gitpod_meta.c: what a terminal has in addition to a process. The caller owns the trees. */
json_t *gitpod_meta(const struct process_view *v); /* all of the metadata */
json_t *gitpod_meta_own(json_t *meta); /* our part of it, created if necessary; borrowed */
int gitpod_meta_set(struct process *p, const json_t *meta, struct hf_error *err);
void gitpod_make_token(char out[37]);
struct gitpod_title {
    char text[1024 + 1];
    bool api; /* set by a client, not by the program */
};
void gitpod_title(struct process *p, struct gitpod_title *out);

/* gitpod_terminal.c: NULL: replied with `why`. `living`: exited terminals do not count. */
struct process *gitpod_find(struct http_request *rq, const json_t *message, bool living,
                            const char *why);

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
extern const struct pb_message gitpod_none, gitpod_alias_request, gitpod_open_request,
    gitpod_shutdown_request, gitpod_write_request, gitpod_size_request, gitpod_title_request,
    gitpod_annotate_request;

#endif
