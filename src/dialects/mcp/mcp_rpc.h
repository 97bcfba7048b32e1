/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_rpc.h - JSON-RPC 2.0 as MCP uses it: decodes bytes into messages or a fault, and writes both
 *
 * Stricter than JSON-RPC where MCP is: an id is a string or an integer, never null, and params are
 * an object. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_RPC_H
#define HF_DIALECTS_MCP_MCP_RPC_H

#include "base/json.h"

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    /* by the transport: token, path, session; data.code gives the reason */
    RPC_REFUSED = -32000,
    RPC_RESOURCE_NOT_FOUND = -32002, /* up to 2025-11-25; later revisions use invalid params */
    RPC_HEADER_MISMATCH = -32020,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    enum rpc_kind kind;
    json_t *id;         /* borrowed; NULL for a notification */
    const char *method; /* NULL for a response */
    json_t *params;     /* an object, borrowed; NULL: none */
};

/* Why a body or a message was refused. */
struct rpc_fault {
    enum rpc_code code;
    json_t *id; /* borrowed; NULL: no id could be decoded */
    char message[320];
};

struct rpc_body {
    json_t *tree; /* owned */
    bool batch;
    size_t count; /* 1 unless it is a batch */
};

/* 0, or -1 and a fault without an id. An empty batch is refused. */
int rpc_body_parse(struct rpc_body *b, const char *text, size_t len, struct rpc_fault *f);
void rpc_body_fini(struct rpc_body *b);
/* Message i of the body; 0, or -1 and the fault. */
int rpc_body_message(const struct rpc_body *b, size_t i, struct rpc_message *out,
                     struct rpc_fault *f);

/* params._meta[key], or NULL. */
json_t *rpc_meta(const struct rpc_message *m, const char *key);
/* The progress token of params._meta, if valid (a string or an integer). */
json_t *rpc_progress_token(const struct rpc_message *m);
bool rpc_is_id(const json_t *v);

int rpc_fail(struct rpc_fault *f, enum rpc_code code, json_t *id, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* --- writing: each replaces what is in `out` -------------------------------------- */
struct json_out rpc_open_result(struct buf *out, const json_t *id);         /* its result, open */
struct json_out rpc_open_notification(struct buf *out, const char *method); /* its params, open */
void rpc_close(struct json_out *o);
/* {"jsonrpc","id","error":{…}}; id NULL: null. data: JSON text or NULL. */
void rpc_write_error(struct buf *out, const json_t *id, int code, const char *message,
                     const char *data);

#endif
