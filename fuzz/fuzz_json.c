/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_json.c - a body is parsed, decoded by a table, and written again
 *
 * What was taken must obey the table, a refusal must name its code, and what
 * we write of a tree must read back as the same tree.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sample {
    const char *command, *tag;
    int64_t timeout_ms, rows;
    bool pty;
    json_t *env, *args, *input;
};

static const struct json_field fields[] = {
    JSON_FIELD(STR, struct sample, command, .min = 1, .max = 64, .required = true),
    JSON_FIELD(STR, struct sample, tag, .nullable = true),
    JSON_FIELD(INT, struct sample, timeout_ms, .min = 0, .max = 1000000),
    JSON_FIELD(INT, struct sample, rows, .min = 1, .max = 4096, .nullable = true),
    JSON_FIELD(BOOL, struct sample, pty),
    JSON_FIELD(OBJECT, struct sample, env, .nullable = true),
    JSON_FIELD(ARRAY, struct sample, args),
    JSON_FIELD(ANY, struct sample, input),
};

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_decode(const json_t *tree)
{
    struct sample s = {.timeout_ms = 5, .rows = 24};
    struct hf_error err = {0};
    int rc = json_decode(tree, fields, sizeof fields / sizeof *fields, &s, &err);

    if (rc != 0) {
        check(rc < 0 && err.code != HF_OK && err.detail[0] != '\0');
        return;
    }
    check(s.command != NULL && strlen(s.command) >= 1 && strlen(s.command) <= 64);
    check(s.timeout_ms >= 0 && s.timeout_ms <= 1000000);
    check(s.rows >= 1 && s.rows <= 4096);
    check(s.env == NULL || json_is_object(s.env));
    check(s.args == NULL || json_is_array(s.args));
}

static void check_round_trip(const json_t *tree)
{
    struct buf text = {0};
    struct json_out out;
    struct hf_error err = {0};
    json_t *again;

    json_out_init(&out, &text);
    json_value(&out, tree);
    again = json_parse(buf_data(&text), text.len, &err);
    check(again != NULL && json_equal(tree, again));
    json_decref(again);
    buf_fini(&text);
}

/* The bytes as one string: the writer must make valid JSON of anything. */
static void check_string(const uint8_t *data, size_t size)
{
    struct buf text = {0};
    struct json_out out;
    struct hf_error err = {0};
    json_t *tree;

    json_out_init(&out, &text);
    json_open(&out, '[');
    json_strn(&out, (const char *)data, size);
    json_close(&out, ']');
    tree = json_parse(buf_data(&text), text.len, &err);
    check(tree != NULL && json_array_size(tree) == 1);
    json_decref(tree);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_error err = {0};
    json_t *tree = json_parse((const char *)data, size, &err);

    check_string(data, size);
    check((tree == NULL) == (err.code != HF_OK));
    if (tree == NULL)
        return 0;
    check_decode(tree);
    check_round_trip(tree);
    json_decref(tree);
    return 0;
}
