/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jupyter.c - names and frames of Jupyter's terminals
 */
#include "dialects/jupyter/jupyter.h"

#include <string.h>

#include "test.h"

TEST(a_name_is_a_word)
{
    char many[102];

    memset(many, 'n', sizeof many);
    many[101] = '\0';
    EXPECT(jupyter_name_is_valid("1"));
    EXPECT(jupyter_name_is_valid("my_Term2"));
    EXPECT(!jupyter_name_is_valid(""));
    EXPECT(!jupyter_name_is_valid("pid:1"));
    EXPECT(!jupyter_name_is_valid("a b"));
    EXPECT(!jupyter_name_is_valid("\xc3\xa4"));
    EXPECT(!jupyter_name_is_valid(many));
    EXPECT(jupyter_name_is_valid(many + 1));
}

TEST(frames_are_arrays_that_begin_with_their_kind)
{
    static const struct {
        const char *text;
        int rc; /* 0 or -1 */
        enum jupyter_frame_kind kind;
    } rows[] = {
        {"[\"stdin\",\"ls\\r\"]", 0, JUPYTER_FRAME_STDIN},
        {"[\"stdin\",\"\"]", 0, JUPYTER_FRAME_STDIN},
        {"[\"stdin\"]", -1, JUPYTER_FRAME_OTHER},
        {"[\"stdin\",7]", -1, JUPYTER_FRAME_OTHER},
        {"[\"set_size\",30,100,600,800]", 0, JUPYTER_FRAME_SIZE},
        {"[\"set_size\",null,null,0,0]", 0, JUPYTER_FRAME_OTHER},
        {"[\"set_size\",30]", 0, JUPYTER_FRAME_OTHER},
        {"[\"set_size\",1.5,2]", 0, JUPYTER_FRAME_OTHER},
        {"[\"setup\",{}]", 0, JUPYTER_FRAME_OTHER},
        {"[\"dance\"]", 0, JUPYTER_FRAME_OTHER},
        {"[]", -1, JUPYTER_FRAME_OTHER},
        {"{}", -1, JUPYTER_FRAME_OTHER},
        {"[7]", -1, JUPYTER_FRAME_OTHER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *tree = json_parse(rows[i].text, strlen(rows[i].text), NULL);
        struct hf_error err = {0};
        struct jupyter_frame f;

        EXPECT((jupyter_decode_frame(&f, tree, &err) < 0) == (rows[i].rc < 0));
        EXPECT((err.code == HF_E_bad_type) == (rows[i].rc < 0));
        EXPECT_INT(f.kind, rows[i].kind);
    }
}

/* NUL is Ctrl-@, and a size that no terminal has is for the engine to refuse. */
TEST(input_may_contain_any_character)
{
    static const char text[] = "[\"stdin\",\"a\\u0000\\u00e4\"]";
    static const char size[] = "[\"set_size\",-1,99999999999]";
    json_auto_t *tree = json_parse(text, sizeof text - 1, NULL);
    json_auto_t *other = json_parse(size, sizeof size - 1, NULL);
    struct jupyter_frame f;

    EXPECT_INT(jupyter_decode_frame(&f, tree, NULL), 0);
    EXPECT(f.len == 4 && memcmp(f.text, "a\0\xc3\xa4", 4) == 0);
    EXPECT_INT(jupyter_decode_frame(&f, other, NULL), 0);
    EXPECT(f.rows == -1 && f.cols == 99999999999);
}
