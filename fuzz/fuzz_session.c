/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_session.c - what a session's shell reports, and output on its way into Markdown
 *
 * A report is written anew from what was understood and must be the same. Of
 * Markdown, no line inside a block may look like its fence, and all of it is text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/session_markdown.h"
#include "engine/session/session_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void try_report(const char *text, size_t len)
{
    struct session_report m, again;
    struct buf out = {0};

    if (!session_report_parse(text, len, &m))
        return;
    check(m.status >= 0 && m.status <= 255);
    buf_printf(&out, "%llu %d ", (unsigned long long)m.number, m.status);
    buf_put(&out, m.job, m.job_len);
    buf_putc(&out, ' ');
    buf_put(&out, m.cwd, m.cwd_len);
    check(session_report_parse(buf_data(&out), out.len, &again));
    check(again.number == m.number && again.status == m.status && again.job_len == m.job_len &&
          again.cwd_len == m.cwd_len);
    buf_fini(&out);
}

static void try_markdown(const char *text, size_t len)
{
    struct session_text head = {text, len / 2}, tail = {text + len / 2, len - len / 2};
    struct buf out = {0};
    const char *p, *fence;
    size_t ticks, run;

    markdown_put_block(&out, "text", head, tail, len % 3);
    check(utf8_is_valid(buf_data(&out), out.len));
    p = buf_cstr(&out);
    check(strlen(p) == out.len);
    ticks = strspn(p, "`");
    check(ticks >= 3);
    fence = p + out.len - 1 - ticks;
    check(strncmp(fence, p, ticks) == 0 && fence[-1] == '\n');
    for (p += ticks; p < fence; p += run == 0 ? 1 : run) {
        run = strspn(p, "`");
        check(run < ticks);
    }
    buf_fini(&out);
}

static void try_encode(const char *text, size_t len)
{
    struct buf out = {0};
    size_t lines = 0;

    if (memchr(text, '\0', len) == NULL)
        session_script_encode(&out, 1, text, len / 2, text + len / 2, len - len / 2);
    for (size_t i = 0; i < out.len; i++)
        lines += buf_data(&out)[i] == '\n';
    check(out.len == 0 || lines == 3);
    buf_fini(&out);
}

/* One line that ends with a dot, so that no end of it is a number; nothing in it but ASCII. */
static void try_typing(const char *text, size_t len)
{
    struct buf out = {0};

    session_script_encode_typing(&out, text, len);
    check(out.len >= 3 && out.len <= len * SESSION_TYPE_FACTOR + 3);
    check(memcmp(buf_data(&out) + out.len - 2, ".\n", 2) == 0);
    for (size_t i = 0; i + 1 < out.len; i++)
        check(buf_data(&out)[i] >= ' ' && buf_data(&out)[i] < 0x7f);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "";

    try_report(text, size);
    try_markdown(text, size);
    try_encode(text, size);
    try_typing(text, size);
    return 0;
}
