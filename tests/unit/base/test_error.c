/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_error.c - one reason for a failure
 */
#include "base/error.h"

#include <errno.h>

#include "base/text.h"
#include "dialects/common/error_row.h"
#include "test.h"

TEST(a_failure_carries_code_status_and_sentence)
{
    struct hf_error e;

    memset(&e, 0xff, sizeof e);
    EXPECT_INT(hf_fail(&e, HF_E_tag_in_use, "tag \"%s\" is in use", "web"), -EEXIST);
    EXPECT_INT(e.code, HF_E_tag_in_use);
    EXPECT_STR(e.detail, "tag \"web\" is in use");
    EXPECT_STR(e.field, "");
    EXPECT_STR(e.path, "");
    EXPECT(e.limit == NULL && e.errno_name == NULL && e.allow == NULL);
    EXPECT_STR(hf_code_name(e.code), "tag_in_use");
    EXPECT_STR(hf_code_title(e.code), "Tag is in use");
    EXPECT_INT(hf_code_status(e.code), 409);
}

TEST(a_failure_may_name_the_field)
{
    struct hf_error e;

    EXPECT_INT(hf_fail_field(&e, HF_E_bad_type, "rows", "must be a number"), -EINVAL);
    EXPECT_STR(e.field, "rows");
    EXPECT_STR(e.detail, "must be a number");
}

TEST(nobody_needs_to_listen)
{
    EXPECT_INT(hf_fail(NULL, HF_E_no_such_process, "%d", 1), -ESRCH);
    EXPECT_INT(hf_fail_field(NULL, HF_E_bad_type, "x", "%d", 1), -EINVAL);
}

/* Cut in the middle of a character, the sentence was no UTF-8 any more. */
TEST(a_long_sentence_is_cut_at_a_character)
{
    char text[1000] = "x";
    struct hf_error e;

    for (size_t i = 1; i + 4 <= sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 4);
    hf_fail_field(&e, HF_E_bad_value, text, "%s", text);
    EXPECT(strlen(e.detail) > 300 && utf8_is_valid(e.detail, strlen(e.detail)));
    EXPECT(strlen(e.field) > 50 && utf8_is_valid(e.field, strlen(e.field)));
}

TEST(every_code_has_a_name_a_title_and_a_status)
{
    for (int i = 1; i < HF_CODE_COUNT; i++) {
        EXPECT(hf_code_status(i) >= 400 && hf_code_status(i) < 600);
        EXPECT(strlen(hf_code_name(i)) > 0 && strlen(hf_code_title(i)) > 0);
        EXPECT(hf_fail(NULL, i, "x") < 0);
    }
}

TEST(errno_has_a_name)
{
    EXPECT_STR(hf_errno_name(ENOENT), "ENOENT");
    EXPECT_STR(hf_errno_name(-EACCES), "EACCES");
    EXPECT_STR(hf_errno_name(0), "E?");
    EXPECT_STR(hf_errno_name(99999), "E?");
}

TEST(a_platforms_words_are_found_by_code_then_by_status_then_by_class)
{
    static const struct error_row rows[] = {
        {HF_E_not_found, 0, "none", "None", NULL, "no"},
        {HF_E_bad_type, 422, "type", NULL, "wrong: ", NULL},
        {HF_OK, 404, "missing", NULL, NULL, NULL},
        {HF_OK, 4, "yours", "Yours", NULL, NULL},
    };
    struct error_row row = ERROR_ROW(rows, HF_E_not_found);

    EXPECT_INT(row.status, 404);
    EXPECT_STR(row.word, "none");
    EXPECT_STR(row.text, "no");
    EXPECT_STR(row.prefix, "");
    row = ERROR_ROW(rows, HF_E_bad_type);
    EXPECT_INT(row.status, 422);
    EXPECT_STR(row.prefix, "wrong: ");
    EXPECT_STR(row.title, hf_code_title(HF_E_bad_type));
    EXPECT_STR(ERROR_ROW(rows, HF_E_no_such_process).word, "missing");
    row = ERROR_ROW(rows, HF_E_lease_held);
    EXPECT_INT(row.status, 409);
    EXPECT_STR(row.title, "Yours");
    row = ERROR_ROW(rows, HF_E_internal);
    EXPECT_INT(row.status, 500);
    EXPECT_STR(row.word, "internal");
}
