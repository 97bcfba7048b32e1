/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spawn.c - processes through the keeper's link: what they start with, and what they leave
 */
#include "test.h"

#include "keeper_rig.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

TEST(a_pipe_process_gives_its_output_and_exit)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_exited x;
    char out[256];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo hello; exit 3"));
    x = rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "hello\n");
    EXPECT(WIFEXITED(x.status) && WEXITSTATUS(x.status) == 3);
    EXPECT(x.usage.max_rss_kib > 0);
    EXPECT(x.at_wall_ms > clock_wall_ms() - 60000);
    EXPECT_U64(x.oom, 0);
    rig_end(&r, &w);
}

TEST(the_cpu_time_of_a_process_is_told)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_exited x;
    char out[16];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
    x = rig_run(&w, &s, out, sizeof out);
    EXPECT(x.usage.user_us + x.usage.system_us > 1000);
    rig_end(&r, &w);
}

TEST(stdout_and_stderr_are_apart_and_stdin_reaches_the_program)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    struct k_close c;
    char out[256];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("cat; echo oops >&2"));
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    REQUIRE(m.fds == (K_FD_STDIN | K_FD_STDOUT | K_FD_STDERR));
    for (int i = 0; i < 3; i++)
        EXPECT(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
    REQUIRE(write(fds[0], "typed", 5) == 5);
    close(fds[0]);
    /* The keeper's own copy holds the pipe open until it is told. */
    c = (struct k_close){.type = K_CLOSE, .entry = m.entry, .which = K_FD_STDIN};
    rig_send(w.channel, &c, sizeof c, NULL, 0);
    rig_read_until(fds[1], out, sizeof out, NULL);
    EXPECT_STR(out, "typed");
    rig_read_until(fds[2], out, sizeof out, NULL);
    EXPECT_STR(out, "oops\n");
    close(fds[1]);
    close(fds[2]);
    EXPECT_INT(rig_exited(&w).status, 0);
    rig_end(&r, &w);
}

TEST(without_stdin_the_program_reads_the_end_at_once)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("cat; echo end"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "end\n");
    rig_end(&r, &w);
}

TEST(a_terminal_has_its_size_and_mode_before_the_program_looks)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    char out[1024];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("stty size; stty -a | grep -o ' iutf8'; tty"));
    s.m.pty = 1;
    s.m.rows = 33;
    s.m.cols = 123;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    REQUIRE(m.fds == K_FD_TTY);
    rig_read_until(fds[0], out, sizeof out, NULL);
    out[25] = '\0';
    EXPECT_STR(out, "33 123\r\n iutf8\r\n/dev/pts/");
    EXPECT(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
    EXPECT_INT(rig_exited(&w).status, 0);
    close(fds[0]);
    rig_end(&r, &w);
}

TEST(ctrl_c_typed_into_the_terminal_interrupts_the_program)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo up; exec sleep 60"));
    s.m.pty = 1;
    rig_spawn(&w, &s);
    rig_spawned(&w, fds);
    rig_read_until(fds[0], out, sizeof out, "up");
    REQUIRE(write(fds[0], "\003", 1) == 1);
    EXPECT_INT(rig_exited(&w).status, SIGINT);
    close(fds[0]);
    rig_end(&r, &w);
}

TEST(arguments_and_environment_arrive_exactly)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "printf '<%s>' \"$0\" \"$@\"; env", "", "a b", "\xc3\xa4\n", NULL};
    static const char *const envp[] = {"ONE=1", "EMPTY=", "HOLDFAST_PROCESS_ID=proc_outer", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512];

    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.envp = envp;
    rig_run(&w, &s, out, sizeof out);
    EXPECT(strncmp(out, "<><a b><\xc3\xa4\n>", 12) == 0);
    EXPECT(strstr(out, "ONE=1\n") != NULL);
    EXPECT(strstr(out, "EMPTY=\n") != NULL);
    /* An inherited mark would make this process part of another tree. */
    EXPECT(strstr(out, "HOLDFAST_PROCESS_ID=proc_rig\n") != NULL);
    EXPECT(strstr(out, "proc_outer") == NULL);
    rig_end(&r, &w);
}

TEST(long_strings_come_through_a_memory_file)
{
    static char big[100 * 1024];
    const char *const argv[] = {"/bin/sh", "-c", "printf %s \"$1\" | wc -c", "sh", big, NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    memset(big, 'x', sizeof big - 1);
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.by_memfd = true;
    rig_run(&w, &s, out, sizeof out);
    EXPECT_INT(atoi(out), (int)sizeof big - 1);
    rig_end(&r, &w);
}

/* A search path of colons is no fault of the worker's. */
TEST(too_many_strings_are_an_answer)
{
    enum { COUNT = 70000 };
    static const char *argv[COUNT + 2];
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[16];

    argv[0] = "/bin/true";
    for (int i = 1; i <= COUNT; i++)
        argv[i] = "";
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.by_memfd = true;
    rig_fail(&w, &s, K_STAGE_EXEC, E2BIG, 0);
    rig_spec_init(&s, SH("echo on"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "on\n");
    rig_end(&r, &w);
}

TEST(no_descriptor_but_the_three_is_inherited)
{
    static const char *const argv[] = {"/bin/ls", "/proc/self/fd", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s, other;
    int fds[8], more[8];
    char out[256];

    rig_begin(&r, &w);
    /* Another process's terminal and pipes are open in the keeper meanwhile. */
    rig_spec_init(&other, SH("exec sleep 60"));
    other.m.pty = 1;
    rig_spawn(&w, &other);
    rig_spawned(&w, fds);
    other.m.pty = 0;
    other.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &other);
    rig_spawned(&w, more);
    rig_spec_init(&s, argv);
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "0\n1\n2\n3\n"); /* 3 is the directory that ls reads */
    close(fds[0]);
    for (int i = 0; i < 3; i++)
        close(more[i]);
    rig_end(&r, &w);
}

static void ignore_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
}

TEST(signals_are_at_default_and_none_is_blocked)
{
    static const char *const argv[] = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
                                       NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256];

    rig_init(&r);
    r.before = ignore_signals;
    rig_start(&r);
    rig_worker(&r, &w);
    rig_spec_init(&s, argv);
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    rig_end(&r, &w);
}

TEST(a_process_leads_its_own_session_and_group)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int pid = 0, pgid = 1, sid = 2;
    char out[256];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("ps -o pid=,pgid=,sid= -p $$"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_INT(sscanf(out, "%d %d %d", &pid, &pgid, &sid), 3);
    EXPECT_INT(pgid, pid);
    EXPECT_INT(sid, pid);
    rig_end(&r, &w);
}

TEST(the_working_directory_is_set)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[128];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("pwd -P"));
    s.cwd = "/usr";
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "/usr\n");
    rig_end(&r, &w);
}

TEST(many_starts_overlap_and_each_is_answered)
{
    enum { COUNT = 64 };
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    bool seen[COUNT] = {false};
    int spawned = 0, exited = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 0"));
    for (uint32_t i = 0; i < COUNT; i++) {
        s.m.req = i;
        rig_spawn(&w, &s);
    }
    while (exited < COUNT) {
        struct k_surveyed room;
        size_t count;
        int fds[8];

        ssize_t len = rig_receive(w.channel, &room, sizeof room, fds, &count);

        REQUIRE(len > 0);
        if (room.type == K_SPAWNED) {
            const struct k_spawned *m = (const struct k_spawned *)&room;

            REQUIRE(m->req < COUNT && m->error == 0 && !seen[m->req]);
            seen[m->req] = true;
            spawned++;
            exited += len == sizeof(struct k_ran);
            close(fds[0]);
            close(fds[1]);
        } else {
            REQUIRE(room.type == K_EXITED);
            exited++;
            EXPECT(exited <= spawned);
        }
    }
    rig_end(&r, &w);
}

/* --- starts that nobody waits for ------------------------------------------- */

TEST(a_quiet_start_of_a_short_program_is_told_with_its_exit)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int fds[8], together = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 7"));
    s.m.quiet = 1;
    /* A busy machine may need longer than the quiet lasts, even many times in a row. */
    for (int i = 0; i < 20 || (together == 0 && i < 2000); i++) {
        struct k_exited x;

        rig_spawn(&w, &s);
        EXPECT_INT(rig_spawned(&w, fds).error, 0);
        together += w.has_exit;
        x = rig_exited(&w);
        EXPECT_INT(WEXITSTATUS(x.status), 7);
        rig_forget(&w, x.entry);
        close(fds[0]);
        close(fds[1]);
    }
    EXPECT(together > 0);
    rig_end(&r, &w);
}

TEST(a_quiet_start_of_a_long_program_is_told_soon_all_the_same)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("read x"));
    s.m.quiet = 1;
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    EXPECT_INT(rig_spawned(&w, fds).error, 0);
    EXPECT(!w.has_exit);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    rig_end(&r, &w);
}

/* The program talks over it and its children do not have it, whatever numbers were free. */
TEST(a_side_socket_is_descriptor_three_in_both_directions)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    char out[64];
    int fds[8];

    rig_begin(&r, &w);
    for (int stdin_mode = K_STDIN_NULL; stdin_mode <= K_STDIN_PIPE; stdin_mode++) {
        size_t side = stdin_mode == K_STDIN_PIPE ? 3 : 2;

        rig_spec_init(&s, SH("read x <&3; echo got $x >&3; ls /proc/self/fd 3>&- | tr '\\n' ' '"));
        s.m.stdin_mode = (uint8_t)stdin_mode;
        s.m.side = 1;
        rig_spawn(&w, &s);
        m = rig_spawned(&w, fds);
        REQUIRE(m.error == 0 && (m.fds & K_FD_SIDE));
        EXPECT(fcntl(fds[side], F_GETFL) & O_NONBLOCK);
        REQUIRE(write(fds[side], "this\n", 5) == 5);
        rig_read_until(fds[side], out, sizeof out, "\n");
        EXPECT_STR(out, "got this\n");
        rig_read_until(fds[side - 2], out, sizeof out, NULL);
        EXPECT_STR(out, "0 1 2 3 "); /* 3 is the directory that ls reads */
        EXPECT_INT(rig_exited(&w).status, 0);
        for (size_t i = 0; i <= side; i++)
            close(fds[i]);
        rig_forget(&w, m.entry);
    }
    rig_end(&r, &w);
}
