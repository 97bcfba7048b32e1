/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_rpc.h - the Connect protocol: requests in either codec, replies, errors, envelopes
 *
 * A unary call has its message as the body and errors by status. A stream has envelopes (a flag, a
 * length, a message) and always status 200; its end is an envelope too, with the error if there is
 * one. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_RPC_H
#define HF_DIALECTS_E2B_E2B_RPC_H

#include "dialects/e2b/e2b.h"
#include "dialects/e2b/e2b_schema.h"

enum rpc_codec { RPC_JSON, RPC_PROTO };

/* How a call was sent. */
struct rpc_form {
    enum rpc_codec codec;
    bool stream;
};

enum { RPC_FLAG_COMPRESSED = 1, RPC_FLAG_END = 2 };
#define RPC_HEAD_BYTES 5
void e2b_rpc_head(char *out, int flags, size_t len); /* of an envelope */

/* From Content-Type; false: neither codec, or not accepted by this call. */
bool e2b_rpc_form_of(const char *content_type, bool stream, struct rpc_form *out);
/* The message of a request; NULL: the request has been replied to. `stream`: the kind of call. */
json_t *e2b_rpc_request(struct http_request *rq, const struct pb_message *m, bool stream,
                        enum rpc_codec *codec);
/* The same for bytes from elsewhere. */
json_t *e2b_rpc_decode(const struct pb_message *m, enum rpc_codec codec, const void *bytes,
                       size_t len, struct hf_error *err);
/* Checks the form, and that nothing is compressed; false: the request has been replied to. */
bool e2b_rpc_admit(struct http_request *rq, bool stream, enum rpc_codec *codec);

/* Replies. `json`: the message in its JSON form. */
void e2b_rpc_reply(struct http_request *rq, const struct pb_message *m, enum rpc_codec codec,
                   const struct buf *json);
void e2b_rpc_reply_empty(struct http_request *rq, enum rpc_codec codec);
/* In the form of the request, whatever it was. */
void e2b_rpc_fail(struct http_request *rq, const char *code, const char *message);
void e2b_rpc_error(struct http_request *rq, const struct hf_error *err);
const char *e2b_rpc_code(const struct hf_error *err); /* "not_found" */
/* The envelope that ends a stream; code NULL: success. */
void e2b_rpc_end(struct buf *out, const char *code, const char *message);
const char *e2b_rpc_stream_type(enum rpc_codec codec);

/*
 * The process that a message's selector names; NULL: the request has been replied to. `living`:
 * exited processes do not count.
 */
struct process *e2b_rpc_process(struct http_request *rq, const json_t *message, bool living);
struct process *e2b_rpc_select(struct engine *e, const json_t *message, bool living,
                               const char **code, char *why, size_t size);

#endif
