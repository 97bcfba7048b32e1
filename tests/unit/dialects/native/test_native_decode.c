/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_native_decode.c - The smaller bodies of the native protocol: patch, input, wait, control messages.
 */
#include "test.h"

#include "dialects/common/input_decode.h"
#include "dialects/common/wait_decode.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/socket/connect_control.h"

static json_t *parse(const char *text)
{
    json_t *tree = json_parse(text, strlen(text), NULL);

    REQUIRE(tree != NULL);
    return tree;
}

/* --- patch -------------------------------------------------------------------- */

TEST(patch_tells_unchanged_from_cleared)
{
    json_t *tree = parse("{\"label\":null,\"tag\":\"t\",\"metadata\":null,\"retain_ms\":0}");
    struct process_patch p;
    char *metadata;

    EXPECT_INT(patch_decode(tree, &p, &metadata, NULL), 0);
    EXPECT_STR(p.label, "");
    EXPECT_STR(p.tag, "t");
    EXPECT_STR(p.title, NULL);
    EXPECT_STR(p.metadata_json, "{}");
    EXPECT(p.set_retain && !p.set_size_policy);
    EXPECT_INT(p.retain_ms, 0);
    free(metadata);
    json_decref(tree);
}

static enum hf_code patch_code(const char *text)
{
    json_t *tree = parse(text);
    struct process_patch p;
    struct hf_error err = {0};
    char *metadata;
    int rc = patch_decode(tree, &p, &metadata, &err);

    free(metadata);
    json_decref(tree);
    return rc < 0 ? err.code : HF_OK;
}

TEST(patch_refuses)
{
    EXPECT_INT(patch_code("{}"), HF_OK);
    EXPECT_INT(patch_code("{\"command\":\"x\"}"), HF_E_unknown_field);
    EXPECT_INT(patch_code("{\"label\":5}"), HF_E_bad_type);
    EXPECT_INT(patch_code("{\"tag\":\"a\\u0000\"}"), HF_E_bad_value);
    EXPECT_INT(patch_code("{\"metadata\":[]}"), HF_E_bad_type);
    EXPECT_INT(patch_code("{\"size_policy\":\"big\"}"), HF_E_bad_value);
    EXPECT_INT(patch_code("{\"retain_ms\":-1}"), HF_E_bad_value);
}

/* --- input -------------------------------------------------------------------- */

static enum hf_code input_code(const char *text, bool app_cursor, struct buf *out, bool *eof)
{
    json_t *tree = parse(text);
    struct hf_error err = {0};
    int rc = input_request_decode(tree, app_cursor, out, eof, &err);

    json_decref(tree);
    return rc < 0 ? err.code : HF_OK;
}

TEST(input_is_data_then_keys_then_the_end)
{
    struct buf out = {0};
    bool eof = false;

    EXPECT_INT(input_code("{\"eof\":true,\"keys\":[\"Enter\",\"Up\"],\"data\":\"a\\u0000b\"}",
                          false, &out, &eof),
               HF_OK);
    EXPECT_BYTES(buf_data(&out), out.len, "a\0b\r\x1b[A");
    EXPECT(eof);
    buf_clear(&out);
    EXPECT_INT(input_code("{\"keys\":[\"Up\"]}", true, &out, &eof), HF_OK);
    EXPECT_BYTES(buf_data(&out), out.len, "\x1bOA");
    buf_fini(&out);
}

TEST(input_refuses)
{
    struct buf out = {0};
    bool eof = false;

    EXPECT_INT(input_code("{}", false, &out, &eof), HF_OK);
    EXPECT_INT(input_code("{\"text\":\"x\"}", false, &out, &eof), HF_E_unknown_field);
    EXPECT_INT(input_code("{\"data\":5}", false, &out, &eof), HF_E_bad_type);
    EXPECT_INT(input_code("{\"keys\":[5]}", false, &out, &eof), HF_E_bad_type);
    EXPECT_INT(input_code("{\"keys\":[\"Hyper-Q\"]}", false, &out, &eof), HF_E_bad_value);
    EXPECT_INT(input_code("{\"data\":\"!\",\"encoding\":\"base64\"}", false, &out, &eof),
               HF_E_bad_value);
    EXPECT_INT(input_code("{\"data\":\"x\",\"encoding\":\"rot13\"}", false, &out, &eof),
               HF_E_bad_value);
    buf_fini(&out);
}

/* --- wait ------------------------------------------------------------------------ */

static enum hf_code wait_code(const char *text, struct wait_request *out)
{
    json_t *tree = parse(text);
    struct hf_error err = {0};
    int rc = wait_request_decode(tree, out, &err);

    json_decref(tree);
    return rc < 0 ? err.code : HF_OK;
}

TEST(wait_takes_its_conditions_in_order)
{
    json_t *tree = parse("{\"until\":[{\"text\":\"a\\u0000b\"},{\"regex\":\"x+\"},{\"quiet_ms\":5},"
                         "{\"exit\":true}],\"from\":7,\"timeout_ms\":0}");
    struct wait_request a;

    EXPECT_INT(wait_request_decode(tree, &a, NULL), 0);
    EXPECT_U64(a.count, 4);
    EXPECT_INT(a.until[0].kind, WAIT_TEXT);
    EXPECT_BYTES(a.until[0].text, a.until[0].len, "a\0b");
    EXPECT_INT(a.until[1].kind, WAIT_REGEX);
    EXPECT_INT(a.until[2].quiet_ms, 5);
    EXPECT_INT(a.until[3].kind, WAIT_EXIT);
    EXPECT_INT(a.from, 7);
    EXPECT_INT(a.timeout_ms, 0);
    json_decref(tree);
}

TEST(wait_takes_what_is_not_in_the_output)
{
    json_t *tree = parse("{\"until\":[{\"prompt\":true},{\"any\":true,\"port\":80},"
                         "{\"port\":65535},{\"blocked_on_tty\":true},{\"echo_off\":true}]}");
    struct wait_request a;

    EXPECT_INT(wait_request_decode(tree, &a, NULL), 0);
    EXPECT_INT(a.until[0].kind, WAIT_PROMPT);
    EXPECT_INT(a.until[1].port, 80);
    EXPECT(a.until[1].any && !a.until[2].any);
    EXPECT_INT(a.until[2].port, 65535);
    EXPECT_INT(a.until[3].kind, WAIT_BLOCKED);
    EXPECT_INT(a.until[4].kind, WAIT_ECHO_OFF);
    json_decref(tree);
}

TEST(wait_refuses)
{
    struct wait_request a;

    EXPECT_INT(wait_code("{\"until\":[{\"exit\":true}]}", &a), HF_OK);
    EXPECT_INT(a.from, -1);
    EXPECT_INT(a.timeout_ms, -1);
    EXPECT_INT(wait_code("{}", &a), HF_E_missing_field);
    EXPECT_INT(wait_code("{\"until\":[]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[5]}", &a), HF_E_bad_type);
    EXPECT_INT(wait_code("{\"until\":[{}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"exit\":true,\"text\":\"x\"}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"exit\":false}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"exit\":1}]}", &a), HF_E_bad_type);
    EXPECT_INT(wait_code("{\"until\":[{\"text\":\"\"}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"quiet_ms\":0}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"texts\":\"x\"}]}", &a), HF_E_unknown_field);
    EXPECT_INT(wait_code("{\"until\":[{\"port\":0}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"port\":65536}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"port\":\"80\"}]}", &a), HF_E_bad_type);
    EXPECT_INT(wait_code("{\"until\":[{\"port\":80,\"any\":1}]}", &a), HF_E_bad_type);
    EXPECT_INT(wait_code("{\"until\":[{\"any\":true}]}", &a), HF_E_unknown_field);
    EXPECT_INT(wait_code("{\"until\":[{\"echo_off\":true,\"any\":true}]}", &a), HF_E_bad_value);
    EXPECT_INT(wait_code("{\"until\":[{\"blocked_on_tty\":0}]}", &a), HF_E_bad_type);
    EXPECT_INT(wait_code("{\"until\":[{\"exit\":true}],\"from\":-1}", &a), HF_E_bad_value);
}

/* --- control messages ----------------------------------------------------------------- */

static enum hf_code control_code(const char *text, struct control *out)
{
    struct hf_error err = {0};

    return control_decode(text, strlen(text), out, &err) < 0 ? err.code : HF_OK;
}

TEST(control_knows_its_messages)
{
    struct control c;

    EXPECT_INT(control_code("{\"type\":\"resize\",\"rows\":40,\"cols\":100}", &c), HF_OK);
    EXPECT_INT(c.type, CONTROL_RESIZE);
    EXPECT_INT(c.rows, 40);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":\"INT\",\"target\":\"tree\"}", &c),
               HF_OK);
    EXPECT_INT(c.signum, SIGINT);
    EXPECT_INT(c.target, TARGET_TREE);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":15}", &c), HF_OK);
    EXPECT_INT(c.signum, SIGTERM);
    EXPECT_INT(c.target, TARGET_GROUP);
    EXPECT_INT(control_code("{\"type\":\"ack\",\"offset\":12}", &c), HF_OK);
    EXPECT_INT(c.offset, 12);
    EXPECT_INT(control_code("{\"type\":\"eof\"}", &c), HF_OK);
    EXPECT_INT(control_code("{\"type\":\"detach\"}", &c), HF_OK);
    EXPECT_INT(c.type, CONTROL_DETACH);
}

TEST(control_refuses)
{
    struct control c;

    EXPECT_INT(control_code("", &c), HF_E_bad_json);
    EXPECT_INT(control_code("hello", &c), HF_E_bad_json);
    EXPECT_INT(control_code("[]", &c), HF_E_bad_type);
    EXPECT_INT(control_code("{}", &c), HF_E_missing_field);
    EXPECT_INT(control_code("{\"type\":5}", &c), HF_E_bad_type);
    EXPECT_INT(control_code("{\"type\":\"dance\"}", &c), HF_E_bad_value);
    EXPECT_INT(control_code("{\"type\":\"role\"}", &c), HF_E_not_implemented);
    EXPECT_INT(control_code("{\"type\":\"lease\"}", &c), HF_E_missing_field);
    EXPECT_INT(control_code("{\"type\":\"lease\",\"action\":\"grab\"}", &c), HF_E_bad_value);
    EXPECT_INT(control_code("{\"type\":\"lease\",\"action\":\"request\"}", &c), HF_OK);
    EXPECT_INT(c.action, LEASE_REQUEST);
    EXPECT_INT(control_code("{\"type\":\"resize\",\"rows\":0,\"cols\":1}", &c), HF_E_bad_size);
    EXPECT_INT(control_code("{\"type\":\"resize\",\"rows\":1}", &c), HF_E_missing_field);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":\"NOPE\"}", &c), HF_E_bad_signal);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":0}", &c), HF_E_bad_signal);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":null}", &c), HF_E_bad_type);
    EXPECT_INT(control_code("{\"type\":\"signal\",\"signal\":2,\"target\":\"all\"}", &c),
               HF_E_bad_value);
    EXPECT_INT(control_code("{\"type\":\"eof\",\"x\":1}", &c), HF_E_unknown_field);
    EXPECT_INT(control_code("{\"type\":\"ack\",\"offset\":-1}", &c), HF_E_bad_value);
}
