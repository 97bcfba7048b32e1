/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_rpc.h - Connect and gRPC: requests in either codec, replies, errors, envelopes
 *
 * A unary call of Connect has its message as the body and errors by status. A stream has envelopes
 * (a flag, a length, a message) and always status 200; its end is an envelope too, with the error
 * if there is one. In gRPC both have envelopes, and trailers are the end; see common/grpc.h. A
 * reply has the protocol of its request. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_RPC_H
#define HF_DIALECTS_E2B_E2B_RPC_H

#include "dialects/e2b/e2b.h"
#include "dialects/e2b/e2b_schema.h"

enum rpc_codec { RPC_JSON, RPC_PROTO };

/* How a call was sent. */
struct rpc_form {
    enum rpc_codec codec;
    bool stream; /* of Connect, whose types differ; gRPC has one type */
};

enum { RPC_FLAG_COMPRESSED = 1, RPC_FLAG_END = 2 };
#define RPC_HEAD_BYTES 5
void e2b_rpc_head(char *out, int flags, size_t len); /* of an envelope */

/* From Content-Type; false: neither codec, or not accepted by this call. Not for gRPC. */
bool e2b_rpc_form_of(const char *content_type, bool stream, struct rpc_form *out);
/* The message of a request; NULL: the request has been replied to. `stream`: the kind of call. */
json_t *e2b_rpc_request(struct http_request *rq, const struct pb_message *m, bool stream,
                        enum rpc_codec *codec);
/* The same for a body that the caller has read; NULL: err. */
json_t *e2b_rpc_message(struct http_request *rq, const struct pb_message *m, struct rpc_form form,
                        const char *body, size_t len, struct hf_error *err);
/* The same for a message alone. */
json_t *e2b_rpc_decode(const struct pb_message *m, enum rpc_codec codec, const void *bytes,
                       size_t len, struct hf_error *err);
/* Checks the form, and that nothing is compressed; false: the request has been replied to. */
bool e2b_rpc_admit(struct http_request *rq, bool stream, enum rpc_codec *codec);

/* Replies. `json`: the message in its JSON form. */
void e2b_rpc_reply(struct http_request *rq, const struct pb_message *m, enum rpc_codec codec,
                   const struct buf *json);
void e2b_rpc_reply_empty(struct http_request *rq, enum rpc_codec codec);
void e2b_rpc_reply_stream_empty(struct http_request *rq, enum rpc_codec codec);
void e2b_rpc_reply_empty_as(struct http_request *rq); /* with the codec of its request */
/* In the form of the request, whatever it was. */
void e2b_rpc_fail(struct http_request *rq, const char *code, const char *message);
void e2b_rpc_error(struct http_request *rq, const struct hf_error *err);
const char *e2b_rpc_code(const struct hf_error *err); /* "not_found" */
/* The envelope that ends a stream; code NULL: success. */
void e2b_rpc_end(struct buf *out, const char *code, const char *message);
const char *e2b_rpc_stream_type(const struct http_request *rq, enum rpc_codec codec);

/* --- e2b_grpc.c ------------------------------------------------------------------------- */
bool e2b_grpc_is(const struct http_request *rq, enum rpc_codec *codec);
const char *e2b_grpc_type(enum rpc_codec codec);
void e2b_grpc_reply(struct http_request *rq, enum rpc_codec codec, const void *bytes, size_t len);
void e2b_grpc_fail(struct http_request *rq, const char *code, const char *message);
/* Ends a stream, as e2b_rpc_end() does for Connect. */
void e2b_grpc_end(struct http_stream *st, const char *code, const char *message);
int e2b_rpc_number(const char *code); /* e2b_rpc.c: "not_found" is 5; NULL is 0, a success */

/*
 * The process that a message's selector names; NULL: the request has been replied to. `living`:
 * exited processes do not count.
 */
struct process *e2b_rpc_process(struct http_request *rq, const json_t *message, bool living);
struct process *e2b_rpc_select(struct engine *e, const json_t *message, bool living,
                               const char **code, char *why, size_t size);

#endif
