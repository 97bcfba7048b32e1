/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker.c - bodies, filters, words and columns that Docker's clients send, and the form of a log
 *
 * The same bytes go through all of them. Whatever is taken must be in range, whatever is refused must
 * name a code and a reason, and a log must hold every byte whatever its frames are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/detach_keys.h"
#include "base/limits.h"
#include "dialects/docker/docker_archive_path.h"
#include "dialects/docker/docker_decode.h"
#include "dialects/docker/docker_filter.h"
#include "dialects/docker/docker_image.h"
#include "dialects/docker/docker_log_format.h"
#include "dialects/docker/docker_top_columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_config(json_t *config, const struct hf_error *err)
{
    struct hf_error too_large = {0};
    struct docker_spec s;

    check(config != NULL || (err->code != HF_OK && err->detail[0] != '\0'));
    if (config == NULL)
        return;
    if (docker_spec_init(&s, config, "box", &too_large) < 0) {
        check(too_large.code != HF_OK);
        docker_spec_fini(&s);
        json_decref(config);
        return;
    }
    check(s.body.spec.command != NULL && s.body.spec.metadata_json != NULL);
    check(s.body.spec.rows >= 0 && s.body.spec.rows <= TERMINAL_SIZE_MAX);
    for (size_t i = 0; i < s.body.spec.arg_count; i++)
        check(s.body.spec.args[i] != NULL);
    for (size_t i = 0; i < s.body.spec.env_count; i++)
        check(s.body.spec.env[i].name[0] != '\0' && strchr(s.body.spec.env[i].name, '=') == NULL);
    docker_spec_fini(&s);
    json_decref(config);
}

static void try_bodies(const char *text, size_t len)
{
    json_t *body = json_parse(text, len, NULL);
    struct hf_error err = {0};
    struct docker_start start;

    if (body == NULL)
        return;
    check_config(docker_decode_exec(body, &err), &err);
    err = (struct hf_error){0};
    check_config(docker_decode_create(body, "name", &err), &err);
    err = (struct hf_error){0};
    check(docker_decode_start(&start, body, &err) == 0 || err.code != HF_OK);
    json_decref(body);
}

static void try_path(const char *text)
{
    char path[4096], again[4096], name[NAME_MAX + 1];

    if (!docker_archive_path(text, path, sizeof path))
        return;
    check(path[0] == '/' && strstr(path, "//") == NULL && strstr(path, "/../") == NULL);
    check(docker_archive_path(path, again, sizeof again) && strcmp(path, again) == 0);
    docker_archive_name(path, name);
    check(name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, "..") != 0);
}

static void try_filters(const char *text, enum docker_filter_kind kind)
{
    static const struct docker_subject s = {.id = "0123abcd",
                                            .name = "name",
                                            .image = "img:latest",
                                            .status = "running",
                                            .action = "start",
                                            .exit_code = -1};
    struct hf_error err = {0};
    json_t *filters = docker_filter_parse(kind, text, &err);

    check(filters != NULL || err.code != HF_OK);
    if (filters != NULL)
        (void)docker_filter_fits(kind, filters, &s);
    json_decref(filters);
}

static void try_image(const char *text)
{
    char id[DOCKER_IMAGE_ID_BYTES];

    if (!docker_image_name_ok(text))
        return;
    check(strlen(text) <= DOCKER_IMAGE_BYTES);
    docker_image_id(text, id);
    check(strlen(id) == 71);
}

static void try_words(const char *text)
{
    struct hf_error err = {0};
    struct top_columns columns;
    struct detach_keys keys;
    struct top_row row = {0};
    int64_t ms = 0;
    int minor;

    check(top_columns_parse(&columns, text, &err) < 0 || columns.count > 0);
    check(docker_decode_keys(&keys, text, &err) < 0 || keys.count <= DETACH_KEYS_MAX);
    check(!docker_time(text, &ms) || ms >= 0);
    (void)docker_version(text, &minor);
    (void)docker_truth(text);
    for (int kind = 0; kind < DOCKER_FILTER_KINDS; kind++)
        try_filters(text, (enum docker_filter_kind)kind);
    try_image(text);
    check(!docker_name_ok(text) || strlen(text) <= LIMIT_TAG_BYTES);
    if (top_parse_stat(&row, text, 100, 1000000) && top_columns_parse(&columns, "aux", &err) == 0) {
        struct buf cell = {0};

        for (size_t i = 0; i < columns.count; i++)
            top_cell(&columns, i, &row, &cell);
        buf_fini(&cell);
    }
}

/* Frames that are taken apart again have the bytes that were put in. */
static void try_log(const uint8_t *data, size_t size)
{
    struct log_form f = {.framed = true};
    struct slice s = {.bytes = (const char *)data, .len = size, .stream = STREAM_STDOUT};
    struct buf out = {0};
    size_t at = 0, seen = 0;

    log_form_put(&f, &out, &s);
    while (at < out.len) {
        const uint8_t *h = (const uint8_t *)buf_data(&out) + at;
        size_t len = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];

        check(h[0] == 1 && at + DOCKER_FRAME_HEAD + len <= out.len);
        check(memcmp(h + DOCKER_FRAME_HEAD, data + seen, len) == 0);
        at += DOCKER_FRAME_HEAD + len;
        seen += len;
    }
    check(seen == size);
    f.timestamps = true;
    buf_clear(&out);
    log_form_put(&f, &out, &s);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    try_bodies(text, size);
    try_words(text);
    try_path(text);
    if (size > 0)
        try_log(data, size);
    free(text);
    return 0;
}
