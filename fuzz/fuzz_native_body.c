/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_native_body.c - every body and control message of the native protocol
 *
 * The same bytes go through all decoders. Whatever is taken must obey the
 * protocol's ranges, and whatever is refused must name a code and a reason.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/common/input_decode.h"
#include "dialects/common/output_scan.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/common/wait_decode.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/socket/connect_control.h"

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

static void check_spec(const struct spawn_spec *s)
{
    check(s->command != NULL && s->command[0] != '\0');
    check(s->arg_count <= LIMIT_ARGS && s->env_count <= LIMIT_ENV);
    for (size_t i = 0; i < s->arg_count; i++)
        check(s->args[i] != NULL);
    for (size_t i = 0; i < s->env_count; i++)
        check(s->env[i].name[0] != '\0' && strchr(s->env[i].name, '=') == NULL);
    check(s->rows >= 0 && s->rows <= TERMINAL_SIZE_MAX);
    check(s->timeout_ms >= 0 && s->timeout_ms <= LIMIT_DURATION_MS);
    check(!s->pty || s->stdin_mode == STDIN_DEFAULT || s->stdin_mode == STDIN_TTY);
    check(s->pty || s->stdin_mode != STDIN_TTY);
}

static void try_spawn(const json_t *tree, bool run)
{
    struct hf_error err = {0};
    struct spawn_request ask;
    int rc = spawn_request_decode(&ask, tree, run, &err);

    check_refusal(rc, &err);
    if (rc == 0)
        check_spec(&ask.spec);
    spawn_request_fini(&ask);
}

static void try_patch(const json_t *tree)
{
    struct hf_error err = {0};
    struct process_patch patch;
    char *metadata = NULL;
    int rc = patch_decode(tree, &patch, &metadata, &err);

    check_refusal(rc, &err);
    check(rc < 0 || patch.metadata_json == NULL || patch.metadata_json[0] == '{');
    free(metadata);
}

static void try_link(const json_t *tree)
{
    struct hf_error err = {0};
    struct share_spec spec;
    int rc = links_decode(tree, &spec, &err);

    check_refusal(rc, &err);
    check(rc < 0 || spec.role == SHARE_WATCH || spec.role == SHARE_TYPE);
    check(rc < 0 || (spec.expires_in_ms >= 0 && spec.expires_in_ms <= LIMIT_DURATION_MS));
    check(rc < 0 || (spec.max_uses >= 0 && spec.max_uses <= LIMIT_LINK_USES));
}

static void try_input(const json_t *tree)
{
    struct hf_error err = {0};
    struct buf out = {0};
    bool eof = false;

    check_refusal(input_request_decode(tree, true, &out, &eof, &err), &err);
    buf_fini(&out);
}

/* The search is fed the text of the request itself, in two pieces. */
static void try_wait(const json_t *tree, const char *text, size_t len)
{
    struct hf_error err = {0};
    struct scan_match m;
    struct wait_request ask;
    struct scan *s;
    int rc = wait_request_decode(tree, &ask, &err);

    check_refusal(rc, &err);
    if (rc < 0)
        return;
    s = scan_new(&ask, 10, 'x', &err);
    check(s != NULL || err.code == HF_E_bad_regex);
    if (s == NULL)
        return;
    len = len < 512 ? len : 512;
    if (scan_feed(s, text, len / 2, &m) || scan_feed(s, text + len / 2, len - len / 2, &m) ||
        scan_at_end(s, false, &m))
        check(m.index < ask.count && m.start <= m.end && m.end <= 10 + len);
    scan_free(s);
}

static void try_session(const json_t *tree)
{
    struct hf_error err = {0};
    struct session_request create;
    struct session_run_request run;
    int rc = session_request_decode(&create, tree, &err);

    check_refusal(rc, &err);
    session_request_fini(&create);
    err = (struct hf_error){0};
    rc = session_run_request_decode(&run, tree, &err);
    check_refusal(rc, &err);
    check(rc < 0 || run.spec.command[0] != '\0');
    session_run_request_fini(&run);
}

static void try_control(const char *text, size_t len)
{
    struct hf_error err = {0};
    struct control c;
    int rc = control_decode(text, len, &c, &err);

    check_refusal(rc, &err);
    if (rc == 0 && c.type == CONTROL_RESIZE)
        check(c.rows >= 1 && c.rows <= TERMINAL_SIZE_MAX && c.cols >= 1);
    if (rc == 0 && c.type == CONTROL_SIGNAL)
        check(c.signum >= 1 && c.signum <= SIGRTMAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_t *tree = json_parse(text, size, NULL);

    try_control(text, size);
    if (tree == NULL)
        return 0;
    try_spawn(tree, false);
    try_spawn(tree, true);
    try_patch(tree);
    try_input(tree);
    try_link(tree);
    try_session(tree);
    try_wait(tree, text, size);
    json_decref(tree);
    return 0;
}
