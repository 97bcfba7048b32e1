/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mcp.c - JSON-RPC bodies of /mcp, and what the messages carry
 *
 * Whatever is taken must obey the rules of the protocol, and whatever is refused
 * must have a code and a reason. Arguments of run_command go through their decoder, URIs
 * through theirs, and every string of the message is tried as a header's value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_resource.h"
#include "dialects/mcp/mcp_revision.h"
#include "dialects/mcp/mcp_rpc.h"
#include "dialects/mcp/mcp_tool_spawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_fault(const struct rpc_fault *f)
{
    check(f->code == RPC_PARSE_ERROR || f->code == RPC_INVALID_REQUEST ||
          f->code == RPC_INVALID_PARAMS);
    check(f->message[0] != '\0');
    check(f->id == NULL || rpc_is_id(f->id));
}

static void try_spawn(const json_t *arguments, bool run)
{
    struct tool_spawn t;
    struct hf_error err = {0};
    int rc = tool_spawn_decode(&t, arguments, run, &err);

    check(rc == 0 || (err.code != HF_OK && err.detail[0] != '\0'));
    if (rc == 0) {
        check(t.request.spec.command != NULL && t.request.spec.command[0] != '\0');
        check(!run || t.request.max_output_bytes <= LIMIT_MCP_OUTPUT_MAX_BYTES);
        check(!run || (t.yield_ms >= -1 && t.yield_ms <= LIMIT_DURATION_MS));
    }
    tool_spawn_fini(&t);
}

static void try_uri(const char *uri)
{
    enum resource_kind kind;
    char id[RESOURCE_URI_BYTES];

    if (resource_uri_parse(uri, &kind, id) == 0)
        check(id[0] != '\0' && strlen(id) < sizeof id);
}

static void try_params(const struct rpc_message *m)
{
    const json_t *arguments = json_object_get(m->params, "arguments"),
                 *uri = json_object_get(m->params, "uri");

    if (json_is_object(arguments)) {
        try_spawn(arguments, true);
        try_spawn(arguments, false);
    }
    if (json_is_string(uri)) {
        try_uri(json_string_value(uri));
        mcp_header_value_is(json_string_value(uri), "x", 1);
    }
    check(rpc_progress_token(m) == NULL || rpc_is_id(rpc_progress_token(m)));
    check(!revision_negotiate(json_string_value(json_object_get(m->params, "protocolVersion")))
               ->stateless);
}

static void try_message(const struct rpc_body *b, size_t i)
{
    struct rpc_message m;
    struct rpc_fault f;

    if (rpc_body_message(b, i, &m, &f) < 0) {
        check_fault(&f);
        return;
    }
    check((m.kind == RPC_RESPONSE) == (m.method == NULL));
    check(m.kind != RPC_REQUEST || rpc_is_id(m.id));
    check(m.kind != RPC_NOTIFICATION || m.id == NULL);
    if (m.kind != RPC_RESPONSE)
        try_params(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rpc_body b;
    struct rpc_fault f;

    if (rpc_body_parse(&b, (const char *)data, size, &f) < 0) {
        check_fault(&f);
    } else {
        check(b.count >= 1 && b.count <= LIMIT_MCP_BATCH);
        for (size_t i = 0; i < b.count; i++)
            try_message(&b, i);
    }
    rpc_body_fini(&b);
    return 0;
}
