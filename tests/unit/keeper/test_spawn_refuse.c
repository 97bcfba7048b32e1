/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spawn_refuse.c - starts that fail or hang: the error reported, and nothing left behind
 */
#include "test.h"

#include "keeper_rig.h"

#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

TEST(what_cannot_be_executed_is_told_with_errno_and_path)
{
    static const char *const none[] = {"/nowhere/a", "/nowhere/b", NULL};
    static const char *const denied[] = {"/nowhere/a", "/etc/passwd", "/nowhere/b", NULL};
    static const char *const dir[] = {"/etc/passwd/x", "/tmp", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    rig_begin(&r, &w);
    before = rig_steady_fds(w.boot.keeper_pid);
    rig_spec_init(&s, SH("true"));
    s.paths = none;
    rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 1);
    s.paths = denied;
    rig_fail(&w, &s, K_STAGE_EXEC, EACCES, 1);
    s.paths = dir;
    s.m.pty = 1;
    rig_fail(&w, &s, K_STAGE_EXEC, EACCES, 1);
    s.paths = s.argv;
    s.cwd = "/nowhere";
    rig_fail(&w, &s, K_STAGE_CWD, ENOENT, 0);
    s.cwd = "/etc/passwd";
    rig_fail(&w, &s, K_STAGE_CWD, ENOTDIR, 0);
    s.cwd = "";
    s.m.set_oom = 1;
    s.m.oom_score_adj = 5000;
    rig_fail(&w, &s, K_STAGE_LIMITS, EINVAL, 0);
    s.m.set_oom = 0;
    s.m.set_user = 1;
    s.m.uid = s.m.gid = UINT32_MAX - 1;
    s.m.group_count = 1;
    s.m.groups[0] = UINT32_MAX;
    rig_fail(&w, &s, K_STAGE_USER, geteuid() == 0 ? EINVAL : EPERM, 0);
    EXPECT(rig_count_fds(w.boot.keeper_pid) <= before + 2 * 16); /* slots of the cgroup */
    rig_end(&r, &w);
}

/* Orderly means that neither the entry nor the dead child is left. */
TEST(a_failed_start_leaves_nothing_behind)
{
    static const char *const none[] = {"/nowhere/a", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("true"));
    s.paths = none;
    /* From the second terminal on, what is made ahead is there. */
    for (int i = 0; i < 2; i++) {
        s.m.pty = 1;
        rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 0);
    }
    before = rig_steady_fds(w.boot.keeper_pid);
    for (int i = 0; i < 50; i++) {
        s.m.pty = i % 2;
        rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 0);
    }
    EXPECT(rig_has_fds(w.boot.keeper_pid, before));
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    rig_end(&r, &w);
}

/* The shell once ran whatever the kernel did not know: a broken program looked like a bad script. */
TEST(a_file_without_a_known_head_is_an_error_with_its_path)
{
    char path[] = "/tmp/holdfast-script-XXXXXX";
    const char *const argv[] = {path, "arg", NULL};
    const char *const paths[] = {"/nowhere/a", path, "/bin/true", NULL};
    int fd = mkstemp(path);
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;

    REQUIRE(write(fd, "echo \"script $1\"\n", 17) == 17);
    fchmod(fd, 0755);
    close(fd);
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    rig_fail(&w, &s, K_STAGE_EXEC, ENOEXEC, 0);
    s.paths = paths;
    rig_fail(&w, &s, K_STAGE_EXEC, ENOEXEC, 1);
    unlink(path);
    rig_end(&r, &w);
}

TEST(a_quiet_start_that_fails_says_why)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, (const char *const[]){"/nowhere/at/all", NULL});
    s.m.quiet = 1;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.entry, 0);
    EXPECT_INT(m.error, ENOENT);
    EXPECT_U64(m.stage, K_STAGE_EXEC);
    rig_end(&r, &w);
}

/* The answer says so, and the worker that could not know lives on. */
TEST(a_full_table_of_files_is_an_answer)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct rlimit few;
    struct k_spawned m;
    int fds[8], started = 0;

    rig_begin(&r, &w);
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, NULL, &few) == 0);
    few.rlim_cur = 40;
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, &few, NULL) == 0);
    rig_spec_init(&s, SH("exec sleep 60"));
    for (int i = 0; i < 30; i++) {
        rig_spawn(&w, &s);
        m = rig_spawned(&w, fds);
        if (m.error == 0) {
            started++;
            close(fds[0]);
            close(fds[1]);
        } else {
            EXPECT_INT(m.error, EMFILE);
        }
    }
    EXPECT(started > 2 && started < 20);
    EXPECT(rig_state(w.boot.pid) != 0);
    rig_end(&r, &w);
}

/* --- starts that hang ------------------------------------------------------ */

/*
 * A program whose execution hangs: opening a file with a lease on it waits
 * until the holder gives it up, as opening one on a dead file server waits.
 */
struct hanging {
    char path[40];
    int fd; /* -1: this file system has no leases */
};

static struct hanging hang_make(void)
{
    struct hanging h = {.path = "/tmp/holdfast-hang-XXXXXX"};
    int fd = mkstemp(h.path);

    REQUIRE(write(fd, "#!/bin/sh\necho late\n", 20) == 20);
    fchmod(fd, 0755);
    close(fd);
    signal(SIGIO, SIG_IGN);
    h.fd = open(h.path, O_RDONLY | O_CLOEXEC);
    if (fcntl(h.fd, F_SETLEASE, F_WRLCK) < 0) {
        close(h.fd);
        unlink(h.path);
        h.fd = -1;
    }
    return h;
}

static void hang_release(struct hanging *h)
{
    /* Not by closing alone: the keeper has inherited the descriptor. */
    fcntl(h->fd, F_SETLEASE, F_UNLCK);
    close(h->fd);
    h->fd = -1;
}

TEST(a_start_that_hangs_does_not_hold_the_others)
{
    struct hanging h = hang_make();
    struct rig r;
    struct rig_worker w;
    struct rig_spec slow, quick;
    struct k_spawned m;
    char out[64];
    int fds[8];

    if (h.fd < 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&slow, (const char *const[]){h.path, NULL});
    slow.m.req = 99;
    rig_spawn(&w, &slow);
    rig_spec_init(&quick, SH("echo quick"));
    for (int i = 0; i < 3; i++) {
        rig_run(&w, &quick, out, sizeof out);
        EXPECT_STR(out, "quick\n");
    }
    hang_release(&h);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.req, 99);
    EXPECT_INT(m.error, 0);
    rig_read_until(fds[0], out, sizeof out, NULL);
    EXPECT_STR(out, "late\n");
    close(fds[0]);
    close(fds[1]);
    EXPECT_INT(rig_exited(&w).status, 0);
    unlink(h.path);
    rig_end(&r, &w);
}

/* The next worker could not know what the process was for. */
TEST(a_start_that_hangs_is_given_up_with_the_worker_that_asked)
{
    struct hanging h = hang_make();
    struct rig r;
    struct rig_worker w;
    struct rig_spec slow, quick;
    char out[64];
    int before;

    if (h.fd < 0)
        return;
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    rig_ready(&w);
    rig_spec_init(&quick, SH("echo quick"));
    rig_run(&w, &quick, out, sizeof out);
    before = rig_steady_fds(r.keeper);
    rig_spec_init(&slow, (const char *const[]){h.path, NULL});
    rig_spawn(&w, &slow);
    rig_run(&w, &quick, out, sizeof out);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    EXPECT(rig_has_fds(r.keeper, before));
    hang_release(&h);
    unlink(h.path);
    rig_end(&r, &w);
}

/*
 * Half a minute is enough for any exec. The keeper's parts are put together
 * here without its loop, so that the clock can be told what time it is.
 */
TEST(a_start_that_hangs_too_long_is_answered)
{
    static const char strings[] = "/tmp";
    struct hanging h = hang_make();
    struct keeper_options options = {.state_bytes = 0};
    struct keeper k = {.options = &options, .pid = getpid(), .nofile = {1024, 1024}};
    struct rig_worker w = {.channel = -1};
    struct k_spawned m;
    char packet[sizeof(struct k_spawn) + 128];
    struct k_spawn *spawn = (struct k_spawn *)packet;
    char *at = packet + sizeof *spawn;
    int fds[8] = {-1, -1};
    pid_t pid;

    if (h.fd < 0)
        return;
    table_init(&k.table);
    (void)cgroup_resume(&k.cgroup, "", 0);
    spawns_init(&k);
    deferred_init(&k);
    worker_init(&k);
    REQUIRE(channel_open(&k.worker.channel, &w.channel) == 0);
    memset(packet, 0, sizeof packet);
    spawn->req = 31;
    strcpy(spawn->id, "proc_late");
    spawn->cpu_s = spawn->memory_bytes = spawn->processes = K_UNSET;
    spawn->open_files = spawn->file_bytes = K_UNSET;
    spawn->path_count = spawn->arg_count = 1;
    at = stpcpy(at, strings) + 1;
    at = stpcpy(at, h.path) + 1;
    at = stpcpy(at, "late") + 1;
    spawn->strings_len = (uint32_t)(at - packet - (long)sizeof *spawn);
    EXPECT(spawn_request(&k, spawn, packet + sizeof *spawn, fds));
    EXPECT_U64(k.spawns.count, 1);
    EXPECT_U64(k.table.count, 1);
    pid = list_entry(k.table.all.next, struct entry, in_all)->pub.pid;
    /* It is on its way, and its time is not up. */
    for (int i = 0; i < 1000 && rig_state(pid) != 'S' && rig_state(pid) != 'D'; i++)
        usleep(1000);
    spawns_step(&k, clock_mono_ms());
    EXPECT_U64(k.table.count, 1);

    spawns_step(&k, clock_mono_ms() + SPAWN_DEADLINE_MS + 1000);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.req, 31);
    EXPECT_U64(m.entry, 0);
    EXPECT_INT(m.error, ETIMEDOUT);
    EXPECT_U64(m.stage, K_STAGE_EXEC);
    EXPECT_U64(k.table.count, 0);
    EXPECT(spawns_are_settled(&k));
    /* Its memory goes when the child has gone. */
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
    spawns_abandon(&k);
    EXPECT_U64(k.spawns.count, 0);
    channel_close(&k.worker.channel);
    close(w.channel);
    spawns_fini(&k);
    table_fini(&k.table);
    hang_release(&h);
    unlink(h.path);
}
