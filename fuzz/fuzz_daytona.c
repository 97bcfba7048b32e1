/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_daytona.c - every body, subprotocol, packet and line of Daytona's clients
 *
 * The same bytes go through all decoders. Whatever is taken must be in range, and
 * whatever is refused must name a code and a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/daytona/dt_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_refusal(int rc, const struct hf_error *err)
{
    check(rc == 0 || (err->code != HF_OK && err->detail[0] != '\0'));
}

static void try_execute(const json_t *tree, bool code)
{
    struct hf_error err = {0};
    struct dt_execute_request a;
    int rc = code ? dt_decode_code(&a, tree, &err) : dt_decode_execute(&a, tree, &err);

    check_refusal(rc, &err);
    if (rc == 0) {
        check((code ? a.code : a.command) != NULL && (a.language != NULL) == code);
        check(a.timeout_s >= 0 && a.timeout_s <= LIMIT_DURATION_MS / 1000);
        check(a.argc <= LIMIT_ARGS && a.env_count <= LIMIT_ENV);
        check(a.cwd == NULL || a.cwd[0] != '\0');
    }
    dt_execute_request_fini(&a);
}

static void try_rest(const json_t *tree)
{
    struct hf_error err = {0};
    struct dt_exec_request exec;
    struct dt_pty_request pty;
    int64_t rows, cols;
    int rc = dt_decode_exec(&exec, tree, &err);

    check_refusal(rc, &err);
    check(rc < 0 || exec.command != NULL);
    err = (struct hf_error){0};
    rc = dt_decode_pty(&pty, tree, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (pty.id != NULL && pty.rows <= LIMIT_DT_SIZE && pty.cols <= LIMIT_DT_SIZE));
    dt_pty_request_fini(&pty);
    err = (struct hf_error){0};
    rc = dt_decode_size(tree, &rows, &cols, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (rows >= 0 && rows <= LIMIT_DT_SIZE && cols >= 0 && cols <= LIMIT_DT_SIZE));
}

static void try_text(const char *text)
{
    char version[DT_PROTOCOL_BYTES];
    struct hf_error err = {0};
    json_t *envs = NULL;
    int64_t side = 0;
    int rc = dt_decode_offered_env(text, &envs, &err);

    check_refusal(rc, &err);
    json_decref(envs);
    if (dt_decode_offered_version(text, version) != NULL)
        check(version[0] != '\0' && strlen(version) < sizeof version);
    (void)dt_split_for(text, text);
    if (dt_decode_side(text, "rows", &side, &err) == 0)
        check(side >= 0 && side <= LIMIT_DT_SIZE);
}

static void try_bytes(const char *text, size_t size)
{
    struct buf result = {0};
    json_t *charts;
    char *token;

    if (dt_decode_packet(text, size, &token) == DT_PACKET_CONNECT)
        check(token != NULL);
    else
        check(token == NULL);
    free(token);
    buf_put(&result, text, size);
    charts = dt_take_artifacts(&result);
    check(json_is_array(charts) && result.len <= size);
    json_decref(charts);
    buf_fini(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    json_t *tree;

    memcpy(text, data, size);
    text[size] = '\0';
    try_bytes(text, size);
    try_text(text);
    tree = json_parse(text, size, NULL);
    if (json_is_object(tree)) {
        try_execute(tree, false);
        try_execute(tree, true);
        try_rest(tree);
    }
    json_decref(tree);
    free(text);
    return 0;
}
