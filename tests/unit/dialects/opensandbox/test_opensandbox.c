/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opensandbox.c - the parts of the OpenSandbox dialect that only turn bytes into others
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_expand_path.h"
#include "dialects/opensandbox/osb_frame.h"
#include "dialects/opensandbox/osb_lines.h"
#include "dialects/opensandbox/osb_metrics.h"
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

static void count(void *arg, const char *text, size_t len, bool more)
{
    size_t *n = arg;

    (void)text;
    n[0] += len;
    n[1] += more;
    EXPECT(len <= LIMIT_OSB_LINE_BYTES);
}

TEST(a_line_without_end_takes_no_memory_without_end)
{
    struct lines l = {0};
    size_t n[2] = {0}, piece = 1000, total = 300 * piece;
    char *text = hf_xalloc(piece);

    memset(text, 'x', piece);
    for (size_t i = 0; i < total; i += piece)
        osb_lines_feed(&l, text, piece, count, n);
    EXPECT(l.part.len <= LIMIT_OSB_LINE_BYTES);
    EXPECT_U64(n[1], total / LIMIT_OSB_LINE_BYTES);
    osb_lines_end(&l, count, n);
    EXPECT_U64(n[0], total);
    osb_lines_fini(&l);
    free(text);
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
    EXPECT(f.kind == FRAME_NONE);
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

/* --- the kernel's words ----------------------------------------------------------------------- */

TEST(processor_and_memory_are_read_from_what_the_kernel_says)
{
    struct osb_load l = {0};
    struct metrics_memory m;

    EXPECT(osb_metrics_parse_cpu("cpu  10 1 9 70 10 0 0 0 5 5\ncpu0 1 2\n", &l));
    EXPECT(l.total == 100 && l.busy == 20);
    EXPECT(!osb_metrics_parse_cpu("cpu0 1 2\n", &l));
    EXPECT(!osb_metrics_parse_cpu("", &l));
    EXPECT(
        osb_metrics_parse_memory("MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n", &m));
    EXPECT(m.total_kib == 2048 && m.available_kib == 1024);
    EXPECT(!osb_metrics_parse_memory("MemTotal: 1 kB\nMemAvailable: 2 kB\n", &m));
    EXPECT(!osb_metrics_parse_memory("XMemTotal: 1 kB\n", &m));
}
