/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json.c - JSON out by our writer, JSON in with strict fields
 */
#include "base/json.h"

#include <errno.h>

#include "base/text.h"
#include "test.h"

#include "failing.h"

/* Wraps: malloc */
FAILING(void *, malloc, (size_t size), (size), 0)

struct pen {
    struct buf buf;
    struct json_out out;
};

static struct json_out *pen_init(struct pen *p)
{
    p->buf = (struct buf){0};
    json_out_init(&p->out, &p->buf);
    return &p->out;
}

TEST(commas_stand_where_they_must)
{
    struct pen p;
    struct json_out *o = pen_init(&p);

    json_open(o, '{');
    json_kstr(o, "a", "x");
    json_kopen(o, "list", '[');
    json_int(o, -1);
    json_u64(o, UINT64_MAX);
    json_open(o, '[');
    json_close(o, ']');
    json_open(o, '{');
    json_close(o, '}');
    json_close(o, ']');
    json_kint(o, "min", INT64_MIN);
    json_ku64(o, "zero", 0);
    json_kbool(o, "yes", true);
    json_kbool(o, "no", false);
    json_knull(o, "none");
    json_kstr(o, "absent", NULL);
    json_ktime(o, "at", 1767323045678);
    json_ktime(o, "never", 0);
    json_key(o, "raw");
    json_raw(o, "{}", 2);
    json_close(o, '}');
    EXPECT_STR(buf_cstr(&p.buf),
               "{\"a\":\"x\",\"list\":[-1,18446744073709551615,[],{}],"
               "\"min\":-9223372036854775808,\"zero\":0,\"yes\":true,\"no\":false,\"none\":null,"
               "\"absent\":null,\"at\":\"2026-01-02T03:04:05.678Z\",\"never\":null,\"raw\":{}}");
    buf_fini(&p.buf);
}

#define EXPECT_WRITTEN(bytes, want)                                                                \
    do {                                                                                           \
        struct pen pen_;                                                                           \
                                                                                                   \
        json_strn(pen_init(&pen_), (bytes), sizeof(bytes) - 1);                                    \
        EXPECT_STR(buf_cstr(&pen_.buf), want);                                                     \
        buf_fini(&pen_.buf);                                                                       \
    } while (0)

TEST(strings_are_escaped)
{
    EXPECT_WRITTEN("", "\"\"");
    EXPECT_WRITTEN("plain text of some length", "\"plain text of some length\"");
    EXPECT_WRITTEN("\"\\/\b\f\n\r\t", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    EXPECT_WRITTEN("\0\x1b[0m\x7f", "\"\\u0000\\u001b[0m\x7f\"");
    EXPECT_WRITTEN("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
                   "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

/* Clients in Python that split a stream of JSON into lines split it at these characters, too. */
TEST(no_line_end_of_unicode_stands_in_a_string)
{
    EXPECT_WRITTEN("a\xc2\x85"
                   "b\xe2\x80\xa8"
                   "c\xe2\x80\xa9",
                   "\"a\\u0085b\\u2028c\\u2029\"");
    EXPECT_WRITTEN("\xc2\x86\xe2\x80\xa7\xe2\x81\xa8", "\"\xc2\x86\xe2\x80\xa7\xe2\x81\xa8\"");
    EXPECT_WRITTEN("\v\f\x1c\x1d\x1e", "\"\\u000b\\f\\u001c\\u001d\\u001e\"");
}

TEST(each_byte_that_is_not_utf8_becomes_one_replacement)
{
    EXPECT_WRITTEN("\xff", "\"\xef\xbf\xbd\"");
    EXPECT_WRITTEN("a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
    EXPECT_WRITTEN("\xed\xa0\x80z", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
    EXPECT_WRITTEN("\xc3(", "\"\xef\xbf\xbd(\"");
}

/* The writer looks at eight bytes at a time: every byte at every place of a word. */
TEST(every_byte_at_every_place_reads_back)
{
    for (unsigned c = 0; c < 256; c++) {
        for (size_t at = 0; at < 17; at++) {
            struct pen p;
            struct hf_error e;
            char text[17];
            json_t *v;

            memset(text, 'x', sizeof text);
            text[at] = (char)c;
            json_strn(pen_init(&p), text, sizeof text);
            v = json_parse(buf_data(&p.buf), p.buf.len, &e);
            REQUIRE(v != NULL);
            if (c < 0x80)
                EXPECT_MEM(json_string_value(v), json_string_length(v), text, sizeof text);
            else
                EXPECT_U64(json_string_length(v), sizeof text + 2);
            json_decref(v);
            buf_fini(&p.buf);
        }
    }
}

/* A client that decodes each packet by itself breaks characters that are in two of them. */
TEST(json_can_be_written_again_in_ascii)
{
    static const char json[] = "{\"a\\n\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\xff\"}";
    struct buf b = {0};

    json_put_ascii(&b, json, sizeof json - 1);
    EXPECT_STR(buf_cstr(&b), "{\"a\\n\":\"\\u00e4\\u20ac\\ud83d\\ude00z\\ufffd\"}");
    buf_fini(&b);
}

TEST(a_tree_is_written_as_it_was_read)
{
    static const char text[] = "{\"a\":[1,-2,0.1,1e+300,true,false,null,\"\\u0000x\"],\"b\":{}}";
    struct hf_error e;
    struct pen p;
    json_t *v = json_parse(text, sizeof text - 1, &e);

    REQUIRE(v != NULL);
    json_value(pen_init(&p), v);
    EXPECT_STR(buf_cstr(&p.buf), text);
    json_decref(v);
    json_value(&p.out, NULL);
    buf_fini(&p.buf);
}

/* A whole real must stay one: 5.0 is not 5 for a reader that cares. */
TEST(reals_are_short_and_stay_reals)
{
    static const char text[] = "[5.0,-0.0,3.14,1e22,123456789012345680.0]";
    struct hf_error e;
    struct pen p;
    json_t *v = json_parse(text, sizeof text - 1, &e);

    REQUIRE(v != NULL);
    json_value(pen_init(&p), v);
    EXPECT_STR(buf_cstr(&p.buf), "[5.0,-0.0,3.14,1e+22,1.2345678901234568e+17]");
    json_decref(v);
    buf_fini(&p.buf);
}

static enum hf_code parse_code(const char *text, size_t len)
{
    struct hf_error e = {0};
    json_t *v = json_parse(text, len, &e);

    if (v != NULL)
        json_decref(v);
    else
        EXPECT(e.detail[0] != '\0');
    return e.code;
}

TEST(text_that_is_not_json_is_refused)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "{}x",
                                      "{\"a\":1,\"a\":2}",
                                      "[1,]",
                                      "nope",
                                      "'a'",
                                      "\"\xff\"",
                                      "\"\xed\xa0\x80\"",
                                      "01",
                                      "[\"\n\"]",
                                      "{\"a\" 1}",
                                      "{\"\\u0000\":1}"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_STR(hf_code_name(parse_code(bad[i], strlen(bad[i]))), "bad_json");
    EXPECT_INT(parse_code("{}\0", 3), HF_E_bad_json);
    EXPECT_INT(parse_code(" {} \n", 5), HF_OK);
    EXPECT_INT(parse_code("99999999999999999999", 20), HF_E_bad_json);
    EXPECT_INT(parse_code("1e999", 5), HF_E_bad_json);
    EXPECT_INT(parse_code("-1e999", 6), HF_E_bad_json);
    EXPECT_INT(parse_code("1e-999", 6), HF_OK);
}

TEST(nesting_is_bounded_and_brackets_in_strings_do_not_count)
{
    char text[2 * JSON_DEPTH_MAX + 4], *large;

    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    EXPECT_INT(parse_code(text, 2 * (size_t)JSON_DEPTH_MAX), HF_OK);
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    EXPECT_INT(parse_code(text, 2 * (size_t)JSON_DEPTH_MAX + 2), HF_E_bad_json);
    large = malloc(1000000);
    REQUIRE(large != NULL);
    memset(large, '[', 1000000);
    EXPECT_INT(parse_code(large, 1000000), HF_E_bad_json);
    memcpy(large, "\"\\\"", 3);
    large[999999] = '"';
    EXPECT_INT(parse_code(large, 1000000), HF_OK);
    free(large);
}

struct body {
    const char *name;
    int64_t rows;
    bool flag;
    json_t *any, *env, *args;
};

static const struct json_field body_fields[] = {
    JSON_FIELD(STR, struct body, name, 1, 8, .required = true),
    JSON_FIELD(INT, struct body, rows, 1, 4096, .nullable = true),
    JSON_FIELD(BOOL, struct body, flag),
    JSON_FIELD(ANY, struct body, any),
    JSON_FIELD(OBJECT, struct body, env),
    JSON_FIELD(ARRAY, struct body, args),
};

static const char *decode_code(const char *text, struct body *b, struct hf_error *e)
{
    json_t *v = json_parse(text, strlen(text), e);
    int rc;

    REQUIRE(v != NULL);
    *e = (struct hf_error){0};
    rc = json_decode(v, body_fields, sizeof body_fields / sizeof body_fields[0], b, e);
    EXPECT_INT(rc < 0, e->code != HF_OK);
    b->name = NULL; /* goes with the tree */
    json_decref(v);
    return hf_code_name(e->code);
}

TEST(a_good_body_fills_the_target)
{
    static const char text[] =
        "{\"name\":\"x\",\"rows\":24,\"flag\":true,\"any\":null,\"env\":{},\"args\":[1]}";
    struct body b = {.rows = 7};
    struct hf_error e;
    json_t *v = json_parse(text, sizeof text - 1, &e);

    REQUIRE(v != NULL);
    EXPECT_INT(json_decode(v, body_fields, 6, &b, &e), 0);
    EXPECT_STR(b.name, "x");
    EXPECT_INT(b.rows, 24);
    EXPECT(b.flag && json_is_null(b.any) && json_is_object(b.env));
    EXPECT_U64(json_array_size(b.args), 1);
    json_decref(v);
}

TEST(what_is_not_given_keeps_its_default)
{
    struct body b = {.rows = 7};
    struct hf_error e;

    EXPECT_STR(decode_code("{\"name\":\"x\"}", &b, &e), "ok");
    EXPECT_INT(b.rows, 7);
    EXPECT_STR(decode_code("{\"name\":\"x\",\"rows\":null}", &b, &e), "ok");
    EXPECT_INT(b.rows, 7);
}

TEST(a_bad_body_names_the_field)
{
    struct body b = {0};
    struct hf_error e;

    EXPECT_STR(decode_code("[]", &b, &e), "bad_type");
    EXPECT_STR(decode_code("null", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{}", &b, &e), "missing_field");
    EXPECT_STR(e.field, "name");
    EXPECT_STR(decode_code("{\"name\":\"x\",\"row\":1}", &b, &e), "unknown_field");
    EXPECT_STR(e.field, "row");
    EXPECT_STR(decode_code("{\"name\":1}", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{\"name\":null}", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{\"name\":\"\"}", &b, &e), "bad_value");
    EXPECT_STR(decode_code("{\"name\":\"123456789\"}", &b, &e), "bad_value");
    EXPECT_STR(decode_code("{\"name\":\"a\\u0000b\"}", &b, &e), "bad_value");
    EXPECT_STR(decode_code("{\"rows\":0}", &b, &e), "bad_value");
    EXPECT_STR(decode_code("{\"rows\":4097}", &b, &e), "bad_value");
    EXPECT_STR(e.detail, "\"rows\" must be from 1 to 4096");
    EXPECT_STR(decode_code("{\"rows\":1.0}", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{\"rows\":\"1\"}", &b, &e), "bad_type");
    EXPECT_STR(e.detail, "\"rows\" must be an integer, not a string");
    EXPECT_STR(decode_code("{\"flag\":1}", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{\"env\":[]}", &b, &e), "bad_type");
    EXPECT_STR(decode_code("{\"args\":{}}", &b, &e), "bad_type");
}

/* A name that a peer chose is cut to fit, and what is left is still text. */
TEST(clients_of_others_may_send_fields_that_we_do_not_know)
{
    struct hf_error err = {0};
    struct {
        const char *known;
    } t = {0};
    const struct json_field fields[] = {
        {.name = "known", .kind = JSON_F_STR, .required = true, .nullable = true},
    };
    json_auto_t *body = json_parse("{\"new\":1,\"known\":\"k\"}", 21, &err);
    json_auto_t *none = json_parse("{\"new\":1}", 9, &err);

    EXPECT_INT(json_decode_known(body, fields, 1, &t, &err), 0);
    EXPECT_STR(t.known, "k");
    EXPECT(json_decode_known(none, fields, 1, &t, &err) < 0);
    EXPECT_INT(err.code, HF_E_missing_field);
    EXPECT(json_decode(body, fields, 1, &t, &err) < 0);
    EXPECT_INT(err.code, HF_E_unknown_field);
}

TEST(an_absurd_field_name_is_cut)
{
    struct body b = {0};
    struct hf_error e;
    struct buf text = {0};

    buf_puts(&text, "{\"");
    for (int i = 0; i < 1000; i++)
        buf_puts(&text, "\xe2\x82\xac");
    buf_puts(&text, "\":1}");
    EXPECT_STR(decode_code(buf_cstr(&text), &b, &e), "unknown_field");
    EXPECT(utf8_is_valid(e.field, strlen(e.field)) && strlen(e.field) < sizeof e.field);
    EXPECT(strlen(e.detail) < sizeof e.detail);
    buf_fini(&text);
}

/* jansson drops bytes of a string whose buffer cannot grow, and reports nothing. */
TEST(a_shortage_of_memory_never_alters_a_text)
{
    static const char text[] = "{\"command\":\": 0; x=5; echo one; echo two; echo three\"}";
    int refused = 0;

    for (int i = 0; i < 100; i++) {
        struct hf_error err = {0};
        json_t *v;

        FAIL(malloc, .error = ENOMEM, .after = i);
        v = json_parse(text, sizeof text - 1, &err);
        refused += FAILED(malloc);
        if (FAILED(malloc) > 0) {
            EXPECT(v == NULL);
            EXPECT_INT(err.code, HF_E_no_memory);
        }
        FAIL_NO_MORE(malloc);
        json_decref(v);
    }
    EXPECT(refused > 5);
}

struct clamped {
    int64_t n;
    const char *text;
    bool yes;
    json_t *list;
};

/* What a table reads is what the same table writes. */
TEST(a_clamped_number_is_lowered_and_a_table_writes_what_it_reads)
{
    static const struct json_field fields[] = {
        JSON_FIELD_AS("number", INT, struct clamped, n, .min = 1, .max = 9, .clamp = true),
        JSON_FIELD(STR, struct clamped, text),
        JSON_FIELD(BOOL, struct clamped, yes),
        JSON_FIELD(ARRAY, struct clamped, list),
    };
    static const char text[] = "{\"number\":10,\"text\":\"t\",\"yes\":true,\"list\":[1]}";
    json_auto_t *in = json_parse(text, sizeof text - 1, NULL), *out = NULL, *empty = NULL;
    struct hf_error err = {0};
    struct clamped c = {0};

    EXPECT_INT(json_decode(in, fields, 4, &c, &err), 0);
    EXPECT_INT(c.n, 9);
    json_object_set_new(in, "number", json_integer(9));
    out = json_encode(fields, 4, &c);
    EXPECT(json_equal(in, out));
    empty = json_encode(fields, 4, &(struct clamped){0});
    EXPECT(json_is_null(json_object_get(empty, "text")));
    EXPECT(json_is_null(json_object_get(empty, "list")));
    json_object_set_new(in, "number", json_integer(0));
    EXPECT(json_decode(in, fields, 4, &c, &err) < 0);
    EXPECT_INT(err.code, HF_E_bad_value);
}
