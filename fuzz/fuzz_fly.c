/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fly.c - command lines, bodies, queries, frames and files of Fly's clients
 *
 * The same bytes go through all decoders. Whatever is taken must be in range, and whatever is refused
 * must name a code and a reason. A line that was split must be the same after its words were quoted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/fly/fly_decode.h"
#include "dialects/fly/fly_fs_decode.h"
#include "dialects/fly/fly_limits.h"
#include "dialects/fly/fly_ps.h"
#include "transport/url_query.h"

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

static void try_words(const char *text)
{
    struct fly_words a, b = {0};
    struct hf_error err = {0};
    struct buf line = {0};
    int rc = fly_words_split(&a, text, &err);

    check_refusal(rc, &err);
    if (rc == 0) {
        for (size_t i = 0; i < a.count; i++) {
            buf_put_quoted(&line, a.list[i]);
            buf_putc(&line, ' ');
        }
        check(fly_words_split(&b, buf_cstr(&line), &err) == 0 && a.count == b.count);
        for (size_t i = 0; i < a.count; i++)
            check(strcmp(a.list[i], b.list[i]) == 0);
    }
    fly_words_fini(&a);
    fly_words_fini(&b);
    buf_fini(&line);
}

static void check_spec(const struct spawn_spec *s)
{
    check(s->command != NULL);
    check(s->arg_count <= LIMIT_ARGS + LIMIT_URI_BYTES);
    check(s->timeout_ms >= 0 && s->timeout_ms <= LIMIT_DURATION_MS);
    check(s->detach_ms >= 0 && s->detach_ms <= LIMIT_DURATION_MS);
    check(s->rows >= 0 && s->rows <= TERMINAL_SIZE_MAX);
    for (size_t i = 0; i < s->arg_count; i++)
        check(s->args[i] != NULL);
}

static void try_exec(const char *text, size_t len)
{
    json_auto_t *tree = json_parse(text, len, NULL);
    struct hf_error err = {0};
    struct fly_request a;
    int rc;

    if (tree == NULL)
        return;
    rc = fly_decode_exec(&a, tree, &err);
    check_refusal(rc, &err);
    if (rc == 0) {
        check_spec(&a.spec);
        check(a.spec.timeout_ms > 0);
    }
    fly_request_fini(&a);
}

static void try_query(const char *text)
{
    struct hf_error err = {0};
    struct sprite_request a = {0};
    struct url_query q;
    int rc = 0;

    if (query_parse(&q, text, &err) < 0)
        return;
    for (size_t i = 0; rc == 0 && i < q.count; i++)
        rc = sprite_decode_pair(&a, q.list[i].name, q.list[i].value, &err);
    if (rc == 0)
        rc = sprite_decode_spec(&a, true, &err);
    check_refusal(rc, &err);
    if (rc == 0)
        check_spec(&a.spec);
    sprite_request_fini(&a);
    query_fini(&q);
}

static void try_rest(const char *text, size_t len)
{
    struct hf_error err = {0};
    struct sprite_control c;
    struct fly_stat stat;
    int64_t ms;
    int rc = sprite_decode_control(&c, text, len, &err);

    check_refusal(rc, &err);
    check(rc < 0 || c.signum > 0 || (c.rows > 0 && c.cols > 0));
    check(!fly_duration(text, &ms) || (ms >= 0 && ms <= LIMIT_DURATION_MS));
    (void)fly_stat_parse(text, &stat);
}

static void try_path(const struct fly_fs_request *f, const char *text)
{
    struct hf_error err = {0};
    char path[PATH_MAX];
    int rc = fly_fs_resolve(f, "path", text, path, &err);

    check_refusal(rc, &err);
    check(rc < 0 || path[0] == '/');
}

static void try_files(const char *text, size_t len)
{
    json_auto_t *tree = json_parse(text, len, NULL);
    char mode[FLY_FS_MODE_BYTES], owner[FLY_FS_OWNER_BYTES];
    struct fly_fs_request f = {0}, w = {0};
    struct hf_error err = {0};
    int rc = fly_fs_mode(text, mode, &err);

    check_refusal(rc, &err);
    check(rc < 0 || strspn(mode, "01234567") == strlen(mode));
    try_path(&f, text);
    if (!json_is_object(tree) || fly_fs_fields(&f, tree, &err) < 0)
        return;
    try_path(&f, f.path);
    try_path(&f, f.source);
    rc = fly_fs_owner(f.uid, "uid", owner, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (owner[0] == '\0') == (f.uid == NULL || json_is_null(f.uid)));
    rc = fly_fs_subscription(&w, tree, &err);
    check_refusal(rc, &err);
    check(rc < 0 ||
          (json_array_size(w.paths) > 0 && json_array_size(w.paths) <= LIMIT_FLY_WATCH_PATHS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    try_words(text);
    try_exec(text, size);
    try_query(text);
    try_rest(text, size);
    try_files(text, size);
    free(text);
    return 0;
}
