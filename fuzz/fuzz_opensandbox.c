/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_opensandbox.c - every decoder of the OpenSandbox dialect
 *
 * Lines must come out the same however the bytes are cut, and hold all of them but their ends.
 * Whatever a body or a frame is taken for obeys the ranges that the engine relies on.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/common/machine_load.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env_file.h"
#include "dialects/opensandbox/osb_expand_path.h"
#include "dialects/opensandbox/osb_frame.h"
#include "dialects/opensandbox/osb_lines.h"
#include "dialects/opensandbox/osb_prelude.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

struct told {
    struct buf text;
    struct lines *lines;
};

static void put_line(void *arg, const char *text, size_t len, bool more)
{
    struct told *t = arg;
    bool lf = memchr(text, '\n', len) != NULL, cr = memchr(text, '\r', len) != NULL;

    check(len > 0 && len < LIMIT_OSB_TEXT_BYTES + 6);
    check(!cr && (!lf || (len <= 1 + (size_t)t->lines->wide_blanks && !more)));
    buf_put(&t->text, text, len);
    if (!more)
        buf_putc(&t->text, '\0');
}

static void cut(struct told *t, const char *text, size_t len, size_t chunk)
{
    for (size_t i = 0; i < len; i += chunk)
        osb_lines_feed(t->lines, text + i, chunk < len - i ? chunk : len - i, put_line, t);
    osb_lines_end(t->lines, put_line, t);
    check(!osb_lines_holds(t->lines));
    osb_lines_fini(t->lines);
}

static void try_lines(const char *text, size_t len, bool wide_blanks)
{
    struct lines a = {.wide_blanks = wide_blanks}, b = a;
    struct told whole = {.lines = &a}, pieces = {.lines = &b};

    cut(&whole, text, len, len > 0 ? len : 1);
    cut(&pieces, text, len, 1 + (len > 0 ? (unsigned char)text[0] % 7 : 0));
    check(whole.text.len == pieces.text.len);
    check(whole.text.len == 0 ||
          memcmp(buf_data(&whole.text), buf_data(&pieces.text), whole.text.len) == 0);
    buf_fini(&whole.text);
    buf_fini(&pieces.text);
}

static const char *look_up(const char *name)
{
    return name[0] == 'H' ? "/home" : name[0] == 'L' ? "a-long-value-of-some-variable" : NULL;
}

static void try_path(const char *text)
{
    struct buf out = {0};
    struct hf_error err = {0};

    if (osb_expand(text, look_up, &out, &err) == 0)
        check(out.len < PATH_MAX && strlen(buf_cstr(&out)) == out.len);
    else
        check(err.code == HF_E_bad_value && err.detail[0] != '\0');
    buf_fini(&out);
}

static void try_env(const char *text, size_t len)
{
    struct buf out = {0};
    size_t count = osb_env_file_parse(text, len, look_up, &out), ends = 0;
    const char *at = buf_data(&out);

    for (size_t i = 0; i < out.len; i++) {
        if (ends % 2 == 0 && (i == 0 || at[i - 1] == '\0'))
            check(at[i] != '\0' && at[i] != '=' && at[i] != '#');
        ends += at[i] == '\0';
    }
    check(ends == 2 * count && (out.len == 0 || at[out.len - 1] == '\0'));
    buf_fini(&out);
}

static void try_frame(const char *text, size_t len)
{
    struct frame f;

    osb_frame_decode(&f, text, len);
    if (f.kind == FRAME_RESIZE)
        check((f.rows == 0) == (f.cols == 0) && f.rows >= 0 && f.rows <= TERMINAL_SIZE_MAX &&
              f.cols >= 0 && f.cols <= TERMINAL_SIZE_MAX);
    check(f.kind != FRAME_SIGNAL || f.signum > 0);
    check(f.kind != FRAME_STDIN || f.data != NULL);
    check(f.kind != FRAME_BAD || f.wrong != NULL);
    osb_frame_fini(&f);
}

static void try_bodies(const char *text, size_t len)
{
    json_auto_t *body = json_parse(text, len, NULL);
    struct hf_error err = {0};
    struct command_request c;
    struct osb_session_request s;

    if (!json_is_object(body))
        return;
    if (osb_command_request_decode(&c, body, &err) == 0)
        check(c.body.spec.command[0] != '\0' && c.body.spec.timeout_ms >= 0 &&
              (c.body.spec.cwd == NULL || c.body.spec.cwd[0] != '\0'));
    else
        check(err.detail[0] != '\0');
    osb_command_request_fini(&c);
    if (osb_session_request_decode(&s, body, true, &err) == 0)
        check(s.command[0] != '\0' && s.timeout >= 0);
    osb_session_request_fini(&s);
}

static void try_words(const char *text)
{
    struct machine_cpu l;
    struct machine_memory m;
    struct buf out = {0};

    if (machine_parse_cpu(text, &l))
        check(l.total > 0);
    if (machine_parse_memory(text, &m))
        check(m.available_kib <= m.total_kib);
    osb_prelude_wrap(&out, text);
    check(out.len >= strlen(text) && strlen(buf_cstr(&out)) == out.len);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    try_lines(text, size, false);
    try_lines(text, size, true);
    try_path(text);
    try_env(text, size);
    try_frame(text, size);
    try_bodies(text, size);
    try_words(text);
    free(text);
    return 0;
}
