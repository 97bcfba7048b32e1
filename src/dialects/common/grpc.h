/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h - a gRPC service by tables, and its JSON gateway
 *
 * Handlers read requests and write replies as trees (pb.h); the form is decided here. gRPC always
 * replies 200: the result of the call is in the trailers, or in the head if there is nothing else.
 * The gateway has the fields of a request in its path and query, and uses the status. The form of a
 * reply follows the Content-Type of the request. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_GRPC_H
#define HF_DIALECTS_COMMON_GRPC_H

#include "dialects/common/pb.h"
#include "transport/http.h"

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
};
#define GRPC_TYPE "application/grpc"
#define GRPC_HEAD_BYTES 5

/* --- requests; NULL: replied ---------------------------------------------------------------- */
bool grpc_is_json(const struct http_request *rq); /* through the gateway */
json_t *grpc_request(struct http_request *rq, const struct pb_message *m);
/* Texts are parameters of the path, bytes are base64 in the query. */
json_t *grpc_gateway_request(struct http_request *rq, const struct pb_message *m);
/* The deadline by grpc-timeout, in the loop's ms; 0: none. */
uint64_t grpc_deadline(const struct http_request *rq);

/* --- replies -------------------------------------------------------------------------------- */
/* `tree` may be NULL: the message has no fields, or all have their defaults. */
void grpc_reply(struct http_request *rq, const struct pb_message *m, const json_t *tree);
void grpc_fail(struct http_request *rq, enum grpc_code code, const char *message);
void grpc_error(struct http_request *rq, const struct hf_error *err); /* for struct dialect */

/* --- replies that are streams --------------------------------------------------------------- */
const char *grpc_stream_type(bool json);
void grpc_stream_send(struct http_stream *st, bool json, const struct pb_message *m,
                      const json_t *tree);
/* gRPC only: a message of one field, whose bytes are not copied. */
void grpc_stream_send_bytes(struct http_stream *st, uint32_t number, const void *bytes, size_t len);
/* Sends the result; the stream has to be ended after it. */
void grpc_stream_result(struct http_stream *st, bool json, enum grpc_code code,
                        const char *message);

/* --- grpc_frame.c: pure --------------------------------------------------------------------- */
void grpc_head(char out[GRPC_HEAD_BYTES], size_t len); /* of a message */
/* The one message of a body; NULL: code and why. */
const char *grpc_unframe(const char *body, size_t len, size_t *message_len, enum grpc_code *code,
                         const char **why);
bool grpc_timeout(const char *text, uint64_t *ms);        /* "100m"; at least 1 */
void grpc_put_message(struct buf *out, const char *text); /* as grpc-message */

#endif
