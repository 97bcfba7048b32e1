/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_headers.c - checks headers that repeat values of the body. Layer: dialects.
 */
#include "dialects/mcp/mcp_headers.h"

#include <string.h>

#include "base/text.h"

#define B64_HEAD "=?base64?"
#define B64_TAIL "?="

bool header_value_is(const char *value, const char *text, size_t len)
{
    size_t n = strlen(value), head = strlen(B64_HEAD), tail = strlen(B64_TAIL);
    struct buf decoded = {0};
    bool same;

    if (n < head + tail || strncmp(value, B64_HEAD, head) != 0 ||
        strcmp(value + n - tail, B64_TAIL) != 0)
        return n == len && memcmp(value, text, len) == 0;
    same = base64_decode(&decoded, value + head, n - head - tail) && decoded.len == len &&
           (len == 0 || memcmp(buf_data(&decoded), text, len) == 0);
    buf_fini(&decoded);
    return same;
}

static int mismatch(struct rpc_fault *f, const struct rpc_message *m, const char *header)
{
    return rpc_fail(f, RPC_HEADER_MISMATCH, m->id,
                    "Header mismatch: %s is missing or does not match the body", header);
}

/* The value that Mcp-Name repeats for this method; NULL: none. */
static const json_t *named_by(const struct rpc_message *m)
{
    if (strcmp(m->method, "tools/call") == 0 || strcmp(m->method, "prompts/get") == 0)
        return json_object_get(m->params, "name");
    if (strcmp(m->method, "resources/read") == 0)
        return json_object_get(m->params, "uri");
    return NULL;
}

int headers_check_version(const struct http_request *rq, const struct rpc_message *m,
                          const char *version, struct rpc_fault *f)
{
    const char *said = http_header(rq, "MCP-Protocol-Version");

    return said != NULL && strcmp(said, version) == 0 ? 0 : mismatch(f, m, "MCP-Protocol-Version");
}

int headers_check_names(const struct http_request *rq, const struct rpc_message *m,
                        struct rpc_fault *f)
{
    const char *method = http_header(rq, "Mcp-Method"), *name = http_header(rq, "Mcp-Name");
    const json_t *named = named_by(m);

    if (method == NULL || strcmp(method, m->method) != 0)
        return mismatch(f, m, "Mcp-Method");
    if (json_is_string(named) && (name == NULL || !header_value_is(name, json_string_value(named),
                                                                   json_string_length(named))))
        return mismatch(f, m, "Mcp-Name");
    return 0;
}
