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
#include "dialects/daytona/daytona_limits.h"
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

static void check_taken(const struct dt_request *a, enum dt_body kind)
{
    bool command = kind == DT_EXECUTE || kind == DT_EXEC;

    check((a->command != NULL) == command && (a->id != NULL) == (kind == DT_PTY));
    check((a->code != NULL) == (kind == DT_CODE) && (a->language != NULL) == (kind == DT_CODE));
    check(a->timeout_s >= 0 && a->timeout_s <= LIMIT_DURATION_MS / 1000);
    check(a->arg_count <= LIMIT_ARGS && a->env_count <= LIMIT_ENV);
    check(a->cwd == NULL || a->cwd[0] != '\0');
    check(a->rows >= 0 && a->rows <= LIMIT_DT_SIZE && a->cols >= 0 && a->cols <= LIMIT_DT_SIZE);
}

static void try_bodies(const json_t *tree)
{
    for (int kind = 0; kind < DT_BODIES; kind++) {
        struct hf_error err = {0};
        struct dt_request a = {0};
        int rc = dt_decode(&a, (enum dt_body)kind, tree, &err);

        check_refusal(rc, &err);
        if (rc == 0)
            check_taken(&a, (enum dt_body)kind);
        dt_request_fini(&a);
    }
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
    if (json_is_object(tree))
        try_bodies(tree);
    json_decref(tree);
    free(text);
    return 0;
}
