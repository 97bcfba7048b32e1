/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hyperbrowser.c - every body and frame of Hyperbrowser's clients
 *
 * The same bytes go through all decoders. Whatever is taken must be in range, and
 * whatever is refused must name a code and a reason.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/hyperbrowser/hyper_decode.h"

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

static void try_start(const json_t *tree, bool terminal)
{
    struct hf_error err = {0};
    struct hyper_request a;
    int rc =
        terminal ? hyper_decode_terminal(&a, tree, &err) : hyper_decode_process(&a, tree, &err);
    const struct spawn_spec *s = &a.spec;

    check_refusal(rc, &err);
    if (rc == 0) {
        check(s->command != NULL && s->command[0] != '\0' && s->pty == terminal);
        check(terminal || s->shell);
        check(!s->shell || s->arg_count == 0);
        check(s->arg_count <= LIMIT_ARGS && s->env_count <= LIMIT_ENV);
        check(s->timeout_ms >= 0 && s->timeout_ms <= LIMIT_DURATION_MS);
        check(s->rows >= 0 && s->rows <= TERMINAL_SIZE_MAX);
        for (size_t i = 0; i < s->arg_count; i++)
            check(s->args[i] != NULL);
    }
    hyper_request_fini(&a);
}

static void try_rest(const json_t *tree)
{
    struct hf_error err = {0};
    struct hyper_wait_request wait;
    struct buf bytes = {0};
    int64_t rows, cols;
    bool eof;
    int signum, rc;

    rc = hyper_decode_wait(&wait, tree, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (wait.timeout_ms >= -1 && wait.timeout_ms <= LIMIT_DURATION_MS));
    err = (struct hf_error){0};
    rc = hyper_decode_signal(tree, &signum, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (signum >= 0 && signum <= SIGRTMAX));
    err = (struct hf_error){0};
    rc = hyper_decode_size(tree, &rows, &cols, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (rows >= 1 && rows <= TERMINAL_SIZE_MAX && cols >= 1));
    err = (struct hf_error){0};
    check_refusal(hyper_decode_stdin(tree, &bytes, &eof, &err), &err);
    buf_fini(&bytes);
}

static void try_frame(const char *text, size_t len)
{
    struct hf_error err = {0};
    struct hyper_frame f;
    int rc = hyper_decode_frame(&f, text, len, &err);

    check_refusal(rc, &err);
    check(rc < 0 || !f.resize || (f.rows >= 1 && f.cols >= 1));
    check(rc < 0 || f.bytes.len <= len);
    buf_fini(&f.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_t *tree = json_parse(text, size, NULL);

    try_frame(text, size);
    if (tree != NULL) {
        try_start(tree, false);
        try_start(tree, true);
        try_rest(tree);
    }
    json_decref(tree);
    return 0;
}
