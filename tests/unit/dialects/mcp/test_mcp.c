/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mcp.c - The pure parts of the MCP dialect: messages, revisions, headers, URIs, searches, the tools.
 */
#include "test.h"

#include "base/limits.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_resource.h"
#include "dialects/mcp/mcp_revision.h"
#include "dialects/mcp/mcp_rpc.h"
#include "dialects/mcp/mcp_tool_spawn.h"
#include "dialects/mcp/mcp_tools.h"

/* The kind of the only message, or the fault's code. */
static int kind_of(const char *text)
{
    struct rpc_body b;
    struct rpc_message m;
    struct rpc_fault f = {0};
    int rc = rpc_body_parse(&b, text, strlen(text), &f);

    if (rc == 0)
        rc = rpc_body_message(&b, 0, &m, &f);
    rc = rc == 0 ? (int)m.kind : (int)f.code;
    rpc_body_fini(&b);
    return rc;
}

TEST(a_message_is_a_request_a_notification_or_a_response)
{
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}") == RPC_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}") == RPC_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}") == RPC_NOTIFICATION);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}") == RPC_RESPONSE);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"error\":{}}") == RPC_RESPONSE);
}

TEST(everything_else_is_refused_with_its_code)
{
    EXPECT(kind_of("") == RPC_PARSE_ERROR);
    EXPECT(kind_of("{} {}") == RPC_PARSE_ERROR);
    EXPECT(kind_of("[]") == RPC_INVALID_REQUEST);
    EXPECT(kind_of("7") == RPC_INVALID_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}") == RPC_INVALID_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1}") == RPC_INVALID_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000\"}") ==
           RPC_INVALID_REQUEST);
    EXPECT(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}") ==
           RPC_INVALID_PARAMS);
}

TEST(initialize_gets_a_revision_that_has_sessions)
{
    EXPECT_STR(revision_negotiate("2025-03-26")->name, "2025-03-26");
    EXPECT_STR(revision_negotiate("2026-07-28")->name, "2025-11-25");
    EXPECT_STR(revision_negotiate("1999-01-01")->name, "2025-11-25");
    EXPECT(revision_assumed()->batch);
    EXPECT(revision_find("2026-07-28")->stateless);
    EXPECT(revision_find(NULL) == NULL);
}

TEST(a_header_may_be_plain_or_base64)
{
    EXPECT(mcp_header_value_is("stop", "stop", 4));
    EXPECT(!mcp_header_value_is("stop", "stopp", 5));
    EXPECT(mcp_header_value_is("=?base64?c3RvcA==?=", "stop", 4));
    EXPECT(!mcp_header_value_is("=?base64?c3RvcA==?=", "=?base64?c3RvcA==?=", 19));
    EXPECT(!mcp_header_value_is("=?base64?*?=", "", 0));
    EXPECT(mcp_header_value_is("=?base64?"
                               "?=",
                               "", 0));
}

TEST(a_uri_names_a_process_and_what_of_it)
{
    enum resource_kind kind;
    char id[RESOURCE_URI_BYTES], longest[2 * RESOURCE_URI_BYTES];

    EXPECT(resource_uri_parse("process://proc_x/output", &kind, id) == 0);
    EXPECT(kind == RESOURCE_OUTPUT);
    EXPECT_STR(id, "proc_x");
    EXPECT(resource_uri_parse("process://tag%3Aa%2Fb/screen", &kind, id) == 0);
    EXPECT(kind == RESOURCE_SCREEN);
    EXPECT_STR(id, "tag:a/b");
    EXPECT(resource_uri_parse("process:///output", &kind, id) < 0);
    EXPECT(resource_uri_parse("process://x/output/", &kind, id) < 0);
    EXPECT(resource_uri_parse("process://x%00/output", &kind, id) < 0);
    EXPECT(resource_uri_parse("file://x/output", &kind, id) < 0);
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "process://", 10);
    strcpy(longest + sizeof longest - 8, "/output");
    EXPECT(resource_uri_parse(longest, &kind, id) < 0);
}

TEST(a_command_alone_is_a_line_for_the_shell)
{
    json_t *line = json_pack("{s:s}", "command", "a | b");
    json_t *program = json_pack("{s:s,s:[s]}", "command", "a", "args", "b");
    struct hf_error err = {0};
    struct tool_spawn t;

    EXPECT(tool_spawn_decode(&t, line, true, &err) == 0);
    EXPECT(t.request.spec.shell && t.request.spec.source == SOURCE_AGENT);
    EXPECT(t.request.max_output_bytes == LIMIT_MCP_OUTPUT_BYTES && t.yield_ms == -1);
    tool_spawn_fini(&t);
    EXPECT(tool_spawn_decode(&t, program, false, &err) == 0);
    EXPECT(!t.request.spec.shell && t.request.spec.stdin_mode == STDIN_PIPE);
    tool_spawn_fini(&t);
    json_decref(line);
    json_decref(program);
}

/* The table and the descriptions are two lists; they must be the same one. */
TEST(every_tool_is_described_in_the_order_of_the_table)
{
    struct mcp m = {0};
    const json_t *tools = tools_describe(&m);

    EXPECT_U64(json_array_size(tools), mcp_tool_count);
    for (size_t i = 0; i < mcp_tool_count; i++) {
        const json_t *t = json_array_get(tools, i);

        EXPECT_STR(json_string_value(json_object_get(t, "name")), mcp_tool_list[i].name);
        EXPECT(json_is_object(json_object_get(t, "inputSchema")));
        EXPECT(json_is_object(json_object_get(t, "outputSchema")));
        EXPECT(json_is_true(json_object_get(json_object_get(t, "annotations"), "readOnlyHint")) ==
               (mcp_tool_list[i].role == ROLE_WATCH));
    }
    json_decref(m.tools);
}
