/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree_signal.c - signals to a process, its group and its whole tree,
 * with and without cgroups
 */
#include "test.h"

#include "keeper_rig.h"

#include <sched.h>
#include <sys/mount.h>

#include "keeper/procfs.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

/* What /proc tells of a process. */
static bool rig_proc(pid_t pid, struct proc *out)
{
    struct proc_list l;
    const struct proc *p;

    REQUIRE(procfs_list_read(&l) == 0);
    p = procfs_list_find(&l, pid);
    if (p != NULL)
        *out = *p;
    procfs_list_fini(&l);
    return p != NULL;
}

struct started {
    struct k_spawned m;
    int fds[8];
    int fd_count;
    int pids[8];
};

/* Starts a shell line that prints `count` pids and then "up". */
static struct started start(struct rig_worker *w, const char *id, const char *line, int count,
                            bool pty)
{
    struct started s = {.fd_count = pty ? 1 : 2};
    struct rig_spec spec;
    char out[512], *at = out;

    rig_spec_init(&spec, SH(line));
    strcpy(spec.m.id, id);
    spec.m.pty = pty;
    rig_spawn(w, &spec);
    s.m = rig_spawned(w, s.fds);
    REQUIRE(s.m.error == 0);
    rig_read_until(s.fds[0], out, sizeof out, "up");
    for (int i = 0; i < count; i++) {
        s.pids[i] = (int)strtol(at, &at, 10);
        REQUIRE(s.pids[i] > 1);
    }
    return s;
}

static void finish(struct started *s)
{
    for (int i = 0; i < s->fd_count; i++)
        close(s->fds[i]);
}

/* A background job, a session of its own, and a daemon that was forked twice. */
static const char family[] =
    "sleep 61 & echo $!;"
    "setsid sleep 62 & echo $!;"
    "(setsid sh -c 'sleep 63 & echo $!; exec sleep 64' &)"
    "; (setsid sh -c 'echo $$; exec sleep 65' &) ; sleep 0.1; echo up; exec sleep 66";

static void kill_family(bool pty)
{
    struct rig r;
    struct rig_worker w;
    struct started s, other;
    struct k_signaled a;
    struct k_surveyed v;

    rig_begin(&r, &w);
    other = start(&w, "proc_other", "sleep 67 & echo $!; echo up; exec sleep 68", 1, false);
    s = start(&w, "proc_family", family, 4, pty);
    v = rig_survey(&w, s.m.entry);
    EXPECT_U64(v.total, 6);
    EXPECT_U64(v.count, 6);
    a = rig_signal(&w, s.m.entry, SIGKILL, K_TREE);
    EXPECT_INT(a.error, 0);
    EXPECT(a.count > 0);
    EXPECT_INT(rig_exited(&w).status, SIGKILL);
    for (int i = 0; i < 4; i++)
        EXPECT(rig_gone(s.pids[i]));
    EXPECT_U64(rig_survey(&w, s.m.entry).total, 0);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGKILL, K_TREE).error, ESRCH);
    /* The neighbour has not noticed. */
    EXPECT_U64(rig_survey(&w, other.m.entry).total, 2);
    EXPECT(rig_state(other.pids[0]) != 0);
    finish(&s);
    finish(&other);
    rig_end(&r, &w);
}

TEST(a_tree_dies_with_all_its_daemons)
{
    kill_family(false);
}

TEST(a_tree_on_a_terminal_dies_with_all_its_daemons)
{
    kill_family(true);
}

/*
 * A tree is looked at again after a signal, for whoever was being forked meanwhile. What a handler
 * had started by then was taken for such a one: an upload that was ended kept half of its file,
 * because the rm of its trap got the signal, too. The many children make the looks long.
 */
TEST(what_a_handler_starts_does_not_get_the_signal)
{
    static const char line[] =
        "trap 'sh -c \"sleep 0.1; sleep 0.1; echo cleaned\"; exit 3' TERM; i=0;"
        "while [ $i -lt 150 ]; do sleep 61 & i=$((i+1)); done; echo up; wait";
    struct rig r;
    struct rig_worker w;

    rig_begin(&r, &w);
    for (int i = 0; i < 5; i++) {
        struct started s = start(&w, "proc_trap", line, 0, false);
        struct k_signaled a = rig_signal(&w, s.m.entry, SIGTERM, K_TREE);
        char out[64];

        EXPECT(a.error == 0 && a.count >= 151);
        rig_read_until(s.fds[0], out, sizeof out, "cleaned");
        EXPECT(strstr(out, "cleaned") != NULL);
        EXPECT_INT(rig_exited(&w).status, 3 << 8);
        (void)rig_signal(&w, s.m.entry, SIGKILL, K_TREE); /* who was still the shell when it came */
        finish(&s);
    }
    rig_end(&r, &w);
}

TEST(a_tree_dies_with_all_its_daemons_without_cgroups)
{
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    kill_family(false);
}

TEST(a_tree_on_a_terminal_dies_with_all_its_daemons_without_cgroups)
{
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    kill_family(true);
}

/* The leader goes first: what it leaves is still its tree, and nobody else's. */
static void leader_first(void)
{
    struct rig r;
    struct rig_worker w;
    struct started s;
    struct k_surveyed v;

    rig_begin(&r, &w);
    s = start(&w, "proc_left",
              "sleep 71 & echo $!; (setsid sh -c 'echo $$; exec sleep 72' &) ; sleep 0.1; echo up",
              2, false);
    EXPECT_INT(rig_exited(&w).status, 0);
    v = rig_survey(&w, s.m.entry);
    EXPECT_U64(v.total, 2);
    EXPECT_STR(v.list[0].comm, "sleep");
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_LEADER).error, ESRCH);
    /* One of the two is in the leader's group. */
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_GROUP).error, 0);
    EXPECT(rig_gone(s.pids[0]));
    EXPECT(rig_state(s.pids[1]) != 0);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_GROUP).error, ESRCH);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_TREE).error, 0);
    EXPECT(rig_gone(s.pids[1]));
    rig_forget(&w, s.m.entry);
    finish(&s);
    rig_end(&r, &w);
}

TEST(what_a_dead_leader_leaves_is_still_found)
{
    leader_first();
}

TEST(what_a_dead_leader_leaves_is_still_found_without_cgroups)
{
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    leader_first();
}

TEST(leader_group_and_foreground_are_three_targets)
{
    struct rig r;
    struct rig_worker w;
    struct started s;

    rig_begin(&r, &w);
    /* With job control the sleeper in front has a group of its own. */
    s = start(&w, "proc_jobs",
              "set -m; trap '' INT; sh -c 'echo $$; echo up; exec sleep 60';"
              "echo after; exec sleep 61",
              1, true);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGKILL, K_FOREGROUND).error, 0);
    EXPECT(rig_gone(s.pids[0]));
    EXPECT(rig_state(s.m.pid) != 0);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_GROUP).error, 0);
    EXPECT_INT(rig_exited(&w).status, SIGTERM);
    finish(&s);
    s = start(&w, "proc_lead", "sleep 60 & echo $!; echo up; exec sleep 61", 1, false);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_LEADER).error, 0);
    EXPECT_INT(rig_exited(&w).status, SIGTERM);
    EXPECT(rig_state(s.pids[0]) != 0);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_FOREGROUND).error, 0);
    EXPECT(rig_gone(s.pids[0]));
    finish(&s);
    rig_end(&r, &w);
}

/* Forking all the time must not save a tree. */
static void fork_storm(void)
{
    struct rig r;
    struct rig_worker w;
    struct started s;
    uint64_t until;

    rig_begin(&r, &w);
    s = start(
        &w, "proc_storm",
        "storm() { while :; do (sleep 1 &) ; sleep 0.01; done; }; storm & storm & echo up; wait", 0,
        false);
    rig_signal(&w, s.m.entry, SIGKILL, K_TREE);
    EXPECT_INT(rig_exited(&w).status, SIGKILL);
    /* Killed is not dead yet: each of them must run once more for that. */
    for (until = clock_mono_ms() + RIG_WAIT_MS / 4; clock_mono_ms() < until; usleep(1000)) {
        if (rig_survey(&w, s.m.entry).total == 0)
            break;
        rig_signal(&w, s.m.entry, SIGKILL, K_TREE);
    }
    EXPECT_U64(rig_survey(&w, s.m.entry).total, 0);
    finish(&s);
    rig_end(&r, &w);
}

TEST(a_tree_that_forks_all_the_time_dies)
{
    fork_storm();
}

TEST(a_tree_that_forks_all_the_time_dies_without_cgroups)
{
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    fork_storm();
}

static void hide_proc(void)
{
    /* An empty directory over /proc, in a mount namespace of our own. */
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        (void)mount("none", "/proc", "tmpfs", 0, NULL);
}

TEST(without_proc_the_group_can_still_be_ended)
{
    struct rig r;
    struct rig_worker w;
    struct started s;

    if (geteuid() != 0)
        return;
    rig_init(&r);
    r.before = hide_proc;
    r.skip_leaks = true;
    rig_start(&r);
    rig_worker(&r, &w);
    EXPECT(!w.boot.has_cgroup);
    s = start(&w, "proc_blind", "sleep 60 & echo $!; echo up; exec sleep 61", 1, false);
    EXPECT_U64(rig_survey(&w, s.m.entry).total, 1);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_TREE).error, 0);
    EXPECT_INT(rig_exited(&w).status, SIGTERM);
    EXPECT(rig_gone(s.pids[0]));
    EXPECT_U64(rig_survey(&w, s.m.entry).total, 0);
    EXPECT_INT(rig_signal(&w, s.m.entry, SIGTERM, K_TREE).error, ESRCH);
    finish(&s);
    rig_end(&r, &w);
}

/* Slots are made for a process and used again; none is left when the keeper ends. */
TEST(cgroups_are_used_again_and_removed)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec spec;
    char out[64], path[128];

    rig_begin(&r, &w);
    rig_spec_init(&spec, SH("grep -c '/holdfast-.*/p1$' /proc/self/cgroup"));
    for (int i = 0; i < 3 && w.boot.has_cgroup; i++) {
        rig_run(&w, &spec, out, sizeof out);
        EXPECT_STR(out, "1\n");
    }
    rig_end(&r, &w);
    snprintf(path, sizeof path, "/sys/fs/cgroup/holdfast-%d", (int)r.keeper);
    EXPECT(access(path, F_OK) < 0);
    snprintf(path, sizeof path, "/sys/fs/cgroup/unified/holdfast-%d", (int)r.keeper);
    EXPECT(access(path, F_OK) < 0);
}

/* A keeper that was killed cannot clean up; the next one does. */
TEST(cgroups_of_a_dead_keeper_are_removed)
{
    struct rig r;
    struct rig_worker w;
    char path[128];

    rig_begin(&r, &w);
    kill(r.keeper, SIGKILL);
    rig_drop(&w);
    rig_wait_keeper(&r);
    snprintf(path, sizeof path, "/sys/fs/cgroup/unified/holdfast-%d", (int)r.keeper);
    EXPECT(!w.boot.has_cgroup || access("/sys/fs/cgroup/unified", F_OK) < 0 ||
           access(path, F_OK) == 0);
    rig_begin(&r, &w);
    EXPECT(access(path, F_OK) < 0);
    rig_end(&r, &w);
}

TEST(memory_and_processes_are_limited)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec spec;
    char out[64];

    rig_begin(&r, &w);
    rig_spec_init(&spec, SH("grep -cE '^Max address space +536870912 +536870912|"
                            "^Max processes +77 +77' /proc/self/limits"));
    spec.m.memory_bytes = 512 * 1024 * 1024;
    spec.m.processes = 77;
    rig_run(&w, &spec, out, sizeof out);
    /* Where the cgroup has the controllers, the old limits stay as they were. */
    EXPECT(strcmp(out, "2\n") == 0 || w.boot.has_cgroup);
    rig_end(&r, &w);
}

/*
 * What a shell's command started is ended, and what an earlier command left in the
 * background is not, nor what that has started meanwhile.
 */
TEST(recent_children_are_told_from_older_ones_by_their_age)
{
    struct rig r;
    struct rig_worker w;
    struct started s;
    struct k_signal m = {.type = K_SIGNAL, .req = 5, .signum = SIGKILL, .target = K_RECENT};
    struct k_signaled a;
    struct proc old = {0}, young = {0};
    size_t count;
    int fds[8];

    rig_begin(&r, &w);
    s = start(&w, "proc_shell",
              "sh -c 'echo $$; sleep 0.2; sleep 61 & echo $!; wait' & sleep 0.1;"
              "sh -c 'sleep 62 & echo $!; wait' & echo $!; sleep 0.3; echo up; wait",
              4, false);
    REQUIRE(rig_proc(s.pids[0], &old) && rig_proc(s.pids[1], &young));
    REQUIRE(young.start_ticks > old.start_ticks);
    m.entry = s.m.entry;
    m.since_ticks = old.start_ticks + 1;
    rig_send(w.channel, &m, sizeof m, NULL, 0);
    rig_expect(&w, K_SIGNALED, &a, sizeof a, fds, &count);
    EXPECT_INT(a.error, 0);
    EXPECT_U64(a.count, 2);
    /* The leader, the old one and its late child; what was killed may be on its way out still. */
    for (int i = 0; i < 500 && rig_survey(&w, s.m.entry).total != 3; i++)
        usleep(10000);
    EXPECT_U64(rig_survey(&w, s.m.entry).total, 3);
    rig_signal(&w, s.m.entry, SIGKILL, K_TREE);
    EXPECT_INT(rig_exited(&w).status, SIGKILL);
    finish(&s);
    rig_end(&r, &w);
}

/* What is asked while the keeper does something else is answered in one turn, with one look. */
TEST(signals_and_surveys_of_several_trees_in_one_turn)
{
    struct rig r;
    struct rig_worker w;
    struct started s[3];
    static const char *const ids[] = {"proc_one", "proc_two", "proc_three"};
    struct k_signal m = {.type = K_SIGNAL, .req = 20, .signum = SIGTERM, .target = K_TREE};
    struct k_simple survey = {.type = K_SURVEY, .req = 30};
    struct k_signaled a;
    struct k_surveyed v;
    size_t count;
    int fds[8];

    rig_begin(&r, &w);
    for (int i = 0; i < 3; i++)
        s[i] = start(&w, ids[i], "sleep 61 & echo $!; echo up; wait", 1, false);
    REQUIRE(kill(r.keeper, SIGSTOP) == 0);
    for (int i = 0; i < 3; i++) {
        survey.entry = m.entry = s[i].m.entry;
        rig_send(w.channel, &survey, sizeof survey, NULL, 0);
        rig_send(w.channel, &m, sizeof m, NULL, 0);
    }
    REQUIRE(kill(r.keeper, SIGCONT) == 0);
    for (int i = 0; i < 3; i++) {
        rig_expect(&w, K_SURVEYED, &v, sizeof v, fds, &count);
        EXPECT_U64(v.entry, s[i].m.entry);
        EXPECT_U64(v.total, 2);
    }
    for (int i = 0; i < 3; i++) {
        rig_expect(&w, K_SIGNALED, &a, sizeof a, fds, &count);
        EXPECT_INT(a.error, 0);
        EXPECT_U64(a.count, 2);
    }
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(rig_exited(&w).status, SIGTERM);
        EXPECT(rig_gone(s[i].pids[0]));
        finish(&s[i]);
    }
    rig_end(&r, &w);
}
