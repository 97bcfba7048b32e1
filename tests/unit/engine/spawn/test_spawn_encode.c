/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spawn_encode.c - encoding of spawn requests: paths, arguments, environment
 */
#include "engine/spawn/engine_spawn.h"
#include "test.h"

static struct k_spawn packet;
static struct buf strings;

static const char *string_at(size_t n)
{
    const char *s = buf_data(&strings);

    while (n-- > 0)
        s += strlen(s) + 1;
    return s;
}

static void build(struct spawn_spec *s)
{
    struct hf_error err = {0};

    EXPECT_INT(spec_check(s, &err), 0);
    EXPECT_INT(spawn_encode_build(s, "proc_x", &packet, &strings, &err), 0);
}

static const char *env_of(const char *name)
{
    size_t i, len = strlen(name);

    for (i = 0; i < packet.env_count; i++) {
        const char *s = string_at(1 + packet.path_count + packet.arg_count + i);
        if (strncmp(s, name, len) == 0 && s[len] == '=')
            return s + len + 1;
    }
    return NULL;
}

TEST(packet_looks_along_the_childs_own_path)
{
    struct spec_env env[] = {{"PATH", "/a:/b/c"}};
    struct spawn_spec s;

    spec_init(&s);
    s.command = "prog";
    s.env = env;
    s.env_count = 1;
    build(&s);
    EXPECT_INT(packet.path_count, 2);
    EXPECT_STR(spawn_encode_path(&strings, 0), "/a/prog");
    EXPECT_STR(spawn_encode_path(&strings, 1), "/b/c/prog");
    EXPECT_STR(env_of("PATH"), "/a:/b/c");
    buf_fini(&strings);
}

TEST(packet_takes_a_path_as_it_is)
{
    const char *args[] = {"one", ""};
    struct spawn_spec s;

    spec_init(&s);
    s.command = "./prog";
    s.args = args;
    s.arg_count = 2;
    s.cwd = "/tmp";
    build(&s);
    EXPECT_INT(packet.path_count, 1);
    EXPECT_STR(string_at(0), "/tmp");
    EXPECT_STR(string_at(1), "./prog");
    EXPECT_INT(packet.arg_count, 3);
    EXPECT_STR(string_at(4), "");
    EXPECT_STR(env_of("PWD"), "/tmp");
    buf_fini(&strings);
}

TEST(packet_gives_a_shell_line_to_the_shell)
{
    struct spawn_spec s;

    spec_init(&s);
    s.command = "echo $HOME | wc";
    s.shell = true;
    build(&s);
    EXPECT_STR(string_at(1), "/bin/sh");
    EXPECT_STR(string_at(3), "-c");
    EXPECT_STR(string_at(4), "echo $HOME | wc");
    buf_fini(&strings);
}

/* The token of the daemon once reached every child this way. */
TEST(packet_keeps_the_daemons_secrets_from_children)
{
    struct spawn_spec s;

    setenv("HOLDFAST_TOKEN", "secret", 1);
    setenv("LISTEN_FDS", "3", 1);
    setenv("TERM", "dumb", 1);
    spec_init(&s);
    s.command = "/bin/true";
    s.pty = true;
    build(&s);
    EXPECT(env_of("HOLDFAST_TOKEN") == NULL);
    EXPECT(env_of("LISTEN_FDS") == NULL);
    EXPECT_STR(env_of("TERM"), "xterm-256color");
    EXPECT_STR(env_of("HOLDFAST_PROCESS_ID"), "proc_x");
    buf_fini(&strings);
}

TEST(packet_null_removes_and_clear_env_starts_empty)
{
    struct spec_env env[] = {{"GONE", NULL}, {"HERE", "1"}};
    struct spawn_spec s;

    setenv("GONE", "x", 1);
    setenv("OTHER", "y", 1);
    spec_init(&s);
    s.command = "/bin/true";
    s.env = env;
    s.env_count = 2;
    build(&s);
    EXPECT(env_of("GONE") == NULL);
    EXPECT_STR(env_of("OTHER"), "y");
    EXPECT_STR(env_of("HERE"), "1");
    buf_fini(&strings);
    s.clear_env = true;
    build(&s);
    EXPECT(env_of("OTHER") == NULL);
    EXPECT_INT(packet.env_count, 2);
    buf_fini(&strings);
}

TEST(spec_check_refuses_what_cannot_be_started)
{
    struct spec_env bad_env[] = {{"A=B", "x"}};
    struct hf_error err = {0};
    struct spawn_spec s;

    spec_init(&s);
    EXPECT(spec_check(&s, &err) < 0);
    EXPECT_INT(err.code, HF_E_missing_field);
    s.command = "x";
    s.env = bad_env;
    s.env_count = 1;
    EXPECT(spec_check(&s, &err) < 0);
    EXPECT_STR(err.field, "env");
    s.env_count = 0;
    s.pty = true;
    s.rows = 5000;
    s.cols = 80;
    EXPECT(spec_check(&s, &err) < 0);
    EXPECT_INT(err.code, HF_E_bad_size);
    s.rows = 24;
    s.stdin_mode = STDIN_PIPE;
    EXPECT(spec_check(&s, &err) < 0);
    EXPECT_STR(err.field, "stdin");
}
