/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_revision.c - the revisions of the protocol. Layer: dialects.
 */
#include "dialects/mcp/mcp_revision.h"

#include <string.h>

#include "base/text.h"

#define B64_HEAD "=?base64?"
#define B64_TAIL "?="

/* Newest first. */
static const struct revision revisions[] = {
    {"2026-07-28", false, true},
    {"2025-11-25", false, false},
    {"2025-06-18", false, false},
    {"2025-03-26", true, false},
};
#define REVISIONS (sizeof revisions / sizeof *revisions)
#define NEWEST_WITH_SESSIONS (&revisions[1])
#define BEFORE_THE_HEADER (&revisions[REVISIONS - 1])

const struct revision *revision_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < REVISIONS; i++) {
        if (strcmp(revisions[i].name, name) == 0)
            return &revisions[i];
    }
    return NULL;
}

const struct revision *revision_negotiate(const char *wish)
{
    const struct revision *r = revision_find(wish);

    return r != NULL && !r->stateless ? r : NEWEST_WITH_SESSIONS;
}

const struct revision *revision_assumed(void)
{
    return BEFORE_THE_HEADER;
}

void revision_write_names(struct json_out *o, bool stateless)
{
    json_open(o, '[');
    for (size_t i = 0; i < REVISIONS; i++) {
        if (revisions[i].stateless == stateless)
            json_str(o, revisions[i].name);
    }
    json_close(o, ']');
}

/* --- self-contained requests ---------------------------------------------------- */

bool mcp_header_value_is(const char *value, const char *text, size_t len)
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

int mcp_headers_check_version(const struct http_request *rq, const struct rpc_message *m,
                              const char *version, struct rpc_fault *f)
{
    const char *said = http_header(rq, "MCP-Protocol-Version");

    return said != NULL && strcmp(said, version) == 0 ? 0 : mismatch(f, m, "MCP-Protocol-Version");
}

int mcp_headers_check_names(const struct http_request *rq, const struct rpc_message *m,
                            struct rpc_fault *f)
{
    const char *method = http_header(rq, "Mcp-Method"), *name = http_header(rq, "Mcp-Name");
    const json_t *named = named_by(m);

    if (method == NULL || strcmp(method, m->method) != 0)
        return mismatch(f, m, "Mcp-Method");
    if (json_is_string(named) &&
        (name == NULL ||
         !mcp_header_value_is(name, json_string_value(named), json_string_length(named))))
        return mismatch(f, m, "Mcp-Name");
    return 0;
}
