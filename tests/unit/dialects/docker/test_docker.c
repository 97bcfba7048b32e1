/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker.c - What Docker's clients send: bodies, words, filters, columns of ps; and the form of a log.
 */
#include "base/detach_keys.h"
#include "dialects/docker/docker_archive_path.h"
#include "dialects/docker/docker_decode.h"
#include "dialects/docker/docker_filter.h"
#include "dialects/docker/docker_inspect.h"
#include "dialects/docker/docker_log_format.h"
#include "dialects/docker/docker_top_columns.h"
#include "test.h"

static json_t *tree(const char *text)
{
    json_t *t = json_parse(text, strlen(text), NULL);

    EXPECT(t != NULL);
    return t;
}

static json_t *exec_of(const char *text, struct hf_error *err)
{
    json_t *body = tree(text), *config = docker_decode_exec(body, err);

    json_decref(body);
    return config;
}

static json_t *create_of(const char *text, struct hf_error *err)
{
    json_t *body = tree(text), *config = docker_decode_create(body, "bg", err);

    json_decref(body);
    return config;
}

static const char *env_of(const struct docker_spec *s, const char *name)
{
    for (size_t i = 0; i < s->body.spec.env_count; i++)
        if (strcmp(s->body.spec.env[i].name, name) == 0)
            return s->body.spec.env[i].value != NULL ? s->body.spec.env[i].value : "(removed)";
    return "(none)";
}

TEST(an_exec_becomes_a_spec)
{
    struct hf_error err = {0};
    json_t *c =
        exec_of("{\"Cmd\":[\"sh\",\"-c\",\"x y\"],\"Tty\":true,\"Env\":[\"A=1\",\"A=2\",\"B\"],"
                "\"WorkingDir\":\"/tmp\",\"User\":\"\",\"ConsoleSize\":[31,97],\"Other\":7}",
                &err);
    struct docker_spec s;

    REQUIRE(c != NULL);
    REQUIRE(docker_spec_init(&s, c, "box", &err) == 0);
    EXPECT_STR(s.body.spec.command, "sh");
    EXPECT_U64(s.body.spec.arg_count, 2);
    EXPECT_STR(s.body.spec.args[1], "x y");
    EXPECT_STR(env_of(&s, "A"), "2"); /* the last one counts */
    EXPECT_STR(env_of(&s, "B"), "(removed)");
    EXPECT_STR(env_of(&s, "TERM"), "xterm");
    EXPECT_STR(env_of(&s, "HOSTNAME"), "box");
    EXPECT(s.body.spec.pty && s.body.spec.rows == 31 && s.body.spec.cols == 97);
    EXPECT(s.body.spec.user == NULL && s.body.spec.tag == NULL);
    EXPECT(strstr(s.body.spec.metadata_json, "\"exec\"") != NULL);
    EXPECT(strstr(s.body.spec.metadata_json, "A=1") == NULL); /* variables may be secrets */
    docker_spec_fini(&s);
    json_decref(c);
}

TEST(a_container_becomes_a_spec)
{
    struct hf_error err = {0};
    json_t *c = create_of("{\"Entrypoint\":\"cat\",\"Cmd\":[\"-\"],\"OpenStdin\":true,\"Env\":null,"
                          "\"Labels\":{\"k\":\"v\"},\"HostConfig\":{\"AutoRemove\":true,"
                          "\"ConsoleSize\":[0,0]},\"Image\":\"img\"}",
                          &err);
    struct docker_spec s;

    REQUIRE(c != NULL);
    REQUIRE(docker_spec_init(&s, c, "box", &err) == 0);
    EXPECT_STR(s.body.spec.command, "cat");
    EXPECT_STR(s.body.spec.args[0], "-");
    EXPECT_STR(s.body.spec.tag, "bg");
    EXPECT_INT(s.body.spec.stdin_mode, STDIN_PIPE);
    EXPECT(docker_flag(c, "remove") && !docker_flag(c, "once"));
    EXPECT_INT((int)docker_int(c, "rows"), 0); /* zeros are no size */
    EXPECT_STR(docker_text(c, "image"), "img");
    docker_spec_fini(&s);
    json_decref(c);
}

TEST(names_of_members_are_known_in_any_case)
{
    struct hf_error err = {0};
    json_t *c =
        exec_of("{\"cmd\":[\"a\"],\"detachKeys\":\"ctrl-a\",\"TTY\":true,\"tty\":null}", &err);
    json_t *body = tree("{\"detach\":true,\"consolesize\":[3,4]}");
    struct docker_start start;

    REQUIRE(c != NULL);
    EXPECT_STR(docker_text(c, "keys"), "ctrl-a");
    EXPECT(docker_flag(c, "tty"));
    json_decref(c);
    c = create_of("{\"CMD\":[\"a\"],\"hostconfig\":{\"autoRemove\":true}}", &err);
    REQUIRE(c != NULL);
    EXPECT(docker_flag(c, "remove"));
    json_decref(c);
    EXPECT_INT(docker_decode_start(&start, body, &err), 0);
    EXPECT(start.detach && start.rows == 3 && start.cols == 4);
    json_decref(body);
}

TEST(bodies_that_are_wrong_are_refused)
{
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"Cmd\":[]}",
        "{\"Cmd\":7}",
        "{\"Cmd\":[7]}",
        "{\"Cmd\":[\"a\\u0000\"]}",
        "{\"Cmd\":[\"a\"],\"Env\":[\"=x\"]}",
        "{\"Cmd\":[\"a\"],\"Env\":[\"\"]}",
        "{\"Cmd\":[\"a\"],\"Env\":{}}",
        "{\"Cmd\":[\"a\"],\"Tty\":\"yes\"}",
        "{\"Cmd\":[\"a\"],\"DetachKeys\":\"ctrl-,\"}",
        "{\"Cmd\":[\"a\"],\"Labels\":{\"a\":1}}",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_error err = {0};

        EXPECT(exec_of(bad[i], &err) == NULL);
        EXPECT(err.code != HF_OK);
        err = (struct hf_error){0};
        EXPECT(create_of(bad[i], &err) == NULL);
        EXPECT(err.code != HF_OK);
    }
}

TEST(words_mean_what_they_mean_to_docker)
{
    struct detach_keys keys;
    int minor = 0;
    int64_t ms;

    EXPECT(docker_truth("1") && docker_truth("true") && docker_truth("x"));
    EXPECT(!docker_truth(NULL) && !docker_truth("") && !docker_truth("0") && !docker_truth("No") &&
           !docker_truth("FALSE") && !docker_truth("none"));
    EXPECT(docker_version("v1.41", &minor) && minor == 41);
    EXPECT(!docker_version("v1.", &minor) && !docker_version("v2.1", &minor) &&
           !docker_version("v1.4x", &minor) && !docker_version("v1.999999", &minor));
    EXPECT(docker_name_ok("a_b.c-1") && !docker_name_ok("a") && !docker_name_ok("-a") &&
           !docker_name_ok("a/b") && !docker_name_ok(""));
    EXPECT(docker_time("10.25", &ms) && ms == 10250);
    EXPECT(docker_time("0.0000001", &ms) && ms == 0);
    EXPECT(!docker_time("", &ms) && !docker_time("x", &ms) && !docker_time("1.x", &ms) &&
           !docker_time("99999999999999999999", &ms));
    EXPECT(docker_decode_keys(&keys, NULL, NULL) == 0 && keys.count == 2);
    EXPECT(docker_decode_keys(&keys, "none", NULL) == 0 && keys.count == 0);
    EXPECT(docker_decode_keys(&keys, "ctrl-", NULL) < 0);
}

static bool fits_as(enum docker_filter_kind kind, const char *filters,
                    const struct docker_subject *s)
{
    struct hf_error err = {0};
    json_t *f = docker_filter_parse(kind, filters, &err);
    bool yes = f != NULL && docker_filter_fits(kind, f, s);

    EXPECT(f != NULL);
    json_decref(f);
    return yes;
}

static bool fits(const char *filters, const struct docker_subject *s)
{
    return fits_as(DOCKER_FILTER_CONTAINERS, filters, s);
}

TEST(filters_of_images_and_events_choose)
{
    const struct docker_subject s = {
        .id = "abc123", .name = "web-1", .image = "host:5/team/app:2", .action = "die"};
    const enum docker_filter_kind images = DOCKER_FILTER_IMAGES, events = DOCKER_FILTER_EVENTS;

    EXPECT(fits_as(images, "{\"reference\":[\"host:5/team/app\"]}", &s));
    EXPECT(fits_as(images, "{\"reference\":[\"host:5/*/app:2\"]}", &s));
    EXPECT(!fits_as(images, "{\"reference\":[\"host:5/*\"]}", &s));
    EXPECT(!fits_as(images, "{\"dangling\":[\"true\"]}", &s));
    EXPECT(fits_as(images, "{\"dangling\":{\"false\":true}}", &s));
    EXPECT(fits_as(events, "{\"container\":[\"web-1\"],\"event\":[\"die\"]}", &s));
    EXPECT(fits_as(events, "{\"container\":[\"abc\"],\"image\":[\"host:5/team/app\"]}", &s));
    EXPECT(!fits_as(events, "{\"container\":[\"web\"]}", &s));
    EXPECT(!fits_as(events, "{\"container\":[\"\"]}", &s));
    EXPECT(!fits_as(events, "{\"image\":[\"host:5/team\"]}", &s));
    EXPECT(!fits_as(events, "{\"event\":[\"start\"]}", &s));
    EXPECT(!fits_as(events, "{\"type\":[\"image\"]}", &s));
}

TEST(filters_choose)
{
    json_t *labels = tree("{\"a\":\"b\"}");
    const struct docker_subject s = {.id = "abc123",
                                     .name = "web-1",
                                     .image = "img",
                                     .status = "exited",
                                     .labels = labels,
                                     .exit_code = 3};
    static const char *const bad[] = {"[]",
                                      "{",
                                      "{\"x\":[\"y\"]}",
                                      "{\"name\":[\"(\"]}",
                                      "{\"status\":[\"odd\"]}",
                                      "{\"exited\":[\"x\"]}",
                                      "{\"name\":7}",
                                      "{\"name\":[7]}"};

    EXPECT(fits(NULL, &s) && fits("{}", &s));
    EXPECT(fits("{\"name\":{\"web\":true}}", &s) && fits("{\"name\":[\"^/web\"]}", &s));
    EXPECT(fits("{\"name\":[\"^web-1$\"]}", &s) && !fits("{\"name\":[\"^eb\"]}", &s));
    EXPECT(fits("{\"name\":[\"no\",\"web\"]}", &s) && !fits("{\"name\":[\"no\"]}", &s));
    EXPECT(fits("{\"id\":[\"abc\"]}", &s) && !fits("{\"id\":[\"bc\"]}", &s));
    EXPECT(fits("{\"label\":[\"a\"]}", &s) && fits("{\"label\":[\"a=b\"]}", &s));
    EXPECT(!fits("{\"label\":[\"a\",\"c\"]}", &s)); /* all of them */
    EXPECT(fits("{\"exited\":[\"3\"],\"status\":[\"exited\"],\"ancestor\":[\"img\"]}", &s));
    EXPECT(!fits("{\"exited\":[\"0\"]}", &s));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_error err = {0};

        EXPECT(docker_filter_parse(DOCKER_FILTER_CONTAINERS, bad[i], &err) == NULL);
        EXPECT(err.code != HF_OK);
    }
    json_decref(labels);
}

static struct slice slice_of(const char *text, enum stream stream)
{
    return (struct slice){.bytes = text, .len = strlen(text), .stream = stream, .time_ms = 1500};
}

TEST(a_log_has_frames_and_a_time_before_each_line)
{
    struct log_form f = {.framed = true, .timestamps = true};
    struct slice s = slice_of("a\nb", STREAM_STDERR);
    struct buf out = {0};

    log_form_put(&f, &out, &s);
    EXPECT_BYTES(buf_data(&out), out.len,
                 "\2\0\0\0\0\0\0\x41"
                 "1970-01-01T00:00:01.500000000Z a\n"
                 "1970-01-01T00:00:01.500000000Z b");
    buf_clear(&out);
    f.framed = false;
    s = slice_of("c\n", STREAM_STDERR); /* the line goes on */
    log_form_put(&f, &out, &s);
    EXPECT_BYTES(buf_data(&out), out.len, "c\n");
    buf_fini(&out);
}

TEST(frames_have_a_bound)
{
    static char much[3 * DOCKER_FRAME_BYTES];
    struct log_form f = {.framed = true};
    struct slice s = {.bytes = much, .len = sizeof much, .stream = STREAM_STDOUT};
    struct buf out = {0};

    log_form_put(&f, &out, &s);
    EXPECT_U64(out.len, sizeof much + 3 * DOCKER_FRAME_HEAD);
    EXPECT_BYTES(buf_data(&out), DOCKER_FRAME_HEAD, "\1\0\0\0\0\0\x80\0");
    buf_fini(&out);
}

TEST(columns_of_ps)
{
    static const char *const bad[] = {"-o comm", "-o pid,nonsense", "--help", "-o", "pid"};
    struct top_columns c;
    struct top_row r = {.uid = 5};
    struct buf cell = {0};

    EXPECT_INT(top_columns_parse(&c, NULL, NULL), 0);
    EXPECT_STR(top_title(&c, 0), "UID");
    EXPECT_INT(top_columns_parse(&c, "-eo pid,ppid,args", NULL), 0);
    EXPECT_U64(c.count, 3);
    EXPECT(top_parse_stat(&r, "7 (a) b) S 1 7 7 34817 7 0 0 0 0 0 100 50 0 0 20 0 3 0 200 8192 2 9",
                          100, 12000));
    EXPECT_STR(r.comm, "a) b");
    EXPECT(r.pid == 7 && r.ppid == 1 && r.sid == 7 && r.cpu_ms == 1500 && r.age_ms == 10000);
    top_cell(&c, 2, &r, &cell);
    EXPECT_BYTES(buf_data(&cell), cell.len, "[a) b]");
    buf_fini(&cell);
    EXPECT(!top_parse_stat(&r, "7 (a S 1", 100, 1) && !top_parse_stat(&r, "", 100, 1));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(top_columns_parse(&c, bad[i], NULL) < 0);
}

TEST(paths_are_made_plain_and_keep_their_ending)
{
    static const struct {
        const char *text, *path, *name;
    } cases[] = {
        {"/a/b", "/a/b", "b"},  {"a//b/", "/a/b/", "b"}, {"/a/./b/.", "/a/b/.", "."},
        {"/a/../b", "/b", "b"}, {"/..", "/", "."},       {"/", "/", "."},
        {".", "/.", "."},       {"/a/b/..", "/a", "a"},  {"../../x", "/x", "x"},
        {"/a.", "/a.", "a."},   {"/a/../", "/", "."},
    };
    char path[PATH_MAX], name[NAME_MAX + 1], small[8];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT(docker_archive_path(cases[i].text, path, sizeof path));
        EXPECT_STR(path, cases[i].path);
        docker_archive_name(path, name);
        EXPECT_STR(name, cases[i].name);
    }
    EXPECT(docker_archive_path("/abc", small, sizeof small));
    EXPECT(!docker_archive_path("/abcdef", small, sizeof small));
}

TEST(spans_of_time_in_words)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {{0, "Less than a second"}, {1, "1 second"},    {59, "59 seconds"},
                {60, "About a minute"},    {120, "2 minutes"}, {3599, "59 minutes"},
                {3600, "About an hour"},   {7200, "2 hours"},  {48 * 3600, "2 days"},
                {14 * 86400, "2 weeks"}};
    char text[64];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        docker_inspect_span(rows[i].s * 1000, text, sizeof text);
        EXPECT_STR(text, rows[i].text);
    }
}
