/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spdy.c - SPDY/3.1, whole and in pieces, right and wrong. Blocks of headers are deflated here as Go does it.
 */
#include "dialects/kubernetes/kubernetes_limits.h"
#include "dialects/kubernetes/spdy.h"
#include "test.h"

#include <errno.h>
#include <zlib.h>

/* --- a client ------------------------------------------------------------------------------ */

static void put32(struct buf *b, uint32_t v)
{
    char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};

    buf_put(b, bytes, 4);
}

static void put_text(struct buf *b, const char *text)
{
    put32(b, (uint32_t)strlen(text));
    buf_puts(b, text);
}

/* Deflated without a dictionary: the decoder must take what any client makes. */
static void put_deflated(struct buf *out, z_stream *z, const struct buf *plain)
{
    char room[65536];

    z->next_in = (Bytef *)buf_data(plain);
    z->avail_in = (uInt)plain->len;
    z->next_out = (Bytef *)room;
    z->avail_out = sizeof room;
    EXPECT_INT(deflate(z, Z_SYNC_FLUSH), Z_OK);
    buf_put(out, room, sizeof room - z->avail_out);
}

static void put_syn(struct buf *out, z_stream *z, uint32_t id, const char *const *pairs)
{
    struct buf plain = {0}, body = {0};
    uint32_t n = 0;

    while (pairs[2 * n] != NULL)
        n++;
    put32(&plain, n);
    for (uint32_t i = 0; i < 2 * n; i++)
        put_text(&plain, pairs[i]);
    put32(&body, id);
    put32(&body, 0);
    buf_put(&body, "\0\0", 2);
    put_deflated(&body, z, &plain);
    put32(out, 0x80030001);
    put32(out, (uint32_t)body.len);
    buf_put(out, buf_data(&body), body.len);
    buf_fini(&plain);
    buf_fini(&body);
}

static void put_data(struct buf *out, uint32_t id, const char *text, bool fin)
{
    char head[SPDY_DATA_HEADER];

    spdy_data_header(head, id, strlen(text), fin);
    buf_put(out, head, sizeof head);
    buf_puts(out, text);
}

/* --- what it is taken for ---------------------------------------------------------------------- */

struct seen {
    struct buf text;
    size_t room;
};

static void on_syn(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct seen *s = arg;
    const char *type = spdy_header(h, "streamtype"), *port = spdy_header(h, "port");

    buf_printf(&s->text, "syn %u %s %s;", id, type != NULL ? type : "-", port != NULL ? port : "-");
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct seen *s = arg;
    size_t n = len < s->room ? len : s->room;

    buf_printf(&s->text, "%u:%.*s", id, (int)n, bytes);
    buf_puts(&s->text, fin && n == len ? "!;" : ";");
    return n;
}

static void on_rst(void *arg, uint32_t id)
{
    buf_printf(&((struct seen *)arg)->text, "rst %u;", id);
}

static void on_ping(void *arg, uint32_t id)
{
    buf_printf(&((struct seen *)arg)->text, "ping %u;", id);
}

static void on_goaway(void *arg)
{
    buf_puts(&((struct seen *)arg)->text, "goaway;");
}

static const struct spdy_ops ops = {on_syn, on_data, on_rst, on_ping, on_goaway};

static const char *const error_stream[] = {"streamtype", "error", "port", "80", NULL};
static const char *const data_stream[] = {"streamtype", "data", "port", "80",
                                          "requestid",  "0",    NULL};
static const char *const no_headers[] = {NULL};

static void put_conversation(struct buf *out)
{
    z_stream z = {0};

    deflateInit(&z, 9);
    put_syn(out, &z, 1, error_stream);
    put_syn(out, &z, 3, data_stream);
    put_syn(out, &z, 5, no_headers);
    put_data(out, 3, "hello", false);
    put_data(out, 3, "", true);
    spdy_put_ping(out, 7);
    spdy_put_rst(out, 3, 5);
    put32(out, 0x80030004); /* SETTINGS: passed over */
    put32(out, 4);
    put32(out, 0);
    put32(out, 0x80030007);
    put32(out, 8);
    put32(out, 0);
    put32(out, 0);
    deflateEnd(&z);
}

TEST(a_conversation_is_understood)
{
    struct spdy *spdy = spdy_new();
    struct seen s = {.room = 100};
    struct buf in = {0};

    put_conversation(&in);
    EXPECT_INT(spdy_feed(spdy, buf_data(&in), in.len, &ops, &s), (int64_t)in.len);
    EXPECT_STR(buf_cstr(&s.text), "syn 1 error 80;syn 3 data 80;syn 5 - -;3:hello;3:!;ping 7;"
                                  "rst 3;goaway;");
    buf_fini(&in);
    buf_fini(&s.text);
    spdy_free(spdy);
}

TEST(and_byte_by_byte_the_same)
{
    struct spdy *spdy = spdy_new();
    struct seen s = {.room = 100};
    struct buf in = {0};

    put_conversation(&in);
    for (size_t i = 0; i < in.len; i++)
        EXPECT_INT(spdy_feed(spdy, buf_data(&in) + i, 1, &ops, &s), 1);
    EXPECT_STR(buf_cstr(&s.text), "syn 1 error 80;syn 3 data 80;syn 5 - -;3:h;3:e;3:l;3:l;3:o;"
                                  "3:!;ping 7;rst 3;goaway;");
    buf_fini(&in);
    buf_fini(&s.text);
    spdy_free(spdy);
}

/* FIN belongs to the last byte: it is not told before that was taken. */
TEST(data_that_is_not_taken_comes_again)
{
    struct spdy *spdy = spdy_new();
    struct seen s = {.room = 2};
    struct buf in = {0};

    put_data(&in, 3, "abc", true);
    put_data(&in, 5, "x", false);
    EXPECT_INT(spdy_feed(spdy, buf_data(&in), in.len, &ops, &s), 10);
    s.room = 0;
    EXPECT_INT(spdy_feed(spdy, buf_data(&in) + 10, in.len - 10, &ops, &s), 0);
    s.room = 9;
    EXPECT_INT(spdy_feed(spdy, buf_data(&in) + 10, in.len - 10, &ops, &s), (int64_t)in.len - 10);
    EXPECT_STR(buf_cstr(&s.text), "3:ab;3:;3:c!;5:x;");
    buf_fini(&in);
    buf_fini(&s.text);
    spdy_free(spdy);
}

/* Two streams whose headers were deflated with the dictionary: most of their bytes are its. */
static const char with_dictionary[] =
    "\x80\x03\x00\x01\x00\x00\x00\x37\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x78\xf9"
    "\xe3\xc6\xa7\xc2\x02\x25\x3a\x70\x3a\x2b\x29\x4a\x4d\xcc\x85\x16\x25\xac\xa9\xa0"
    "\x80\x86\x14\xcb\x45\xa0\x24\xcc\x64\x61\x80\x23\xb5\x2b\x12\x4c\x24\x00\x00\x00"
    "\x00\xff\xff\x80\x03\x00\x01\x00\x00\x00\x1a\x00\x00\x00\x03\x00\x00\x00\x00\x00"
    "\x00\x02\x69\xc7\xb0\x01\x54\x58\x25\xa2\x5a\x00\x00\x00\x00\xff\xff";

TEST(the_dictionary_is_that_of_spdy_3)
{
    struct spdy *spdy = spdy_new();
    struct seen s = {.room = 100};

    EXPECT_INT(spdy_feed(spdy, with_dictionary, sizeof with_dictionary - 1, &ops, &s),
               (int)sizeof with_dictionary - 1);
    EXPECT_STR(buf_cstr(&s.text), "syn 1 error 80;syn 3 data 80;");
    buf_fini(&s.text);
    spdy_free(spdy);
}

/* --- what is wrong ------------------------------------------------------------------------------- */

static void refuse(const char *bytes, size_t len)
{
    struct spdy *spdy = spdy_new();
    struct seen s = {.room = 100};

    EXPECT_INT(spdy_feed(spdy, bytes, len, &ops, &s), -EPROTO);
    EXPECT_U64(s.text.len, 0);
    buf_fini(&s.text);
    spdy_free(spdy);
}

TEST(what_is_not_spdy_3_is_refused)
{
    refuse("\x80\x02\0\1\0\0\0\4\0\0\0\1", 12); /* another version */
    refuse("\x80\x03\0\1\0\0\0\4\0\0\0\1", 12); /* too short for a stream */
    refuse("\x80\x03\0\2\0\0\0\4\0\0\0\1", 12); /* a reply to nothing */
    refuse("\x80\x03\0\3\0\0\0\4\0\0\0\1", 12); /* half a reset */
    refuse("\x80\x03\0\6\0\0\0\2\0\0", 10);     /* half a ping */
    refuse("\x80\x03\0\1\0\xff\xff\xff", 8);    /* longer than we hold */
    refuse("\x80\x03\0\1\0\0\0\x0e\0\0\0\1\0\0\0\0\0\0zlib", 22);
}

static void refuse_headers(const struct buf *plain)
{
    struct buf in = {0}, body = {0};
    z_stream z = {0};

    deflateInit(&z, 9);
    buf_put(&body, "\0\0\0\1\0\0\0\0\0\0", 10);
    put_deflated(&body, &z, plain);
    put32(&in, 0x80030001);
    put32(&in, (uint32_t)body.len);
    buf_put(&in, buf_data(&body), body.len);
    refuse(buf_data(&in), in.len);
    deflateEnd(&z);
    buf_fini(&in);
    buf_fini(&body);
}

TEST(blocks_of_headers_that_lie_are_refused)
{
    struct buf plain = {0};

    put32(&plain, 1); /* one header, and there is none */
    refuse_headers(&plain);
    put32(&plain, 0xffffffff); /* a name of 4 GiB */
    refuse_headers(&plain);
    buf_clear(&plain);
    put32(&plain, LIMIT_KUBE_HEADERS + 1);
    refuse_headers(&plain);
    buf_clear(&plain);
    put32(&plain, 0); /* a few bytes that inflate to more than we hold */
    for (int i = 0; i < LIMIT_KUBE_HEADERS_BYTES; i++)
        buf_putc(&plain, 'a');
    refuse_headers(&plain);
    buf_fini(&plain);
}

/* --- the other direction -------------------------------------------------------------------------- */

/* Replies are deflated by hand. A real inflater with the real dictionary must get a count of zero from each. */
TEST(replies_have_no_headers_as_zlib_sees_it)
{
    struct buf out = {0};
    z_stream z = {0};
    char room[64];

    spdy_put_reply(&out, 1, true);
    spdy_put_reply(&out, 3, false);
    EXPECT_U64(out.len, 12 + 6 + 14 + 12 + 14);
    inflateInit(&z);
    z.next_in = (Bytef *)buf_data(&out) + 12;
    z.avail_in = 20;
    z.next_out = (Bytef *)room;
    z.avail_out = sizeof room;
    EXPECT_INT(inflate(&z, Z_SYNC_FLUSH), Z_NEED_DICT);
    EXPECT_U64(z.adler, 0xe3c6a7c2); /* the checksum of SPDY/3's dictionary */
    inflateEnd(&z);
    inflateInit2(&z, -15); /* without the head: the rest is plain deflate */
    z.next_in = (Bytef *)buf_data(&out) + 18;
    z.avail_in = 14;
    z.next_out = (Bytef *)room;
    z.avail_out = sizeof room;
    EXPECT_INT(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    z.next_in = (Bytef *)buf_data(&out) + 12 + 20 + 12;
    z.avail_in = 14;
    EXPECT_INT(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    EXPECT_U64(z.total_out, 8);
    EXPECT(memcmp(room, "\0\0\0\0\0\0\0\0", 8) == 0);
    inflateEnd(&z);
    buf_fini(&out);
}
