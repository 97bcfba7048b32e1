/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ws_codec.c - RFC 6455 frames to pieces of messages
 */
#include "transport/ws_codec.h"

#include "test.h"

#include "base/buf.h"

/* --- a client's frames ----------------------------------------------------------------------- */

static void put_frame(struct buf *b, int first, const char *payload, size_t len)
{
    static const unsigned char mask[4] = {0xde, 0xad, 0xbe, 0xef};
    int size = len < 126 ? 0 : len <= 0xffff ? 2 : 8;

    buf_putc(b, (char)first);
    buf_putc(b, (char)(0x80 | (size == 0 ? (int)len : size == 2 ? 126 : 127)));
    for (int i = size - 1; i >= 0; i--)
        buf_putc(b, (char)((uint64_t)len >> (8 * i)));
    buf_put(b, mask, 4);
    for (size_t i = 0; i < len; i++)
        buf_putc(b, (char)(payload[i] ^ mask[i % 4]));
}

/* --- what a decoder says, as text --------------------------------------------------------------- */

struct reader {
    struct ws_decoder d;
    struct buf kept;  /* not consumed yet */
    struct buf story; /* one line per message or control frame */
    struct buf message;
    size_t refuse; /* hand back this much of every piece, once */
    bool handed_back, failed;
};

static void note_data(struct reader *r, const struct ws_piece *p, size_t len, bool last)
{
    buf_put(&r->message, p->bytes, len);
    if (!last)
        return;
    buf_printf(&r->story, "%s%s(%s)\n", p->opcode == WS_OP_TEXT ? "text" : "binary",
               p->deflated ? "*" : "", buf_cstr(&r->message));
    buf_clear(&r->message);
}

static size_t on_piece(struct reader *r, const struct ws_piece *p)
{
    size_t back = r->handed_back || r->refuse > p->len ? 0 : r->refuse;

    if (back > 0) {
        note_data(r, p, p->len - back, false);
        ws_decode_untake(&r->d, p, back);
        r->handed_back = true;
        return back;
    }
    r->handed_back = false;
    note_data(r, p, p->len, p->last);
    return 0;
}

/* Feeds len more bytes, keeping what is not consumed, as a connection does. */
static void feed(struct reader *r, const char *bytes, size_t len)
{
    buf_put(&r->kept, bytes, len);
    while (!r->failed) {
        struct ws_piece p;
        size_t used;

        switch (ws_decode(&r->d, buf_data(&r->kept), r->kept.len, &used, &p)) {
        case WS_EV_MORE:
            buf_drop(&r->kept, used);
            EXPECT(r->kept.len < WS_KEEP_MAX);
            return;
        case WS_EV_DATA: used -= on_piece(r, &p); break;
        case WS_EV_CONTROL:
            buf_printf(&r->story, "control %d(%.*s)\n", p.opcode, (int)p.len, p.bytes);
            break;
        case WS_EV_ERROR:
            buf_printf(&r->story, "error %d\n", p.code);
            r->failed = true;
            return;
        }
        buf_drop(&r->kept, used);
    }
}

static void reader_fini(struct reader *r)
{
    buf_fini(&r->kept);
    buf_fini(&r->story);
    buf_fini(&r->message);
}

/* --- tests ---------------------------------------------------------------------------------------- */

static void conversation(struct buf *b)
{
    char big[70000];

    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + i % 26);
    put_frame(b, 0x81, "hello", 5);
    put_frame(b, 0x01, "frag", 4);
    put_frame(b, 0x89, "ping", 4);
    put_frame(b, 0x00, "", 0);
    put_frame(b, 0x8a, "", 0);
    put_frame(b, 0x80, "ment", 4);
    put_frame(b, 0x82, "", 0);
    put_frame(b, 0x82, big, 200);
    put_frame(b, 0x88, "\x03\xe8", 2);
}

/* The network may cut anywhere: what the decoder says must not depend on it. */
TEST(every_cut_tells_the_same_story)
{
    struct buf b = {0};
    struct reader whole = {0};

    conversation(&b);
    feed(&whole, buf_data(&b), b.len);
    EXPECT(
        strncmp(buf_cstr(&whole.story),
                "text(hello)\ncontrol 9(ping)\ncontrol 10()\ntext(fragment)\nbinary()\nbinary(abc",
                75) == 0);
    for (size_t cut = 0; cut <= b.len; cut++) {
        struct reader r = {0};

        feed(&r, buf_data(&b), cut);
        feed(&r, buf_data(&b) + cut, b.len - cut);
        EXPECT_MEM(buf_data(&r.story), r.story.len, buf_data(&whole.story), whole.story.len);
        reader_fini(&r);
    }
    for (size_t step = 1; step < 20; step++) {
        struct reader r = {0};

        for (size_t at = 0; at < b.len; at += step)
            feed(&r, buf_data(&b) + at, b.len - at < step ? b.len - at : step);
        EXPECT_MEM(buf_data(&r.story), r.story.len, buf_data(&whole.story), whole.story.len);
        reader_fini(&r);
    }
    reader_fini(&whole);
    buf_fini(&b);
}

/* A reader that takes only a part gets the rest again, unmasked once and not twice. */
TEST(what_is_not_taken_comes_again)
{
    struct buf b = {0};
    struct reader whole = {0};

    conversation(&b);
    feed(&whole, buf_data(&b), b.len);
    for (size_t refuse = 1; refuse <= 200; refuse++) {
        struct reader r = {.refuse = refuse};

        feed(&r, buf_data(&b), b.len);
        EXPECT_MEM(buf_data(&r.story), r.story.len, buf_data(&whole.story), whole.story.len);
        reader_fini(&r);
        r = (struct reader){.refuse = refuse};
        for (size_t at = 0; at < b.len; at += 7)
            feed(&r, buf_data(&b) + at, b.len - at < 7 ? b.len - at : 7);
        EXPECT_MEM(buf_data(&r.story), r.story.len, buf_data(&whole.story), whole.story.len);
        reader_fini(&r);
    }
    reader_fini(&whole);
    buf_fini(&b);
}

TEST(lengths_of_all_three_forms_are_read)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 70000};
    char *payload = malloc(70000);

    memset(payload, 'x', 70000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ws_decoder d = {0};
        struct ws_piece p;
        struct buf b = {0};
        size_t used;

        put_frame(&b, 0x82, payload, sizes[i]);
        EXPECT_INT(ws_decode(&d, buf_data(&b), b.len, &used, &p), WS_EV_DATA);
        EXPECT_U64(used, b.len);
        EXPECT_MEM(p.bytes, p.len, payload, sizes[i]);
        EXPECT(p.first && p.last);
        buf_fini(&b);
    }
    free(payload);
}

static int code_of(const char *bytes, size_t len, bool may_deflate)
{
    struct ws_decoder d = {.frame_max = 1000, .may_deflate = may_deflate};
    char copy[64];
    struct ws_piece p;
    size_t used, at = 0;

    memcpy(copy, bytes, len);
    for (;;) {
        switch (ws_decode(&d, copy + at, len - at, &used, &p)) {
        case WS_EV_MORE: return 0;
        case WS_EV_ERROR: return p.code;
        default: at += used;
        }
    }
}
#define CODE(bytes, deflate) code_of((bytes), sizeof(bytes) - 1, (deflate))
#define M "\1\2\3\4"

TEST(wrong_frames_have_a_close_code)
{
    EXPECT_INT(CODE("\x81\x01x", false), 1002);
    EXPECT_INT(CODE("\xc1\x80" M, false), 1002);
    EXPECT_INT(CODE("\xc1\x80" M, true), 0);
    EXPECT_INT(CODE("\xa1\x80" M, true), 1002);
    EXPECT_INT(CODE("\x91\x80" M, true), 1002);
    EXPECT_INT(CODE("\xc9\x80" M, true), 1002);              /* a compressed ping */
    EXPECT_INT(CODE("\x41\x80" M "\xc0\x80" M, true), 1002); /* RSV1 on a continuation */
    EXPECT_INT(CODE("\x41\x80" M "\x80\x80" M, true), 0);
    for (int opcode = 3; opcode < 16; opcode++) {
        char frame[] = {(char)(0x80 | opcode), (char)0x80, 1, 2, 3, 4};

        EXPECT_INT(code_of(frame, sizeof frame, false), opcode >= 8 && opcode <= 10 ? 0 : 1002);
    }
    EXPECT_INT(CODE("\x80\x80" M, false), 1002);
    EXPECT_INT(CODE("\x01\x80" M "\x81\x80" M, false), 1002);
    EXPECT_INT(CODE("\x01\x80" M "\x82\x80" M, false), 1002);
    EXPECT_INT(CODE("\x08\x80" M, false), 1002);
    EXPECT_INT(CODE("\x89\xfe\x00\x7e" M, false), 1002);
    EXPECT_INT(CODE("\x82\xfe\x00\x7d" M, false), 1002);
    EXPECT_INT(CODE("\x82\xff\0\0\0\0\0\0\xff\xff" M, false), 1002);
    EXPECT_INT(CODE("\x82\xff\x80\0\0\0\0\0\0\0" M, false), 1002);
    EXPECT_INT(CODE("\x82\xfe\x03\xe8" M, false), 0);
    EXPECT_INT(CODE("\x82\xfe\x03\xe9" M, false), 1009);
}

TEST(frame_headers_are_written_in_their_shortest_form)
{
    char out[WS_SEND_HEADER_MAX];

    EXPECT_BYTES(out, ws_encode_header(out, WS_OP_TEXT, true, false, 0), "\x81\x00");
    EXPECT_BYTES(out, ws_encode_header(out, WS_OP_BINARY, true, false, 125), "\x82\x7d");
    EXPECT_BYTES(out, ws_encode_header(out, WS_OP_BINARY, true, true, 126), "\xc2\x7e\x00\x7e");
    EXPECT_BYTES(out, ws_encode_header(out, WS_OP_BINARY, false, false, 65535), "\x02\x7e\xff\xff");
    EXPECT_BYTES(out, ws_encode_header(out, WS_OP_BINARY, true, false, 65536),
                 "\x82\x7f\0\0\0\0\0\x01\0\0");
}

TEST(close_codes_are_checked)
{
    static const struct {
        int code;
        bool ok;
    } rows[] = {{0, false},    {999, false},  {1000, true},  {1001, true},  {1003, true},
                {1004, false}, {1005, false}, {1006, false}, {1007, true},  {1011, true},
                {1014, true},  {1015, false}, {1016, false}, {2999, false}, {3000, true},
                {4404, true},  {4999, true},  {5000, false}, {65535, false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char payload[2] = {(char)(rows[i].code >> 8), (char)rows[i].code};

        EXPECT_INT(ws_close_code(payload, 2), rows[i].ok ? rows[i].code : -WS_CODE_PROTOCOL);
    }
    EXPECT_INT(ws_close_code("", 0), WS_CODE_NONE);
    EXPECT_INT(ws_close_code("\x03", 1), -WS_CODE_PROTOCOL);
    EXPECT_INT(ws_close_code("\x03\xe8why", 5), 1000);
    EXPECT_INT(ws_close_code("\x03\xe8\xff", 3), -WS_CODE_TEXT);
}
