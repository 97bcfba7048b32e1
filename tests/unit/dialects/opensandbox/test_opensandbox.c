/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opensandbox.c - the parts of the OpenSandbox dialect that only turn bytes into others
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env_file.h"
#include "dialects/opensandbox/osb_expand_path.h"
#include "dialects/opensandbox/osb_frame.h"
#include "dialects/opensandbox/osb_lines.h"
#include "dialects/opensandbox/osb_prelude.h"

#include "dialects/opensandbox/opensandbox_limits.h"
#include "test.h"

/* --- lines ----------------------------------------------------------------------- */

/* "[text]" for a line, "[text+" for a piece of one. */
static void put_line(void *arg, const char *text, size_t len, bool more)
{
    struct buf *out = arg;

    buf_putc(out, '[');
    buf_put(out, text, len);
    buf_putc(out, more ? '+' : ']');
}

static const char *cut(struct lines *l, struct buf *out, const char *text)
{
    buf_clear(out);
    osb_lines_feed(l, text, strlen(text), put_line, out);
    return buf_cstr(out);
}

TEST(all_line_ends_count_and_blank_lines_are_told)
{
    struct lines l = {0};
    struct buf out = {0};

    EXPECT_STR(cut(&l, &out, "a\n\nb\r\nc\rd\r\r\n"), "[a][\n][b][c][d][\n]");
    EXPECT(!osb_lines_holds(&l));
    EXPECT_STR(cut(&l, &out, "x\r"), "[x]");
    EXPECT_STR(cut(&l, &out, "\ny"), "");
    EXPECT(osb_lines_holds(&l));
    EXPECT_STR(cut(&l, &out, "z\n"), "[yz]");
    osb_lines_fini(&l);
    buf_fini(&out);
}

/* A line end behind what was shown early is not another, empty line. */
TEST(an_unfinished_line_is_told_once)
{
    struct lines l = {0};
    struct buf out = {0};

    EXPECT_STR(cut(&l, &out, "name? \xE2\x82"), "");
    osb_lines_flush(&l, put_line, &out);
    EXPECT_STR(buf_cstr(&out), "[name? +");
    buf_clear(&out);
    osb_lines_flush(&l, put_line, &out);
    EXPECT_U64(out.len, 0);
    EXPECT_STR(cut(&l, &out, "\xAC"), "");
    osb_lines_flush(&l, put_line, &out);
    EXPECT_STR(buf_cstr(&out), "[\xE2\x82\xAC+");
    EXPECT_STR(cut(&l, &out, "\n\nq"), "[\n]");
    buf_clear(&out);
    osb_lines_end(&l, put_line, &out);
    EXPECT_STR(buf_cstr(&out), "[q]");
    osb_lines_fini(&l);
    buf_fini(&out);
}

/* A blank line between two others vanished where a client adds no newline to one that is there. */
TEST(a_blank_line_behind_another_is_wide_for_clients_that_add_no_newline_to_it)
{
    struct lines l = {.wide_blanks = true};
    struct buf out = {0};

    EXPECT_STR(cut(&l, &out, "\na\n\n\nb\r\n"), "[\n][a][\n\n][\n][b]");
    EXPECT_STR(cut(&l, &out, "\nc"), "[\n\n]");
    osb_lines_fini(&l);
    buf_fini(&out);
}

struct counted {
    size_t bytes, parts, longest;
};

static void count(void *arg, const char *text, size_t len, bool more)
{
    struct counted *n = arg;
    struct buf json = {0};

    json_put_text(&json, text, len);
    EXPECT(json.len < LIMIT_OSB_TEXT_BYTES + 6);
    buf_fini(&json);
    n->bytes += len;
    n->parts += more;
    n->longest = len > n->longest ? len : n->longest;
}

static struct counted count_line(char c, size_t total)
{
    struct lines l = {0};
    struct counted n = {0};
    size_t piece = 8192;
    char *text = hf_xalloc(piece);

    memset(text, c, piece);
    for (size_t i = 0; i < total; i += piece)
        osb_lines_feed(&l, text, piece, count, &n);
    EXPECT(l.part.len <= LIMIT_OSB_TEXT_BYTES);
    osb_lines_end(&l, count, &n);
    EXPECT_U64(n.bytes, total);
    osb_lines_fini(&l);
    free(text);
    return n;
}

/* A line of more than 64 KiB used to arrive in pieces, between which clients put newlines. */
TEST(a_line_of_megabytes_is_whole_and_one_without_end_takes_no_memory_without_end)
{
    size_t most = LIMIT_OSB_TEXT_BYTES, total = (size_t)12 << 20;

    EXPECT_U64(count_line('x', most - most % 8192).parts, 0);
    EXPECT_U64(count_line('x', total).parts, total / most);
    EXPECT_U64(count_line('x', total).longest, most);
    EXPECT_U64(count_line('\1', total).parts, 6 * total / most);
}

/* --- directories -------------------------------------------------------------------- */

static const char *look_up(const char *name)
{
    return strcmp(name, "HOME") == 0 ? "/home/u" : strcmp(name, "A_1") == 0 ? "x/y" : NULL;
}

static const char *expand(struct buf *out, const char *path)
{
    struct hf_error err;

    buf_clear(out);
    return osb_expand(path, look_up, out, &err) == 0 ? buf_cstr(out) : NULL;
}

TEST(variables_and_the_home_directory_are_expanded)
{
    struct buf out = {0};

    EXPECT_STR(expand(&out, "~"), "/home/u");
    EXPECT_STR(expand(&out, "~/a"), "/home/u/a");
    EXPECT_STR(expand(&out, "a~/b"), "a~/b");
    EXPECT_STR(expand(&out, "~other"), "~other");
    EXPECT_STR(expand(&out, "$HOME/$A_1-${A_1}z"), "/home/u/x/y-x/yz");
    EXPECT_STR(expand(&out, "/a$/b$"), "/a$/b$");
    EXPECT(expand(&out, "$NO") == NULL);
    EXPECT(expand(&out, "${HOME") == NULL);
    EXPECT(expand(&out, "${}") == NULL);
    buf_fini(&out);
}

/* --- the file of variables ------------------------------------------------------------- */

static const char *parse_env(struct buf *out, const char *text, size_t len)
{
    size_t count, ends = 0;

    buf_clear(out);
    count = osb_env_file_parse(text, len, look_up, out);
    for (size_t i = 0; i < out->len; i++)
        if (buf_data(out)[i] == '\0') {
            buf_data(out)[i] = ends % 2 == 0 ? '=' : '|';
            ends++;
        }
    EXPECT_U64(ends, 2 * count);
    return buf_cstr(out);
}

#define EXPECT_ENV(text, want) EXPECT_STR(parse_env(&out, text, sizeof(text) - 1), want)

TEST(variables_are_read_as_execd_reads_them)
{
    struct buf out = {0};

    EXPECT_ENV("", "");
    EXPECT_ENV("A=1\nB = x y \r\n\n  # C=3\nD=", "A=1|B=x y|D=|");
    EXPECT_ENV("A=$HOME/${A_1}$NO$", "A=/home/u/x/y$|");
    EXPECT_ENV("A=\"a \\n\\t\\\"\\\\\\q $HOME\"\nB=2", "A=a \n\t\"\\\\q /home/u|B=2|");
    EXPECT_ENV("A='a \\n $HOME\n\"x\"' \nB=2", "A=a \\n $HOME\n\"x\"|B=2|");
    EXPECT_ENV("A=\"l1\nl2\"\n", "A=l1\nl2|");
    EXPECT_ENV("A='it' 's'\nB=2", "B=2|");
    EXPECT_ENV("A='open\nB=2", "B=2|");
    EXPECT_ENV("A=\"open\\\"\nB=2", "B=2|");
    EXPECT_ENV("=1\nnothing\nB=2\nB=3", "B=2|B=3|");
    EXPECT_ENV("A=x\0y\nB\0=1\nC=3", "C=3|");
    EXPECT_ENV("A=\"${HOME\\n\"", "A=${HOME\n|");
    buf_fini(&out);
}

/* --- frames ---------------------------------------------------------------------------- */

static struct frame decode(const char *text)
{
    struct frame f;

    osb_frame_decode(&f, text, strlen(text));
    return f;
}

TEST(frames_are_what_they_say_or_are_told_what_is_wrong)
{
    struct frame f = decode("{\"type\":\"resize\",\"cols\":120,\"rows\":40}");

    EXPECT(f.kind == FRAME_RESIZE && f.rows == 40 && f.cols == 120);
    osb_frame_fini(&f);
    f = decode("{\"type\":\"resize\",\"cols\":0,\"rows\":40}");
    EXPECT(f.kind == FRAME_RESIZE && f.rows == 0);
    osb_frame_fini(&f);
    f = decode("{\"type\":\"resize\",\"cols\":70000,\"rows\":40}");
    EXPECT(f.kind == FRAME_BAD && f.wrong != NULL);
    osb_frame_fini(&f);
    f = decode("{\"type\":\"stdin\",\"data\":\"a\\u0000b\"}");
    EXPECT(f.kind == FRAME_STDIN && f.len == 3);
    osb_frame_fini(&f);
    f = decode("{\"type\":\"signal\",\"signal\":\"SIGQUIT\"}");
    EXPECT(f.kind == FRAME_SIGNAL && f.signum == SIGQUIT);
    osb_frame_fini(&f);
    f = decode("{\"type\":\"signal\",\"signal\":\"SIGSEGV\"}");
    EXPECT(f.kind == FRAME_BAD);
    osb_frame_fini(&f);
    f = decode("{\"type\":7}");
    EXPECT(f.kind == FRAME_BAD);
    osb_frame_fini(&f);
    f = decode("nothing");
    EXPECT(f.kind == FRAME_BAD);
    osb_frame_fini(&f);
}

/* --- sessions ---------------------------------------------------------------------------- */

static void add(struct session_log *l, const char *text, enum process_source source, bool replaced)
{
    struct session_begin b = {
        .number = session_log_next_number(l), .source = source, .text_len = strlen(text)};
    struct session_end e = {.number = b.number, .shell_replaced = replaced};
    struct session_text none = {0};

    session_log_begin(l, &b, text, NULL);
    session_log_end(l, &e, none, none, none);
}

/* Only shells of sessions that were made here are told, and each of them once. */
TEST(the_log_says_which_shell_has_to_be_told)
{
    struct session_log *l = hf_xalloc(SESSION_LOG_BYTES);
    struct buf setup = {0};

    session_log_init(l, SESSION_LOG_BYTES);
    osb_prelude_write(&setup, true, PRELUDE_STAY, NULL);
    add(l, "exit 4", SOURCE_AGENT, true);
    EXPECT(!osb_prelude_is_due(l));
    add(l, buf_cstr(&setup), SOURCE_SYSTEM, true);
    EXPECT(!osb_prelude_is_due(l));
    add(l, "true", SOURCE_AGENT, false);
    EXPECT(!osb_prelude_is_due(l));
    add(l, "exit 4", SOURCE_AGENT, true);
    EXPECT(osb_prelude_is_due(l));
    add(l, buf_cstr(&setup), SOURCE_SYSTEM, false);
    EXPECT(!osb_prelude_is_due(l));
    add(l, buf_cstr(&setup), SOURCE_AGENT, true); /* a user who types the same is a user */
    EXPECT(osb_prelude_is_due(l));
    buf_fini(&setup);
    free(l);
}

TEST(quotes_in_commands_and_directories_stay_what_they_are)
{
    struct buf out = {0};

    osb_prelude_wrap(&out, "echo 'it'\n");
    EXPECT_STR(buf_cstr(&out), "command eval 'echo '\\''it'\\''\n' 2>&1");
    buf_clear(&out);
    osb_prelude_write(&out, false, PRELUDE_CD, "a'b");
    EXPECT_STR(buf_cstr(&out), "command cd -- 'a'\\''b'");
    buf_fini(&out);
}

/* --- what is asked -------------------------------------------------------------------------- */

static int request(struct command_request *a, const char *text, struct hf_error *err)
{
    json_auto_t *body = json_parse(text, strlen(text), err);
    int rc = osb_command_request_decode(a, body, err);

    osb_command_request_fini(a);
    return rc;
}

TEST(commands_are_checked_and_what_is_not_known_is_passed_over)
{
    struct command_request a;
    struct hf_error err;

    EXPECT(request(&a, "{\"command\":\"ls\",\"background\":true,\"what\":[1],\"uid\":7,\"gid\":8}",
                   &err) == 0);
    EXPECT(a.body.spec.history_bytes == LIMIT_OSB_LOG_BYTES);
    EXPECT_STR(a.user, "7:8");
    EXPECT(request(&a, "{\"argv\":[\"ls\",\"-l\"],\"timeout\":500,\"uid\":null}", &err) == 0);
    EXPECT(a.body.spec.arg_count == 1 && a.body.spec.timeout_ms == 500 &&
           a.body.spec.grace_ms == 0);
    EXPECT(request(&a, "{\"command\":\"ls\",\"argv\":[\"ls\"]}", &err) < 0);
    EXPECT(request(&a, "{\"argv\":[\"\"]}", &err) < 0);
    EXPECT(request(&a, "{\"command\":\"ls\",\"uid\":4294967295}", &err) < 0);
    EXPECT(request(&a, "{\"command\":\"ls\",\"cwd\":\"${\"}", &err) < 0);
    EXPECT_STR(err.field, "cwd");
}
