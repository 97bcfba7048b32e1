/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_flood_weight.c - the CPU weight of a flooding session
 *
 * Where the kernel has no autogroups there is nothing to see: then asking for it must do no harm.
 */
#include "test.h"

#include "keeper_rig.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "keeper/flood_weight.h"

#define NO_GROUPS (-100)

/* The weight of a process's session, as nice(2) counts it. */
static int weight_of(pid_t pid)
{
    char path[64], text[64];
    int fd, nice = NO_GROUPS;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/autogroup", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n > 0) {
        text[n] = '\0';
        if (!flood_weight_parse(text, &nice))
            nice = NO_GROUPS;
    }
    if (fd >= 0)
        close(fd);
    return nice;
}

static void weight_set(pid_t pid, const char *nice)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/autogroup", (int)pid);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, nice, strlen(nice)) > 0);
    close(fd);
}

static bool weight_becomes(pid_t pid, int nice)
{
    for (int i = 0; i < 2000 && weight_of(pid) != nice; i++)
        usleep(1000);
    return weight_of(pid) == nice;
}

static void tell(struct rig_worker *w, uint32_t entry, uint32_t on)
{
    struct k_flood m = {.type = K_FLOOD, .entry = entry, .on = on};

    rig_send(w->channel, &m, sizeof m, NULL, 0);
}

static struct k_spawned start(struct rig_worker *w, int fds[8])
{
    struct rig_spec s;

    rig_spec_init(&s, (const char *const[]){"/bin/sleep", "1000", NULL});
    rig_spawn(w, &s);
    return rig_spawned(w, fds);
}

static void close_all(int fds[8])
{
    for (int i = 0; i < 8; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

TEST(the_line_of_a_session_is_understood)
{
    int nice = 7;

    EXPECT(flood_weight_parse("/autogroup-78 nice 0\n", &nice));
    EXPECT_INT(nice, 0);
    EXPECT(flood_weight_parse("/autogroup-1 nice -20\n", &nice));
    EXPECT_INT(nice, -20);
    EXPECT(!flood_weight_parse("/autogroup-1 nice x\n", &nice));
    EXPECT(!flood_weight_parse("/autogroup-1 nice 20\n", &nice));
    EXPECT(!flood_weight_parse("/autogroup-1\n", &nice));
    EXPECT(!flood_weight_parse("/cgroup nice 3\n", &nice));
    EXPECT(!flood_weight_parse("", &nice));
    EXPECT_INT(nice, -20);
}

TEST(a_flood_gives_way_while_it_lasts)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    int none;

    rig_begin(&r, &w);
    m = start(&w, fds);
    none = weight_of(m.pid) == NO_GROUPS;
    for (int i = 0; i < 2; i++) {
        tell(&w, m.entry, 1);
        tell(&w, m.entry, 1);
        EXPECT(none || weight_becomes(m.pid, FLOOD_NICE));
        tell(&w, m.entry, 0);
        EXPECT(none || weight_becomes(m.pid, 0));
    }
    /* The processes' own nice values are not touched. */
    tell(&w, m.entry, 1);
    EXPECT(none || weight_becomes(m.pid, FLOOD_NICE));
    EXPECT_INT(getpriority(PRIO_PROCESS, (id_t)m.pid), 0);
    close_all(fds);
    rig_end(&r, &w);
}

/* Its leader floods, and leaves behind somebody who does nothing but sleep. */
static struct k_spawned start_two(struct rig_worker *w, int fds[8], pid_t *left)
{
    struct k_spawned m;
    struct rig_spec s;
    char out[64];

    rig_spec_init(&s, (const char *const[]){"/bin/sh", "-c",
                                            "sleep 1000 & echo $! end; exec sleep 1001", NULL});
    rig_spawn(w, &s);
    m = rig_spawned(w, fds);
    rig_read_until(fds[0], out, sizeof out, "end");
    *left = (pid_t)atoi(out);
    return m;
}

/*
 * A leader that was killed in the middle of its flood left its session at half the weight
 * for good, and whoever lived on in it had to put up with that.
 */
TEST(a_session_gets_its_weight_back_when_its_leader_dies)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    bool none;
    pid_t left;

    rig_begin(&r, &w);
    m = start_two(&w, fds, &left);
    none = weight_of(left) == NO_GROUPS;
    tell(&w, m.entry, 1);
    EXPECT(none || weight_becomes(left, FLOOD_NICE));
    kill(m.pid, SIGKILL);
    EXPECT_INT(WTERMSIG(rig_exited(&w).status), SIGKILL);
    EXPECT(none || weight_of(left) == 0);
    /* What the worker says later of one who has exited changes nothing. */
    tell(&w, m.entry, 1);
    (void)rig_survey(&w, m.entry);
    EXPECT(none || weight_of(left) == 0);
    kill(left, SIGKILL);
    close_all(fds);
    rig_end(&r, &w);
}

#define FLOODS 4

/* Of this process and those it starts; root has it, others never had. */
static void administer(bool may)
{
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct d[2];
    uint32_t bit = 1u << CAP_SYS_ADMIN;

    REQUIRE(syscall(SYS_capget, &h, d) == 0);
    d[0].effective = may ? d[0].effective | (d[0].permitted & bit) : d[0].effective & ~bit;
    REQUIRE(syscall(SYS_capset, &h, d) == 0);
}

static void all_become(const struct k_spawned *m, int nice)
{
    for (int i = 0; i < FLOODS; i++)
        EXPECT(weight_of(m[i].pid) == NO_GROUPS || weight_becomes(m[i].pid, nice));
}

/* The kernel then takes one change in 100 ms. */
TEST(many_floods_of_a_keeper_that_may_not_administer)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m[FLOODS];
    int fds[FLOODS][8];

    memset(fds, -1, sizeof fds);
    administer(false);
    rig_begin(&r, &w);
    administer(true);
    rig_ready(&w);
    for (int i = 0; i < FLOODS; i++)
        m[i] = start(&w, fds[i]);
    for (int i = 0; i < FLOODS; i++)
        tell(&w, m[i].entry, 1);
    all_become(m, FLOOD_NICE);
    for (int i = 0; i < FLOODS; i++)
        tell(&w, m[i].entry, 0);
    all_become(m, 0);
    for (int i = 0; i < FLOODS; i++)
        tell(&w, m[i].entry, 1);
    all_become(m, FLOOD_NICE);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    all_become(m, 0);
    for (int i = 0; i < FLOODS; i++)
        close_all(fds[i]);
    rig_end(&r, &w);
}

/* Several leaders die at once: all but the first change are refused, and made when there is no leader. */
TEST(leaders_that_die_together_leave_nobody_eased)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m[FLOODS];
    int fds[FLOODS][8];
    pid_t left[FLOODS];

    memset(fds, -1, sizeof fds);
    administer(false);
    rig_begin(&r, &w);
    administer(true);
    for (int i = 0; i < FLOODS; i++)
        m[i] = start_two(&w, fds[i], &left[i]);
    for (int i = 0; i < FLOODS; i++)
        tell(&w, m[i].entry, 1);
    all_become(m, FLOOD_NICE);
    for (int i = 0; i < FLOODS; i++)
        kill(m[i].pid, SIGKILL);
    for (int i = 0; i < FLOODS; i++) {
        (void)rig_exited(&w);
        EXPECT(weight_of(left[i]) == NO_GROUPS || weight_becomes(left[i], 0));
    }
    for (int i = 0; i < FLOODS; i++) {
        kill(left[i], SIGKILL);
        close_all(fds[i]);
    }
    rig_end(&r, &w);
}

TEST(a_worker_that_dies_leaves_nobody_eased)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    bool none;

    rig_begin(&r, &w);
    rig_ready(&w);
    m = start(&w, fds);
    none = weight_of(m.pid) == NO_GROUPS;
    tell(&w, m.entry, 1);
    EXPECT(none || weight_becomes(m.pid, FLOOD_NICE));
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT(none || weight_becomes(m.pid, 0));
    close_all(fds);
    rig_end(&r, &w);
}

TEST(a_weight_that_somebody_else_chose_stays)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    rig_begin(&r, &w);
    m = start(&w, fds);
    if (weight_of(m.pid) != NO_GROUPS) {
        weight_set(m.pid, "5");
        tell(&w, m.entry, 1);
        (void)rig_survey(&w, m.entry); /* answered after it */
        EXPECT_INT(weight_of(m.pid), 5);
        /* And one chosen meanwhile is not taken away. */
        weight_set(m.pid, "0");
        tell(&w, m.entry, 1);
        EXPECT(weight_becomes(m.pid, FLOOD_NICE));
        weight_set(m.pid, "7");
        tell(&w, m.entry, 0);
        (void)rig_survey(&w, m.entry);
        EXPECT_INT(weight_of(m.pid), 7);
    }
    close_all(fds);
    rig_end(&r, &w);
}

TEST(the_dead_are_left_alone)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    int next[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    rig_begin(&r, &w);
    rig_spec_init(&s, (const char *const[]){"/bin/true", NULL});
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    EXPECT_INT(rig_exited(&w).status, 0);
    tell(&w, m.entry, 1);
    tell(&w, m.entry, 0);
    rig_forget(&w, m.entry);
    m = start(&w, next);
    EXPECT(m.error == 0);
    close_all(fds);
    close_all(next);
    rig_end(&r, &w);
}
