/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fly.c - Bodies, queries, command lines and frames of Fly's clients.
 */
#include "base/limits.h"
#include "dialects/fly/fly_decode.h"
#include "dialects/fly/fly_gzip.h"
#include "dialects/fly/fly_limits.h"
#include "dialects/fly/fly_ps.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <zlib.h>

/* --- words ----------------------------------------------------------------------------------- */

/* The words with '|' behind each, or the code of the refusal. */
static const char *words(const char *text)
{
    static char out[400];
    struct fly_words w;
    struct hf_error err = {0};

    out[0] = '\0';
    if (fly_words_split(&w, text, &err) < 0)
        snprintf(out, sizeof out, "%s", hf_code_name(err.code));
    for (size_t i = 0; err.code == HF_OK && i < w.count; i++) {
        strcat(out, w.list[i]);
        strcat(out, "|");
    }
    fly_words_fini(&w);
    return out;
}

TEST(blanks_separate_words)
{
    EXPECT_STR(words("ls -l /tmp"), "ls|-l|/tmp|");
    EXPECT_STR(words(" \t a\n b \r"), "a|b|");
    EXPECT_STR(words(""), "");
    EXPECT_STR(words("   "), "");
}

TEST(quotes_keep_a_word_together)
{
    EXPECT_STR(words("sh -c 'echo A && echo B'"), "sh|-c|echo A && echo B|");
    EXPECT_STR(words("bash -c \"echo $X\""), "bash|-c|echo $X|");
    EXPECT_STR(words("a'b c'd\" e\"f"), "ab cd ef|");
    EXPECT_STR(words("x '' \"\" y"), "x|||y|");
    EXPECT_STR(words("'it'\\''s'"), "it's|");
}

TEST(a_backslash_takes_a_meaning_away)
{
    EXPECT_STR(words("a\\ b \\\\ \\' \\x"), "a b|\\|'|x|");
    EXPECT_STR(words("\"\\\" \\\\ \\$ \\` \\n\""), "\" \\ $ ` \\n|");
    EXPECT_STR(words("'a\\b'"), "a\\b|");
    EXPECT_STR(words("a \\\n b c\\\nd \"e\\\nf\""), "a|b|cd|ef|");
}

/* Nobody may believe that a shell is there. */
TEST(nothing_is_expanded_and_no_operator_is_known)
{
    EXPECT_STR(words("echo A && echo B | cat; x > y # z"), "echo|A|&&|echo|B|||cat;|x|>|y|#|z|");
    EXPECT_STR(words("$HOME *.c ~ `id` $(id)"), "$HOME|*.c|~|`id`|$(id)|");
}

TEST(what_does_not_end_is_refused)
{
    EXPECT_STR(words("a 'b"), "bad_value");
    EXPECT_STR(words("a \"b"), "bad_value");
    EXPECT_STR(words("\"a\\\""), "bad_value");
    EXPECT_STR(words("a\\"), "bad_value");
    EXPECT_STR(words("\"\\"), "bad_value");
}

TEST(words_have_a_limit)
{
    struct buf text = {0};
    struct fly_words w;
    struct hf_error err = {0};

    for (int i = 0; i < LIMIT_ARGS + 1; i++)
        buf_puts(&text, "x ");
    EXPECT_INT(fly_words_split(&w, buf_cstr(&text), &err), 0);
    EXPECT_U64(w.count, LIMIT_ARGS + 1);
    fly_words_fini(&w);
    buf_puts(&text, "x");
    EXPECT(fly_words_split(&w, buf_cstr(&text), &err) < 0);
    fly_words_fini(&w);
    buf_fini(&text);
}

/* --- a machine's exec ------------------------------------------------------------------------ */

static enum hf_code exec_of(const char *text, struct fly_request *a, json_t **body)
{
    struct hf_error err = {0};

    *body = json_parse(text, strlen(text), NULL);
    EXPECT(*body != NULL);
    (void)fly_decode_exec(a, *body, &err);
    return err.code;
}

static enum hf_code refusal(const char *text)
{
    struct fly_request a;
    json_t *body;
    enum hf_code code = exec_of(text, &a, &body);

    fly_request_fini(&a);
    json_decref(body);
    return code;
}

TEST(an_exec_is_words_and_a_deadline)
{
    struct fly_request a;
    json_t *body;

    EXPECT_INT(
        exec_of("{\"command\":[\"sh\",\"-c\",\"x y\"],\"timeout\":90,\"later\":{}}", &a, &body),
        HF_OK);
    EXPECT_STR(a.spec.command, "sh");
    EXPECT_U64(a.spec.arg_count, 2);
    EXPECT_STR(a.spec.args[1], "x y");
    EXPECT_INT(a.spec.timeout_ms, 90000);
    EXPECT_INT(a.spec.stdin_mode, STDIN_NULL);
    EXPECT(!a.spec.shell && !a.spec.pty);
    fly_request_fini(&a);
    json_decref(body);
}

TEST(an_older_client_sends_a_line)
{
    struct fly_request a;
    json_t *body;

    EXPECT_INT(exec_of("{\"cmd\":\"echo 'a b'\",\"stdin\":\"x\\u0000y\",\"timeout\":0}", &a, &body),
               HF_OK);
    EXPECT_STR(a.spec.command, "echo");
    EXPECT_STR(a.spec.args[0], "a b");
    EXPECT_INT(a.spec.timeout_ms, FLY_TIMEOUT_MS);
    EXPECT_U64(a.spec.input_len, 3);
    EXPECT(memcmp(a.spec.input, "x\0y", 3) == 0);
    fly_request_fini(&a);
    json_decref(body);
    EXPECT_INT(exec_of("{\"cmd\":\"no\",\"command\":[\"yes\"]}", &a, &body), HF_OK);
    EXPECT_STR(a.spec.command, "yes");
    fly_request_fini(&a);
    json_decref(body);
}

TEST(an_exec_that_is_none_is_refused)
{
    EXPECT_INT(refusal("{}"), HF_E_missing_field);
    EXPECT_INT(refusal("{\"command\":[]}"), HF_E_missing_field);
    EXPECT_INT(refusal("{\"cmd\":\"  \"}"), HF_E_missing_field);
    EXPECT_INT(refusal("{\"command\":null,\"cmd\":null}"), HF_E_missing_field);
    EXPECT_INT(refusal("{\"command\":\"ls\"}"), HF_E_bad_type);
    EXPECT_INT(refusal("{\"command\":[1]}"), HF_E_bad_type);
    EXPECT_INT(refusal("{\"command\":[\"a\\u0000\"]}"), HF_E_bad_value);
    EXPECT_INT(refusal("{\"cmd\":\"a 'b\"}"), HF_E_bad_value);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"stdin\":1}"), HF_E_bad_type);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"timeout\":-1}"), HF_E_bad_value);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"timeout\":1e99}"), HF_E_bad_type);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"timeout\":99999999999}"), HF_E_bad_value);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"container\":\"c\",\"machine\":true}"), HF_E_bad_value);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"container\":\"\",\"machine\":true}"), HF_OK);
    EXPECT_INT(refusal("{\"cmd\":\"a\",\"container\":\"c\"}"), HF_OK);
}

/* --- a sprite's ------------------------------------------------------------------------------ */

/* Pairs as name, value, name, value, NULL. */
static enum hf_code sprite_of(struct sprite_request *a, bool tty, const char *const *pairs)
{
    struct hf_error err = {0};

    *a = (struct sprite_request){0};
    for (; *pairs != NULL; pairs += 2)
        if (sprite_decode_pair(a, pairs[0], pairs[1], &err) < 0)
            return err.code;
    (void)sprite_decode_spec(a, tty, &err);
    return err.code;
}
#define SPRITE(a, tty, ...) sprite_of(a, tty, (const char *const[]){__VA_ARGS__, NULL})

TEST(a_query_is_a_command)
{
    struct sprite_request a;

    EXPECT_INT(SPRITE(&a, true, "cmd", "ls", "cmd", "-l", "cmd", "", "path", "/bin/ls", "dir", "/x",
                      "stdin", "true", "env", "A=1", "env", "B=", "env", "C=x=y", "cc", "true"),
               HF_OK);
    EXPECT_STR(a.spec.command, "/bin/ls");
    EXPECT_STR(a.spec.argv0, "ls");
    EXPECT_U64(a.spec.arg_count, 2);
    EXPECT_STR(a.spec.args[1], "");
    EXPECT_STR(a.spec.cwd, "/x");
    EXPECT_U64(a.spec.env_count, 3);
    EXPECT_STR(a.spec.env[2].name, "C");
    EXPECT_STR(a.spec.env[2].value, "x=y");
    EXPECT(a.spec.clear_env && !a.spec.pty);
    EXPECT_INT(a.spec.stdin_mode, STDIN_PIPE);
    EXPECT_INT(a.spec.on_detach, DETACH_KILL_AFTER);
    EXPECT_INT(a.spec.detach_ms, FLY_LINGER_MS);
    sprite_request_fini(&a);
    EXPECT_INT(SPRITE(&a, true, "path", "true"), HF_OK);
    EXPECT_STR(a.spec.command, "true");
    EXPECT(a.spec.argv0 == NULL && !a.spec.clear_env);
    EXPECT_INT(a.spec.stdin_mode, STDIN_NULL);
    sprite_request_fini(&a);
}

TEST(a_terminal_stays_unless_it_is_told_for_how_long)
{
    struct sprite_request a;

    EXPECT_INT(SPRITE(&a, true, "cmd", "sh", "tty", "true", "rows", "30"), HF_OK);
    EXPECT(a.spec.pty);
    EXPECT_INT(a.spec.rows, 30);
    EXPECT_INT(a.spec.cols, 80);
    EXPECT_INT(a.spec.on_detach, DETACH_KEEP);
    sprite_request_fini(&a);
    EXPECT_INT(SPRITE(&a, true, "cmd", "sh", "tty", "1", "max_run_after_disconnect", "1m30s"),
               HF_OK);
    EXPECT_INT(a.spec.on_detach, DETACH_KILL_AFTER);
    EXPECT_INT(a.spec.detach_ms, 90000);
    sprite_request_fini(&a);
    EXPECT_INT(SPRITE(&a, true, "cmd", "sh", "detachable", "true"), HF_OK);
    EXPECT_INT(a.spec.on_detach, DETACH_KEEP);
    sprite_request_fini(&a);
    EXPECT_INT(SPRITE(&a, true, "cmd", "sh", "max_run_after_disconnect", "0"), HF_OK);
    EXPECT_INT(a.spec.on_detach, DETACH_KEEP);
    sprite_request_fini(&a);
    /* By HTTP there is none, and what is there is not kept for ever. */
    EXPECT_INT(SPRITE(&a, false, "cmd", "sh", "tty", "true"), HF_OK);
    EXPECT(!a.spec.pty);
    EXPECT_INT(a.spec.on_detach, DETACH_KILL_AFTER);
    sprite_request_fini(&a);
}

TEST(a_query_that_is_none_is_refused)
{
    struct sprite_request a;

#define REFUSED(code, ...)                                                                         \
    do {                                                                                           \
        EXPECT_INT(SPRITE(&a, true, __VA_ARGS__), code);                                           \
        sprite_request_fini(&a);                                                                   \
    } while (0)
    REFUSED(HF_E_missing_field, "stdin", "true");
    REFUSED(HF_E_missing_field, "path", "");
    REFUSED(HF_E_bad_query, "cmd", "x", "env", "A");
    REFUSED(HF_E_bad_query, "cmd", "x", "env", "=A");
    REFUSED(HF_E_bad_size, "cmd", "x", "rows", "0");
    REFUSED(HF_E_bad_size, "cmd", "x", "cols", "5000");
    REFUSED(HF_E_bad_size, "cmd", "x", "cols", "x");
    REFUSED(HF_E_bad_query, "cmd", "x", "max_run_after_disconnect", "soon");
}

static int64_t duration(const char *text)
{
    int64_t ms = -7;

    return fly_duration(text, &ms) ? ms : -1;
}

TEST(durations_are_as_go_writes_them)
{
    EXPECT_INT(duration("10s"), 10000);
    EXPECT_INT(duration("1m30s"), 90000);
    EXPECT_INT(duration("1.5h"), 5400000);
    EXPECT_INT(duration(".5s"), 500);
    EXPECT_INT(duration("250ms"), 250);
    EXPECT_INT(duration("0"), 0);
    EXPECT_INT(duration("0s"), 0);
    EXPECT_INT(duration("1\u00b5s"), 1); /* not nothing, which would mean for ever */
    EXPECT_INT(duration(""), -1);
    EXPECT_INT(duration("10"), -1);
    EXPECT_INT(duration("s"), -1);
    EXPECT_INT(duration("."), -1);
    EXPECT_INT(duration("1e3s"), -1);
    EXPECT_INT(duration("-1s"), -1);
    EXPECT_INT(duration("1s "), -1);
    EXPECT_INT(duration("99999999h"), -1);
    EXPECT_INT(duration("9999999999999999999999999999999999999999999999h"), -1);
}

/* --- frames ---------------------------------------------------------------------------------- */

TEST(the_first_byte_of_a_message_is_its_stream)
{
    struct sprite_message m = {0};

    EXPECT_U64(sprite_message_head(&m, "", 0), 0);
    EXPECT(!m.inside);
    EXPECT_U64(sprite_message_head(&m, "\4", 1), 1);
    EXPECT_INT(m.channel, SPRITE_STDIN_EOF);
    EXPECT_U64(sprite_message_head(&m, "\1x", 2), 0); /* goes on */
    EXPECT_INT(m.channel, SPRITE_STDIN_EOF);
}

static enum hf_code control(const char *text, struct sprite_control *c)
{
    struct hf_error err = {0};

    (void)sprite_decode_control(c, text, strlen(text), &err);
    return err.code;
}

TEST(control_messages_are_sizes_and_signals)
{
    struct sprite_control c;

    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":100,\"rows\":30}", &c), HF_OK);
    EXPECT_INT(c.rows, 30);
    EXPECT_INT(c.cols, 100);
    EXPECT_INT(c.signum, 0);
    EXPECT_INT(control("{\"type\":\"signal\",\"signal\":\"SIGINT\"}", &c), HF_OK);
    EXPECT_INT(c.signum, SIGINT);
    EXPECT_INT(control("{\"type\":\"signal\",\"signal\":\"KILL\"}", &c), HF_OK);
    EXPECT_INT(c.signum, SIGKILL);
    EXPECT_INT(control("{", &c), HF_E_bad_json);
    EXPECT_INT(control("[]", &c), HF_E_bad_value);
    EXPECT_INT(control("{\"type\":\"exit\"}", &c), HF_E_bad_value);
    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":\"1\",\"rows\":1}", &c), HF_E_bad_type);
    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":0,\"rows\":1}", &c), HF_E_bad_size);
    EXPECT_INT(control("{\"type\":\"signal\"}", &c), HF_E_bad_type);
    EXPECT_INT(control("{\"type\":\"signal\",\"signal\":\"NONE\"}", &c), HF_E_bad_signal);
}

/* Each piece is there as soon as its block is, and the whole is a valid file. */
TEST(pieces_stay_pieces_in_gzip)
{
    static const char *const pieces[] = {"\1one", "\2", "\3\7"};
    z_stream z = {0};
    struct fly_gzip g = {0};
    struct buf packed = {0};
    char out[64];
    int rc = Z_OK;

    EXPECT_INT(inflateInit2(&z, 15 + 16), Z_OK);
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&packed);
        fly_gzip_put(&g, &packed, pieces[i], strlen(pieces[i]));
        if (i == 2)
            fly_gzip_end(&g, &packed);
        z.next_in = (Bytef *)buf_data(&packed);
        z.avail_in = (uInt)packed.len;
        z.next_out = (Bytef *)out;
        z.avail_out = sizeof out;
        rc = inflate(&z, Z_SYNC_FLUSH);
        EXPECT_U64(sizeof out - z.avail_out, strlen(pieces[i]));
        EXPECT(memcmp(out, pieces[i], strlen(pieces[i])) == 0);
    }
    EXPECT_INT(rc, Z_STREAM_END);
    EXPECT_U64(g.size, 7);
    inflateEnd(&z);
    buf_fini(&packed);
}

TEST(the_kernels_line_about_a_process_is_understood)
{
    struct fly_stat s;

    EXPECT(
        fly_stat_parse("7 (a) b) c) S 1 7 7 0 -1 4194560 1 2 3 4 100 50 6 7 20 0 1 0 999 8888 42 "
                       "18446744073709551615",
                       &s));
    EXPECT_U64(s.cpu_ticks, 150);
    EXPECT_U64(s.rss_pages, 42);
    EXPECT(!fly_stat_parse("", &s));
    EXPECT(!fly_stat_parse("7 (x) S 1 2", &s));
    EXPECT(!fly_stat_parse("7 x S 1 2", &s));
}
