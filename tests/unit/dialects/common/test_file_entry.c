/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"

/* The lines in what arrives in pieces of this size, each in brackets. */
static const char *lines_of(const char *text, size_t len, size_t piece)
{
    static struct buf out;
    struct file_lines l = {0};

    buf_fini(&out);
    for (size_t at = 0; at < len; at += piece) {
        const char *from = text + at, *line;
        size_t left = len - at < piece ? len - at : piece, n;

        while ((line = file_lines_next(&l, &from, &left, &n)) != NULL)
            buf_printf(&out, "[%.*s]", (int)n, line);
        EXPECT_INT(left, 0);
    }
    file_lines_fini(&l);
    return len > 0 ? buf_cstr(&out) : NULL;
}

TEST(lines_are_the_same_however_they_arrive)
{
    static const char text[] = "one\n\nthree\nrest";

    for (size_t piece = 1; piece < sizeof text; piece++)
        EXPECT_STR(lines_of(text, sizeof text - 1, piece), "[one][][three]");
    lines_of("", 0, 1); /* frees */
}

TEST(an_entry_has_what_its_line_says)
{
    static const char line[] =
        "{\"name\":\"n\",\"path\":\"/n\",\"type\":\"dir\",\"kind\":\"symlink\",\"size\":4,"
        "\"mode\":420,\"uid\":1,\"gid\":2,\"created\":true,\"unknown\":[1]}";
    struct file_entry e;

    EXPECT(file_entry_decode(&e, line, sizeof line - 1));
    EXPECT_STR(e.path, "/n");
    EXPECT_STR(e.kind, "symlink");
    EXPECT(file_entry_is_directory(&e));
    EXPECT(e.created && !e.partial && e.target == NULL);
    EXPECT_INT(e.mode, 0644);
    EXPECT_INT(e.length, -1);
    file_entry_fini(&e);
}

TEST(what_a_helper_that_was_tampered_with_writes_is_refused)
{
    static const char *const lines[] = {
        "",
        "[]",
        "{",
        "{\"mode\":4096}",
        "{\"length\":-1}",
        "{\"path\":1}",
        "{\"path\":\"a\\u0000b\"}",
    };
    struct file_entry e;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        EXPECT(!file_entry_decode(&e, lines[i], strlen(lines[i])));
}

TEST(a_failure_has_its_errno_its_code_and_its_sentence)
{
    static const char text[] = "ENOSPC /a b: No space left on device\nmore";
    struct file_fault f;

    file_fault_decode(&f, text, sizeof text - 1);
    EXPECT_INT(f.errnum, ENOSPC);
    EXPECT_INT(f.err.code, HF_E_disk_full);
    EXPECT_STR(f.text, "/a b: No space left on device");
    file_fault_decode(&f, "EDQUOT x", 8);
    EXPECT_INT(f.err.code, HF_E_quota_exceeded);
    file_fault_decode(&f, "ENOENTX y", 9);
    EXPECT_INT(f.errnum, 0);
    EXPECT_INT(f.err.code, HF_E_file_failed);
    file_fault_decode(&f, NULL, 0);
    EXPECT_INT(f.errnum, 0);
    EXPECT_STR(f.text, "");
    EXPECT_STR(f.err.detail, "the file operation ended without a result");
}
