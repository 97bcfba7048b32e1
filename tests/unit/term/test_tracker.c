/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "term/tracker.h"

struct rig {
    struct tracker_head head;
    struct tracker_room room;
    struct tracker t;
    struct query asked[32];
    size_t asked_count;
};

static struct rig rig;

static void rig_start(uint64_t ring)
{
    memset(&rig, 0, sizeof rig);
    tracker_start(&rig.head);
    tracker_init(&rig.t, &rig.head, &rig.room, ring);
}

static void on_query(void *arg, const struct query *q, const struct modes *m)
{
    (void)arg, (void)m;
    if (rig.asked_count < 32)
        rig.asked[rig.asked_count++] = *q;
}

static void feed(const char *text)
{
    tracker_feed(&rig.t, text, strlen(text), 24, on_query, NULL);
}

static bool on(uint32_t flag)
{
    return modes_on(&tracker_state(&rig.t)->modes, flag);
}

TEST(tracker_knows_the_modes_that_were_set)
{
    rig_start(65536);
    feed(
        "text\x1b[?1;25;2004h\x1b[?25l\x1b=\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[2;9r\x1b[5 q\x0e\x1b)0");
    EXPECT(on(MODE_APP_CURSOR) && on(MODE_PASTE) && on(MODE_APP_KEYPAD) && on(MODE_ALT_SCREEN));
    EXPECT(!on(MODE_CURSOR));
    EXPECT_INT(tracker_state(&rig.t)->modes.mouse, MOUSE_ANY);
    EXPECT_INT(tracker_state(&rig.t)->modes.mouse_coding, MOUSE_SGR);
    EXPECT_INT(tracker_state(&rig.t)->modes.top[1], 1);
    EXPECT_INT(tracker_state(&rig.t)->modes.bottom[1], 8);
    EXPECT_INT(tracker_state(&rig.t)->modes.cursor_style, 5);
    EXPECT_INT(tracker_state(&rig.t)->modes.charset_now, '0');
    feed("\x1b"
         "c");
    EXPECT(!on(MODE_APP_CURSOR) && !on(MODE_ALT_SCREEN) && on(MODE_AUTOWRAP));
}

/* A sequence may be cut anywhere: the state goes on over every border. */
TEST(tracker_reads_the_same_however_the_bytes_are_cut)
{
    static const char all[] =
        "a\x1b[?2004h\x1b]2;title\x1b\\\x1b[6nb\x1b]11;?\x07\x1b[?1000;1006h\x1bP+q544e\x1b\\";
    size_t cut, len = sizeof all - 1;

    for (cut = 0; cut <= len; cut++) {
        rig_start(65536);
        tracker_feed(&rig.t, all, cut, 24, on_query, NULL);
        tracker_feed(&rig.t, all + cut, len - cut, 24, on_query, NULL);
        EXPECT_U64(tracker_at(&rig.t), len);
        EXPECT(on(MODE_PASTE));
        EXPECT_INT(tracker_state(&rig.t)->modes.mouse, MOUSE_CLICKS);
        EXPECT_U64(rig.asked_count, 3);
        EXPECT_INT(rig.asked[0].kind, QUERY_CURSOR);
        EXPECT_INT(rig.asked[1].kind, QUERY_COLOUR);
        EXPECT_INT(rig.asked[1].number, 11);
        EXPECT_INT(rig.asked[2].kind, QUERY_OTHER);
    }
}

/* Killed in the middle of a feed: what counted before still does, and is fed again. */
TEST(tracker_counts_a_feed_all_at_once)
{
    struct tracker_head before;

    rig_start(65536);
    feed("\x1b[?1h");
    before = rig.head;
    feed("\x1b[?2004h\x1b[?1l");
    rig.head.which = before.which;
    EXPECT(on(MODE_APP_CURSOR) && !on(MODE_PASTE));
    EXPECT_U64(tracker_at(&rig.t), 5);
    feed("\x1b[?2004h\x1b[?1l");
    EXPECT(!on(MODE_APP_CURSOR) && on(MODE_PASTE));
}

TEST(tracker_has_a_checkpoint_near_the_oldest_byte)
{
    char text[1000];
    struct tracker_checkpoint c;
    int i;

    rig_start(16000);
    memset(text, 'x', sizeof text);
    EXPECT(!tracker_checkpoint(&rig.t, 0, &c));
    feed("\x1b[?1049h");
    for (i = 0; i < 100; i++)
        tracker_feed(&rig.t, text, sizeof text, 24, NULL, NULL);
    EXPECT(tracker_checkpoint(&rig.t, tracker_at(&rig.t) - 16000, &c));
    EXPECT(c.vt.at >= tracker_at(&rig.t) - 16000 && c.vt.at < tracker_at(&rig.t) - 13000);
    EXPECT(modes_on(&c.modes, MODE_ALT_SCREEN));
    EXPECT(!tracker_checkpoint(&rig.t, tracker_at(&rig.t) + 1, &c));
}

/* What a viewer gets instead has as many bytes, so offsets mean the same. */
static void blanked(const char *in, const char *want)
{
    struct query_filter f;
    struct buf out = {0};
    size_t len = strlen(in), i;
    bool changed;

    query_filter_start(&f, 100);
    changed = query_filter_run(&f, in, len, true, &out);
    EXPECT_INT(changed, strcmp(in, want) != 0);
    for (i = 0; changed && i < len; i++)
        if (buf_data(&out)[i] == '\0')
            buf_data(&out)[i] = '_';
    EXPECT_MEM(changed ? buf_data(&out) : in, len, want, strlen(want));
    buf_fini(&out);
}

TEST(query_filter_blanks_what_terminals_answer_and_nothing_else)
{
    blanked("plain \x1b[31mred", "plain \x1b[31mred");
    blanked("a\x1b[cb\x1b[6nc", "a___b____c");
    blanked("\x1b[>c\x1b[=c\x1b[>q\x1b[?25$p\x1b[4$px", "________________________x");
    blanked("\x1b]10;?\x07x\x1b]4;1;?\x1b\\y", "_______x_______\x1b\\y");
    blanked("\x1b]2;what?\x07\x1b]0;?\x07", "\x1b]2;what?\x07\x1b]0;?\x07");
    blanked("\x1b]52;c;?\x07\x1b]52;c;aGk=\x07", "_________\x1b]52;c;aGk=\x07");
    blanked("\x1bP$qm\x1b\\\x1bZ\x05.", "_____\x1b\\__\x05.");
    blanked("\x1b[18t\x1b[8;24;80t", "_____\x1b[8;24;80t");
    /* An ST of one character ends a string; a CSI of one breaks it off, so it must not be made to count. */
    blanked("\x1bP$qm\xc2\x9cx", "_______x");
    blanked("\x1b]21;?\xc2\x9b"
            "cx",
            "\x1b]21;?\x18__x");
}

static void cut_everywhere(const char *all)
{
    size_t cut, len = strlen(all);

    for (cut = 0; cut <= len; cut++) {
        struct query_filter f;
        struct buf out = {0}, whole = {0};

        query_filter_start(&f, 0);
        if (query_filter_run(&f, all, cut, true, &out))
            buf_put(&whole, buf_data(&out), out.len);
        else
            buf_put(&whole, all, cut);
        if (query_filter_run(&f, all + cut, len - cut, true, &out))
            buf_put(&whole, buf_data(&out), out.len);
        else
            buf_put(&whole, all + cut, len - cut);
        EXPECT_U64(whole.len, len);
        /* Read by a tracker it asks nothing, and nothing is left open. */
        rig_start(65536);
        tracker_feed(&rig.t, buf_data(&whole), whole.len, 24, on_query, NULL);
        EXPECT_U64(rig.asked_count, 0);
        EXPECT(!vt_is_open(&tracker_state(&rig.t)->vt));
        buf_fini(&out);
        buf_fini(&whole);
    }
}

TEST(query_filter_ends_a_query_whose_beginning_was_sent)
{
    cut_everywhere("x\x1b]11;?\x07y\x1b[6nz");
    cut_everywhere("x\x1bP$qm\xc2\x9cz");
    cut_everywhere("x\x1b]21;?\xc2\x9b"
                   "cz");
}

TEST(what_a_terminal_says_by_itself_is_not_typed)
{
    static const char *const answers[] = {"\x1b[0n",
                                          "\x1b[?1;2c",
                                          "\x1b[24;80R",
                                          "\x1b[?25;1$y",
                                          "\x1b]11;rgb:0000/0000/0000\x07",
                                          "\x1bP1$r0m\x1b\\"};
    static const char *const keys[] = {"y",        "\x1b",   "\x1b[A", "\x1bOP",
                                       "\x1b[15~", "\x1b[c", "\x1b[",  "\x1b[200~text\x1b[201~"};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        EXPECT(query_is_reply(answers[i], strlen(answers[i])));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        EXPECT(!query_is_reply(keys[i], strlen(keys[i])));
}
