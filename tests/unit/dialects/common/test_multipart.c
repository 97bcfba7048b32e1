/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "dialects/common/multipart.h"

#define TYPE "multipart/form-data; boundary=b"

/* What a form says, in one line: "name/filename=data; …", then END, CUT or ERROR. Static memory. */
static const char *said(const char *type, const char *body, size_t piece)
{
    static struct buf out;
    struct multipart m;
    size_t len = strlen(body), at = 0, used;
    enum multipart_event e = MULTIPART_MORE;
    const char *end = "CUT";

    buf_fini(&out);
    if (!multipart_init(&m, type))
        return "NONE";
    while (at < len && e != MULTIPART_ERROR) {
        size_t n = len - at < piece ? len - at : piece;

        e = multipart_feed(&m, body + at, n, &used);
        at += used;
        if (e == MULTIPART_PART)
            buf_printf(&out, "%s/%s=", m.name, m.filename);
        else if (e == MULTIPART_DATA)
            buf_put(&out, m.data, m.data_len);
        else if (e == MULTIPART_PART_END)
            buf_puts(&out, "; ");
        else if (e == MULTIPART_DONE)
            end = "END";
        else if (e == MULTIPART_ERROR)
            end = "ERROR";
    }
    buf_puts(&out, end);
    return buf_cstr(&out);
}

static void expect_said(const char *body, const char *want)
{
    size_t pieces[] = {1, 2, 3, 7, 64, 100000};

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        EXPECT_STR(said(TYPE, body, pieces[i]), want);
}

#define PART(name) "Content-Disposition: form-data; name=\"" name "\"\r\n"

TEST(parts_come_out_whole_however_the_body_is_cut)
{
    expect_said("--b\r\n" PART("a") "\r\none\r\n--b\r\nX: y\r\n" PART(
                    "b\"; filename=\"/x/y z") "\r\n\r\n--b--\r\nepilogue",
                "a/=one; b//x/y z=; END");
    expect_said("preamble\r\n--b \t\r\n" PART("a") "\r\n\r\n--b--", "a/=; END");
    expect_said("--b--", "END");
    expect_said("--b\r\n\r\nno headers\r\n--b--", "/=no headers; END");
}

TEST(what_looks_like_a_boundary_is_data)
{
    expect_said("--b\r\n" PART("a") "\r\n\r\n--\r\r\n-\r\n--c\r\n--b--",
                "a/=\r\n--\r\r\n-\r\n--c; END");
}

TEST(names_may_be_quoted_escaped_or_bare)
{
    expect_said("--b\r\ncontent-disposition: form-data; filename=x; name=n\r\n\r\n\r\n--b--",
                "n/x=; END");
    expect_said("--b\r\n" PART("a\"; filename=\"a\\\"b%22c%0D") "\r\n\r\n--b--",
                "a/a\"b\"c\r=; END");
}

TEST(what_is_no_form_is_refused)
{
    EXPECT_STR(said("text/plain", "", 1), "NONE");
    EXPECT_STR(said("multipart/form-data", "", 1), "NONE");
    EXPECT_STR(said("multipart/form-data; boundary=", "", 1), "NONE");
    EXPECT_STR(said(NULL, "", 1), "NONE");
    EXPECT_STR(said("multipart/form-data; boundary=\"b\"", "--b--", 1), "END");
    expect_said("--bx\r\n", "ERROR");
    expect_said("--b\r\nContent-Disposition: form-data\r\n\r\n", "ERROR");
    expect_said("--b\r\n" PART("a") "\r\ncut", "a/=cutCUT");
    expect_said("nothing of the kind", "CUT");
}

TEST(headers_without_end_are_refused)
{
    static char body[20000];

    memset(body, 'x', sizeof body - 1);
    memcpy(body, "--b\r\n", 5);
    EXPECT_STR(said(TYPE, body, 4096), "ERROR");
}
