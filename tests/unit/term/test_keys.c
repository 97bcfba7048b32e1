/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keys.c - named keys give the bytes that xterm would send
 */
#include "term/keys.h"

#include <errno.h>

#include "test.h"

static void expect_key(const char *name, bool app_cursor, const char *want, size_t len)
{
    struct buf out = {0};
    int rc = keys_encode(&out, name, app_cursor);

    if (rc != 0 || out.len != len || memcmp(buf_data(&out), want, len) != 0) {
        test_failures++;
        fprintf(stderr, "%s: rc %d ", name, rc);
        test_print_bytes(buf_data(&out), out.len);
    }
    buf_fini(&out);
}

#define KEY(name, literal) expect_key(name, false, literal, sizeof(literal) - 1)
#define APP_KEY(name, literal) expect_key(name, true, literal, sizeof(literal) - 1)

TEST(plain_keys)
{
    KEY("Enter", "\r");
    KEY("Return", "\r");
    KEY("Tab", "\t");
    KEY("Esc", "\033");
    KEY("Escape", "\033");
    KEY("Space", " ");
    KEY("Backspace", "\x7f");
    KEY("Up", "\033[A");
    KEY("Down", "\033[B");
    KEY("Right", "\033[C");
    KEY("Left", "\033[D");
    KEY("Home", "\033[H");
    KEY("End", "\033[F");
    KEY("Insert", "\033[2~");
    KEY("Delete", "\033[3~");
    KEY("PageUp", "\033[5~");
    KEY("PageDown", "\033[6~");
    KEY("ArrowUp", "\033[A");
}

TEST(names_are_taken_in_any_case)
{
    KEY("ENTER", "\r");
    KEY("pageup", "\033[5~");
    KEY("ctrl-c", "\003");
    KEY("CTRL-ALT-LEFT", "\033[1;7D");
    KEY("f10", "\033[21~");
}

TEST(application_cursor_mode_changes_arrows_home_and_end)
{
    APP_KEY("Up", "\033OA");
    APP_KEY("Left", "\033OD");
    APP_KEY("Home", "\033OH");
    APP_KEY("End", "\033OF");
    APP_KEY("Shift-Up", "\033[1;2A");
    APP_KEY("PageUp", "\033[5~");
    APP_KEY("F1", "\033OP");
    APP_KEY("Enter", "\r");
}

/* As the terminfo entry xterm-256color has them, which is our TERM. */
TEST(function_keys)
{
    KEY("F1", "\033OP");
    KEY("F2", "\033OQ");
    KEY("F3", "\033OR");
    KEY("F4", "\033OS");
    KEY("F5", "\033[15~");
    KEY("F6", "\033[17~");
    KEY("F10", "\033[21~");
    KEY("F11", "\033[23~");
    KEY("F12", "\033[24~");
    KEY("F13", "\033[1;2P");
    KEY("F16", "\033[1;2S");
    KEY("F17", "\033[15;2~");
    KEY("F24", "\033[24;2~");
    KEY("Ctrl-F1", "\033[1;5P");
    KEY("Ctrl-F5", "\033[15;5~");
    KEY("Ctrl-F13", "\033[1;6P");
}

TEST(control_characters)
{
    char name[] = "Ctrl-A", byte;

    for (int i = 0; i < 26; i++) {
        byte = (char)(i + 1);
        name[5] = (char)('A' + i);
        expect_key(name, false, &byte, 1);
        name[5] = (char)('a' + i);
        expect_key(name, false, &byte, 1);
    }
    KEY("Ctrl-@", "\0");
    KEY("Ctrl-Space", "\0");
    KEY("Ctrl-[", "\033");
    KEY("Ctrl-\\", "\x1c");
    KEY("Ctrl-]", "\x1d");
    KEY("Ctrl-^", "\x1e");
    KEY("Ctrl-_", "\x1f");
    KEY("Ctrl-/", "\x1f");
    KEY("Ctrl-?", "\x7f");
    KEY("Ctrl-Shift-c", "\003");
    KEY("Ctrl-Backspace", "\b");
    KEY("Ctrl-Enter", "\r");
    KEY("Control-d", "\004");
    KEY("Ctrl+C", "\003");
}

TEST(alt_puts_an_escape_in_front_or_a_modifier_inside)
{
    KEY("Alt-x", "\033x");
    KEY("Alt-X", "\033X");
    KEY("Alt-Shift-x", "\033X");
    KEY("Alt-\xC3\xA9", "\033\xC3\xA9");
    KEY("Alt-Enter", "\033\r");
    KEY("Alt-Backspace", "\033\x7f");
    KEY("Alt-Esc", "\033\033");
    KEY("Alt-Left", "\033[1;3D");
    KEY("Alt-Delete", "\033[3;3~");
    KEY("Ctrl-Alt-x", "\033\x18");
    KEY("Alt-Ctrl-x", "\033\x18");
    KEY("Meta-x", "\033x");
    KEY("Alt--", "\033-");
    KEY("Alt-+", "\033+");
}

TEST(modifiers_of_cursor_keys_add_up)
{
    KEY("Shift-Up", "\033[1;2A");
    KEY("Ctrl-Left", "\033[1;5D");
    KEY("Ctrl-Shift-Right", "\033[1;6C");
    KEY("Ctrl-Alt-Shift-End", "\033[1;8F");
    KEY("Shift-PageUp", "\033[5;2~");
    KEY("Shift-Tab", "\033[Z");
    KEY("Alt-Shift-Tab", "\033\033[Z");
    KEY("Shift-a", "A");
    KEY("Shift-A", "A");
    KEY("Shift-Enter", "\r");
}

TEST(tmux_names)
{
    KEY("C-c", "\003");
    KEY("M-x", "\033x");
    KEY("S-Tab", "\033[Z");
    KEY("BTab", "\033[Z");
    KEY("C-M-x", "\033\x18");
    KEY("C-Space", "\0");
    KEY("BSpace", "\x7f");
    KEY("PPage", "\033[5~");
    KEY("NPage", "\033[6~");
    KEY("IC", "\033[2~");
    KEY("DC", "\033[3~");
}

TEST(a_single_character_is_itself)
{
    KEY("a", "a");
    KEY("Z", "Z");
    KEY("-", "-");
    KEY("+", "+");
    KEY(" ", " ");
    KEY("\n", "\n");
    KEY("\xE2\x82\xAC", "\xE2\x82\xAC");
    KEY("\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80");
}

TEST(what_is_no_key_is_refused_and_adds_nothing)
{
    static const char *bad[] = {"",
                                "Entr",
                                "F0",
                                "F25",
                                "Ctrl-",
                                "C-",
                                "Ctrl",
                                "ab",
                                "Ctrl-1",
                                "Ctrl-\xC3\xA9",
                                "Shift-1",
                                "Shift-\xC3\xA9",
                                "Ctrl-ab",
                                "Hyper-x",
                                "\xFF",
                                "\xC3",
                                "\xC3\xA9\xC3\xA9",
                                "Alt-",
                                "-x",
                                "Ctrl--",
                                "Ctrl-Ctrl-"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf out = {0};

        buf_puts(&out, "before");
        if (keys_encode(&out, bad[i], false) != -EINVAL) {
            test_failures++;
            fprintf(stderr, "%s was taken\n", bad[i]);
        }
        EXPECT_BYTES(buf_data(&out), out.len, "before");
        buf_fini(&out);
    }
}
