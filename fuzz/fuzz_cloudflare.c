/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_cloudflare.c - messages of the multiplex, control of terminals, words for a shell, text in
 * pieces, kinds of files, patterns
 *
 * The first byte says where text is cut in pieces; the rest is tried as each of them. What is
 * refused has a code and a reason, a quoted word reads back as itself, and pieces of text together
 * are the text, each of them valid where the whole is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialects/cloudflare/cf_glob.h"
#include "dialects/cloudflare/cf_mime.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "dialects/common/whole_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void try_mux(const char *text, size_t len)
{
    struct cf_mux_frame f;
    const char *code = NULL;
    const char *wrong = cf_mux_decode(&f, text, len, &code);

    check(wrong == NULL || (wrong[0] != '\0' && code != NULL));
    check(f.id == NULL || (f.id[0] != '\0' && strlen(f.id) <= LIMIT_CF_CALL_ID_BYTES));
    check(wrong != NULL || (f.id != NULL && (f.cancel || (f.method != NULL && f.path != NULL))));
    cf_mux_frame_fini(&f);
}

static void try_control(const char *text, size_t len)
{
    int64_t cols, rows;
    enum cf_control c = cf_control_decode(text, len, &cols, &rows);

    check(c != CF_CONTROL_RESIZE || (cols > 0 && rows > 0));
}

/* What a shell would make of a quoted word. */
static void try_quote(const char *text)
{
    struct buf out = {0}, back = {0};
    bool inside = false;

    buf_put_quoted(&out, text);
    for (const char *p = buf_cstr(&out); *p != '\0'; p++) {
        if (*p == '\'')
            inside = !inside;
        else if (!inside)
            check(*p == '\\' && *++p == '\''), buf_putc(&back, '\'');
        else
            buf_putc(&back, *p);
    }
    check(!inside && strcmp(buf_cstr(&back), text) == 0);
    buf_fini(&out);
    buf_fini(&back);
}

static void try_wrap(const char *text, size_t len)
{
    struct hf_error err;
    json_auto_t *tree = json_parse(text, len, &err);
    const char *name;
    json_t *value;
    struct buf out = {0};
    bool fine = json_is_object(tree);

    json_object_foreach (tree, name, value)
        fine = fine && cf_is_name(name) && json_is_string(value);
    (void)cf_is_argv(tree);
    if (fine)
        cf_wrap_command(&out, "true", "/", tree);
    buf_fini(&out);
}

static void try_text(const char *text, size_t len, size_t piece)
{
    struct whole_text t = {0};
    struct buf out = {0};
    bool valid = utf8_is_valid(text, len);

    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece, before = out.len;

        whole_text_feed(&t, false, text + at, n, &out);
        check(out.len >= before);
        check(!valid || utf8_is_valid(buf_data(&out) + before, out.len - before));
    }
    whole_text_end(&t, false, &out);
    check(out.len == len && (len == 0 || memcmp(buf_data(&out), text, len) == 0));
    buf_fini(&out);
}

/* The same bytes are a file's beginning, and its name. What is valid is text whatever its name. */
static void try_kind(const char *text, size_t len)
{
    const char *type = cf_mime_type("/x", text, len), *named = cf_mime_type(text, text, len);

    check(type[0] != '\0' && strchr(named, '/') != NULL);
    check(!cf_mime_is_text("text/plain", text, len) || strcmp(type, "inode/x-empty") == 0 ||
          memchr(text, '\0', len) != NULL || strcmp(type, "text/plain") == 0);
    check(!utf8_is_valid(text, len) || cf_mime_is_text("text/plain", text, len));
}

/* The first line is a pattern, the rest a path. A pattern without stars matches itself, ** all. */
static void try_glob(char *text)
{
    char *path = strchr(text, '\n');

    if (path != NULL)
        *path++ = '\0';
    (void)cf_glob_matches(text, path != NULL ? path : text);
    check(!cf_glob_is_valid(text) || cf_glob_matches(text, text));
    check(cf_glob_matches("**", text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    text = malloc(size);
    check(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    try_mux(text, size - 1);
    try_control(text, size - 1);
    try_quote(text);
    try_wrap(text, size - 1);
    try_text(text, size - 1, data[0] % 7 + 1);
    try_kind(text, size - 1);
    try_glob(text);
    free(text);
    return 0;
}
