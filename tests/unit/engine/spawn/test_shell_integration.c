/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shell_integration.c - what is started when a shell is to mark its prompts, and where its files lie
 */
#include "engine/spawn/shell_integration.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "test.h"

static char base[64];

static const char *make_base(void)
{
    strcpy(base, "/tmp/hf-shell-XXXXXX");
    REQUIRE(mkdtemp(base) != NULL);
    setenv("TMPDIR", base, 1);
    return base;
}

static void remove_base(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf '%s'", base);
    REQUIRE(system(line) == 0);
}

static struct spawn_spec spec_of(const char *command)
{
    struct spawn_spec s;

    spec_init(&s);
    s.command = command;
    s.pty = true;
    s.shell_integration = true;
    return s;
}

TEST(without_the_wish_nothing_changes)
{
    struct spawn_spec s = spec_of("bash");
    struct shell_plan p;

    s.shell_integration = false;
    EXPECT_INT(shell_plan(&s, &p, NULL), 0);
    EXPECT(p.spec.args == s.args && p.spec.env == s.env);
    shell_plan_fini(&p);
}

TEST(bash_gets_another_rc_file)
{
    const char *const login[] = {"--login"}, *const norc[] = {"-i", "--norc"};
    struct spawn_spec s = spec_of("/usr/bin/bash");
    struct shell_plan p;

    make_base();
    EXPECT_INT(shell_plan(&s, &p, NULL), 0);
    EXPECT_U64(p.spec.arg_count, 3);
    EXPECT_STR(p.spec.args[0], "--rcfile");
    EXPECT_STR(strrchr(p.spec.args[1], '/'), "/rc.bash");
    EXPECT_INT(access(p.spec.args[1], R_OK), 0);
    EXPECT_STR(p.spec.args[2], "-i");
    shell_plan_fini(&p);
    s.args = login;
    s.arg_count = 1;
    EXPECT_INT(shell_plan(&s, &p, NULL), 0);
    EXPECT_STR(strrchr(p.spec.args[1], '/'), "/profile.bash");
    shell_plan_fini(&p);
    s.args = norc;
    s.arg_count = 2;
    EXPECT_INT(shell_plan(&s, &p, NULL), 0);
    EXPECT_STR(strrchr(p.spec.args[1], '/'), "/integration.bash");
    shell_plan_fini(&p);
    remove_base();
}

TEST(zsh_gets_another_directory_and_is_told_the_users)
{
    const struct spec_env env[] = {{"ZDOTDIR", "/home/u/z"}, {"A", "1"}};
    struct spawn_spec s = spec_of("zsh");
    struct shell_plan p;

    make_base();
    s.env = env;
    s.env_count = 2;
    EXPECT_INT(shell_plan(&s, &p, NULL), 0);
    EXPECT_U64(p.spec.env_count, 3);
    EXPECT_STR(p.spec.env[0].name, "A");
    EXPECT_STR(p.spec.env[1].name, "ZDOTDIR");
    EXPECT(strncmp(p.spec.env[1].value, base, strlen(base)) == 0);
    EXPECT_STR(p.spec.env[2].name, "HOLDFAST_ZDOTDIR");
    EXPECT_STR(p.spec.env[2].value, "/home/u/z");
    shell_plan_fini(&p);
    remove_base();
}

TEST(other_commands_and_arguments_are_refused)
{
    const char *const args[] = {"-c"};
    struct spawn_spec s = spec_of("sh");
    struct hf_error err = {0};

    EXPECT(shell_check(&s, &err) < 0);
    EXPECT_INT(err.code, HF_E_bad_value);
    s = spec_of("bash");
    EXPECT_INT(shell_check(&s, &err), 0);
    s.pty = false;
    EXPECT(shell_check(&s, &err) < 0);
    s = spec_of("bash");
    s.shell = true;
    EXPECT(shell_check(&s, &err) < 0);
    s = spec_of("zsh");
    s.args = args;
    s.arg_count = 1;
    EXPECT(shell_check(&s, &err) < 0);
}

/* What somebody else laid there, or may write to, is not what a shell of ours reads. */
TEST(files_are_made_anew_when_lost_and_not_taken_from_others)
{
    const char *bases[] = {make_base(), NULL};
    char dir[PATH_MAX], file[PATH_MAX + 16];
    struct stat st;

    EXPECT_INT(shell_files(bases, dir), 0);
    snprintf(file, sizeof file, "%s/zsh/.zshrc", dir);
    EXPECT_INT(unlink(file), 0);
    EXPECT_INT(shell_files(bases, dir), 0);
    EXPECT_INT(stat(file, &st), 0);
    EXPECT_INT(st.st_mode & 0777, 0644);
    EXPECT_INT(truncate(file, 3), 0);
    EXPECT_INT(shell_files(bases, dir), 0);
    EXPECT_INT(stat(file, &st), 0);
    EXPECT(st.st_size > 3);
    EXPECT_INT(chmod(dir, 0777), 0);
    EXPECT(shell_files(bases, dir) < 0);
    remove_base();
    EXPECT(shell_files(bases, dir) < 0);
}
