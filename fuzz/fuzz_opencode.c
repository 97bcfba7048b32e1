/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_opencode.c - every body of OpenCode's clients, what they say in metadata, and expressions
 *
 * The same bytes go through all decoders. What is taken is in range and made of C strings, as
 * the engine relies on; what is refused names a field and a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/opencode/oc_body_decode.h"
#include "dialects/opencode/oc_pattern.h"
#include "dialects/opencode/opencode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_refusal(int rc, const struct hf_error *err)
{
    check(rc == 0 || (rc < 0 && err->code != HF_OK && err->detail[0] != '\0'));
}

static void try_create(const json_t *tree)
{
    struct hf_error err = {0};
    struct oc_pty_request a;
    int rc = oc_pty_request_decode(&a, tree, &err);

    check_refusal(rc, &err);
    if (rc == 0) {
        check(a.spec.arg_count == json_array_size(json_object_get(tree, "args")));
        a.args[a.spec.arg_count] = "-l"; /* there is room */
        for (size_t i = 0; i < a.spec.arg_count; i++)
            check(a.args[i] != NULL);
        check(a.spec.env_count >= 2 && strcmp(a.env[a.spec.env_count - 2].name, "TERM") == 0);
        for (size_t i = 0; i + 2 < a.spec.env_count; i++)
            check(strcmp(a.env[i].name, "TERM") != 0 && a.env[i].value != NULL);
    }
    oc_pty_request_fini(&a);
}

static void try_change(const json_t *tree)
{
    struct hf_error err = {0};
    struct oc_pty_change c;
    int rc = oc_pty_change_decode(&c, tree, &err);

    check_refusal(rc, &err);
    if (rc < 0)
        return;
    check(c.title == NULL || strlen(c.title) <= LIMIT_LABEL_BYTES);
    check(!c.sized || (c.rows >= 1 && c.rows <= TERMINAL_SIZE_MAX && c.cols >= 1 &&
                       c.cols <= TERMINAL_SIZE_MAX));
}

static void try_session(const json_t *tree)
{
    struct oc_session_request a = {.title = "as it was"};
    struct hf_error err = {0};

    check_refusal(oc_session_request_decode(&a, tree, &err), &err);
    check(a.title != NULL);
}

static void try_order(const json_t *tree, bool shell)
{
    struct hf_error err = {0};
    struct oc_order w;
    int rc = oc_order_decode(&w, tree, shell, &err);

    check_refusal(rc, &err);
    if (rc < 0)
        return;
    check(w.agent != NULL && w.command != NULL && (w.arguments == NULL) == shell);
    check((w.provider == NULL) == (w.model == NULL));
    check(w.message_id == NULL || strlen(w.message_id) < OC_ID_BYTES);
}

/* Anybody can write it, through any protocol. */
static void try_metadata(const char *text)
{
    json_auto_t *meta = oc_meta(text);
    static const char *const keys[] = {"directory", "agent", "messageID", "name", "title"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *v = oc_meta_text(meta, keys[i]);

        check(v == NULL || strlen(v) < strlen(text));
    }
}

/* What is accepted is a C string of bounded length. */
static void try_pattern(const char *text)
{
    struct hf_error err = {0};
    struct buf out = {0};
    bool any_case;
    int rc = oc_pattern_decode(text, &out, &any_case, &err);

    check_refusal(rc, &err);
    if (rc == 0)
        check(out.len <= LIMIT_SEARCH_PATTERN_BYTES && strlen(buf_cstr(&out)) == out.len);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    json_t *tree;

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    tree = json_parse(text, size, NULL);
    if (json_is_object(tree)) {
        try_create(tree);
        try_change(tree);
        try_session(tree);
        try_order(tree, true);
        try_order(tree, false);
    }
    try_metadata(text);
    try_pattern(text);
    json_decref(tree);
    free(text);
    return 0;
}
