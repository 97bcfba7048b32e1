/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_vercel.c - every body and frame of Vercel Sandbox's clients, and output as lines of JSON
 *
 * The same bytes go through all decoders. Whatever is taken must be in range, and whatever is
 * refused must name a code and a reason. As output they come out the same however they are cut, and
 * each line is JSON in ASCII.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/vercel/vc_decode.h"
#include "dialects/vercel/vc_lines.h"

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

static void check_spec(const struct spawn_spec *s, bool terminal)
{
    check(s->command != NULL && s->command[0] != '\0' && s->pty == terminal && !s->shell);
    check(s->arg_count <= LIMIT_ARGS && s->env_count <= LIMIT_ENV);
    check(s->timeout_ms >= 0 && s->timeout_ms <= LIMIT_DURATION_MS);
    check(s->rows >= 0 && s->rows <= TERMINAL_SIZE_MAX && (s->rows == 0) == (s->cols == 0));
    for (size_t i = 0; i < s->arg_count; i++)
        check(s->args[i] != NULL);
    for (size_t i = 0; i < s->env_count; i++)
        check(s->env[i].name[0] != '\0' && strchr(s->env[i].name, '=') == NULL);
}

/* --- bodies and frames --------------------------------------------------------------------- */

static void try_command(const json_t *tree)
{
    struct hf_error err = {0};
    struct vc_command c;
    int rc = vc_decode_command(&c, tree, NULL, &err);

    check_refusal(rc, &err);
    if (rc == 0)
        check_spec(&c.body.spec, false);
    vc_command_fini(&c);
}

static void try_rest(const json_t *tree)
{
    struct hf_error err = {0};
    struct vc_create create;
    char path[PATH_MAX];
    int64_t ms;
    int signum, rc;

    rc = vc_decode_create(&create, tree, &err);
    check_refusal(rc, &err);
    check(rc < 0 || create.name == NULL || vc_name_is_valid(create.name));
    err = (struct hf_error){0};
    rc = vc_decode_signal(tree, &signum, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (signum >= 1 && signum <= SIGRTMAX));
    err = (struct hf_error){0};
    rc = vc_decode_duration(tree, &ms, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (ms >= 0 && ms <= LIMIT_DURATION_MS));
    err = (struct hf_error){0};
    rc = vc_decode_path(tree, "/", path, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (path[0] == '/' && strlen(path) < PATH_MAX));
}

static void try_frame(const char *text, size_t len)
{
    struct hf_error err = {0};
    struct vc_frame f;
    int rc = vc_decode_frame(&f, text, len, NULL, &err);

    check_refusal(rc, &err);
    if (rc == 0 && f.kind == VC_FRAME_START)
        check_spec(&f.start.body.spec, true);
    else if (rc == 0)
        check(f.rows >= 1 && f.rows <= TERMINAL_SIZE_MAX && f.cols >= 1);
    vc_frame_fini(&f);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Adds the text of each line to that of its stream. */
static void read_lines(const struct buf *lines, struct buf text[2])
{
    const char *at = buf_data(lines);
    size_t left = lines->len;

    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t n = (size_t)(end - at);
        json_auto_t *line = json_loadb(at, n, JSON_ALLOW_NUL, NULL);
        const char *stream = json_string_value(json_object_get(line, "stream"));
        const json_t *data = json_object_get(line, "data");

        check(end != NULL && stream != NULL && json_string_length(data) > 0);
        for (size_t i = 0; i < n; i++)
            check((unsigned char)at[i] < 0x80);
        buf_put(&text[strcmp(stream, "stderr") == 0], json_string_value(data),
                json_string_length(data));
        at = end + 1;
        left -= n + 1;
    }
}

static void write_lines(const char *bytes, size_t len, size_t piece, struct buf text[2])
{
    struct vc_lines l = {0};
    struct buf lines = {0};
    size_t n;

    for (size_t at = 0; at < len; at += n) {
        n = len - at < piece ? len - at : piece;
        vc_lines_put(&l, false, bytes + at, n, &lines);
        vc_lines_put(&l, true, bytes + at, n, &lines);
    }
    vc_lines_end(&l, &lines);
    read_lines(&lines, text);
    buf_fini(&lines);
}

static void try_lines(const char *bytes, size_t len)
{
    struct buf whole[2] = {0}, cut[2] = {0};

    write_lines(bytes, len, len + 1, whole);
    write_lines(bytes, len, 1 + len % 5, cut);
    for (int i = 0; i < 2; i++) {
        check(whole[i].len == cut[i].len && whole[i].len == whole[0].len);
        check(whole[i].len == 0 || memcmp(buf_data(&whole[i]), buf_data(&cut[i]), cut[i].len) == 0);
    }
    for (int i = 0; i < 2; i++) {
        buf_fini(&whole[i]);
        buf_fini(&cut[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hf_error err = {0};
    json_t *tree = json_parse((const char *)data, size, &err);

    if (tree != NULL && json_is_object(tree)) {
        try_command(tree);
        try_rest(tree);
    }
    json_decref(tree);
    try_frame((const char *)data, size);
    try_lines((const char *)data, size);
    return 0;
}
