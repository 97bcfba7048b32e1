/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ws.c - frames through the decoder, whole, in pieces, and with pieces handed back
 *
 * Byte 0 says how the rest is cut, byte 1 how much of each piece is not taken at first.
 * Whatever these are, the same messages must come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "transport/deflate.h"
#include "transport/ws_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            abort();                                                                               \
    } while (0)

struct reader {
    struct ws_decoder d;
    struct buf kept, story;
    size_t refuse;
    uint8_t open; /* opcode of the message that is not complete */
    bool handed_back, failed;
};

static size_t on_piece(struct reader *r, const struct ws_piece *p)
{
    size_t back = r->handed_back || r->refuse > p->len ? 0 : r->refuse;

    CHECK(p->opcode == WS_OP_TEXT || p->opcode == WS_OP_BINARY);
    CHECK(r->open == 0 ? p->first : p->opcode == r->open);
    CHECK(!p->deflated || r->d.may_deflate);
    if (r->open == 0)
        buf_printf(&r->story, "[%d%s ", p->opcode, p->deflated ? "*" : "");
    r->open = p->opcode;
    buf_put(&r->story, p->bytes, p->len - back);
    if (back > 0) {
        ws_decode_untake(&r->d, p, back);
        r->handed_back = true;
        if (back == p->len && p->first) {
            r->open = 0; /* nothing of it was taken: it comes again as the first */
            r->story.len -= p->deflated ? 4 : 3;
        }
        return back;
    }
    r->handed_back = false;
    if (p->last) {
        buf_puts(&r->story, "]\n");
        r->open = 0;
    }
    return 0;
}

static void feed(struct reader *r, const char *bytes, size_t len)
{
    buf_put(&r->kept, bytes, len);
    while (!r->failed) {
        struct ws_piece p;
        size_t used;

        switch (ws_decode(&r->d, buf_data(&r->kept), r->kept.len, &used, &p)) {
        case WS_EV_MORE:
            buf_drop(&r->kept, used);
            CHECK(r->kept.len < WS_KEEP_MAX);
            return;
        case WS_EV_DATA:
            CHECK(used >= p.len && used <= r->kept.len);
            used -= on_piece(r, &p);
            break;
        case WS_EV_CONTROL:
            CHECK(p.len <= WS_CONTROL_MAX && p.opcode >= WS_OP_CLOSE);
            if (p.opcode == WS_OP_CLOSE)
                ws_close_code(p.bytes, p.len);
            break;
        case WS_EV_ERROR:
            CHECK(p.code == WS_CODE_PROTOCOL || p.code == WS_CODE_SIZE);
            r->failed = true;
            break;
        }
        buf_drop(&r->kept, used);
    }
}

static void run(struct reader *r, const char *bytes, size_t len, size_t step, bool deflate)
{
    r->d.frame_max = 1 << 20;
    r->d.may_deflate = deflate;
    for (size_t at = 0; at < len && !r->failed; at += step)
        feed(r, bytes + at, len - at < step ? len - at : step);
    buf_cstr(&r->story);
}

static void reader_fini(struct reader *r)
{
    buf_fini(&r->kept);
    buf_fini(&r->story);
}

/* Compressed data of a peer, with as little room as the step says. */
static void run_inflater(const char *bytes, size_t len, size_t room)
{
    struct inflater *i = inflater_new();
    char out[256];
    size_t used, made, at = 0, total = 0;

    CHECK(i != NULL && room <= sizeof out);
    do {
        if (inflater_run(i, bytes + at, len - at, true, &used, out, room, &made) < 0)
            break;
        CHECK(at + used <= len && made <= room);
        at += used;
        total += made;
    } while ((at < len || made == room) && total < 1 << 20);
    inflater_free(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader whole = {0}, pieces = {0}, slow = {0};
    const char *bytes = (const char *)data + 2;
    size_t step;
    bool deflate;

    if (size < 3)
        return 0;
    step = data[0] % 64 + 1;
    deflate = data[0] & 0x80;
    slow.refuse = data[1];
    run(&whole, bytes, size - 2, size, deflate);
    run(&pieces, bytes, size - 2, step, deflate);
    run(&slow, bytes, size - 2, size, deflate);
    CHECK(whole.failed == pieces.failed && whole.failed == slow.failed);
    CHECK(whole.story.len == pieces.story.len && whole.story.len == slow.story.len);
    CHECK(memcmp(whole.story.mem, pieces.story.mem, whole.story.len) == 0);
    CHECK(memcmp(whole.story.mem, slow.story.mem, whole.story.len) == 0);
    run_inflater(bytes, size - 2, step);
    reader_fini(&whole);
    reader_fini(&pieces);
    reader_fini(&slow);
    return 0;
}
