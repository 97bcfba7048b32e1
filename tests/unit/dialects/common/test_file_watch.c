/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file_watch.c - the lines of the process that watches are checked, and written again as read
 */
#include "dialects/common/file_watch.h"

#include "test.h"

static bool decodes(const char *text)
{
    json_auto_t *line = json_parse(text, strlen(text), NULL);
    struct file_report r;

    REQUIRE(line != NULL);
    return file_report_decode(line, &r);
}

TEST(each_kind_of_report_is_written_as_it_was_read)
{
    static const char *const lines[] = {
        "{\"type\":\"ready\",\"directories\":3,\"unwatched\":1}",
        "{\"type\":\"create\",\"path\":\"a\",\"dir\":true}",
        "{\"type\":\"write\",\"path\":\"a\",\"path_base64\":\"YQ==\",\"dir\":false}",
        "{\"type\":\"rename\",\"path\":\"a\",\"from\":\"b\",\"from_base64\":\"Yg==\",\"dir\":false}",
        "{\"type\":\"chmod\",\"path\":\".\",\"dir\":true,\"entry\":{\"name\":\"x\"}}",
        "{\"type\":\"remove\",\"path\":\"a\",\"dir\":false}",
        "{\"type\":\"unwatched\",\"path\":\"a\",\"errno\":\"EACCES\"}",
        "{\"type\":\"overflow\"}",
        "{\"type\":\"end\",\"reason\":\"removed\"}",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_auto_t *line = json_parse(lines[i], strlen(lines[i]), NULL);
        hf_autobuf struct buf text = {0};
        struct file_report r;
        struct json_out o;

        REQUIRE(line != NULL && file_report_decode(line, &r));
        json_out_init(&o, &text);
        file_report_write(&o, &r);
        json_close(&o, '}');
        EXPECT_STR(buf_cstr(&text), lines[i]);
    }
}

TEST(what_the_watching_process_cannot_have_written_is_refused)
{
    static const char *const lines[] = {
        "[]",
        "{}",
        "{\"type\":1}",
        "{\"type\":\"other\"}",
        "{\"type\":\"create\",\"dir\":true}",
        "{\"type\":\"create\",\"path\":\"a\",\"from\":\"b\"}",
        "{\"type\":\"create\",\"path\":\"a\\u0000b\"}",
        "{\"type\":\"create\",\"path\":\"a\",\"more\":1}",
        "{\"type\":\"create\",\"path\":\"a\",\"dir\":1}",
        "{\"type\":\"chmod\",\"path\":\"a\",\"entry\":[]}",
        "{\"type\":\"rename\",\"path\":\"a\"}",
        "{\"type\":\"ready\",\"directories\":-1}",
        "{\"type\":\"overflow\",\"path\":\"a\"}",
        "{\"type\":\"end\"}",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        EXPECT(!decodes(lines[i]));
    EXPECT(decodes("{\"type\":\"overflow\"}"));
}
