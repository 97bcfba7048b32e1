/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree.c - whose a process is and who gets a signal, by lists of processes that no test
 * could make for real: pids in use again, parents that are gone, a /proc that is not there
 *
 * Nobody is signalled: the processes are made up, and kill(2) is the test's own.
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "failing.h"
#include "keeper/flood_weight.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/signalled.h"
#include "keeper/tree.h"
#include "keeper/tree_signal.h"

/* Wraps: procfs_list_read procfs_has_env procfs_catches kill calloc realloc ioctl opendir read waitid */
FAILING(void *, calloc, (size_t n, size_t size), (n, size), 0)
FAILING(void *, realloc, (void *p, size_t size), (p, size), 0)
FAILING_BY(int, ioctl, (int fd, unsigned long request, void *arg), (fd, request, arg), -1,
           (long)request, NULL)
FAILING_BY(DIR *, opendir, (const char *path), (path), 0, 0, path)
FAILING(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), -1)
FAILING(int, waitid, (int kind, id_t id, siginfo_t *info, int options), (kind, id, info, options),
        -1)

/* --- a world of its own --------------------------------------------------- */

#define KEEPER 1000
#define WORLD_MAX 200

static struct {
    bool faked;   /* procfs_list_read() gives `procs` */
    int error;    /* or this */
    int failures; /* so often, -1: always; after `reads` good ones */
    int reads;
    struct proc procs[WORLD_MAX];
    size_t count;
    void (*between)(void); /* before each reading */
    pid_t marked;          /* whose environment has a mark */
    int mark;              /* what procfs_has_env() says of it */
    pid_t catches;         /* who has a handler */
    int kill_error;        /* of `kill_pid`, 0: of nobody */
    pid_t kill_pid;
    pid_t hit[WORLD_MAX];
    size_t hits;
} world;

int __real_procfs_list_read(struct proc_list *out);
int __wrap_procfs_list_read(struct proc_list *out);
int __wrap_procfs_list_read(struct proc_list *out)
{
    if (!world.faked)
        return __real_procfs_list_read(out);
    *out = (struct proc_list){0};
    if (world.error != 0 && world.reads-- <= 0)
        return -world.error;
    if (world.between != NULL)
        world.between();
    out->procs = malloc(sizeof world.procs);
    memcpy(out->procs, world.procs, sizeof world.procs);
    out->count = world.count;
    return 0;
}

int __wrap_procfs_has_env(pid_t pid, const char *prefix, const char *value);
int __wrap_procfs_has_env(pid_t pid, const char *prefix, const char *value)
{
    (void)prefix;
    (void)value;
    return pid == world.marked ? world.mark : -1;
}

bool __wrap_procfs_catches(pid_t pid, int signum);
bool __wrap_procfs_catches(pid_t pid, int signum)
{
    (void)signum;
    return pid == world.catches;
}

int __wrap_kill(pid_t pid, int signum);
int __wrap_kill(pid_t pid, int signum)
{
    if (world.kill_error != 0 && pid == world.kill_pid) {
        errno = world.kill_error;
        return -1;
    }
    if (signum != 0 && world.hits < WORLD_MAX)
        world.hit[world.hits++] = pid;
    return 0;
}

static struct keeper_options options;

struct play {
    struct keeper k;
    int worker;
};

static void begin(struct play *p)
{
    log_set_level(LOG_ERROR);
    memset(&world, 0, sizeof world);
    world.faked = true;
    world.mark = -1;
    p->k = (struct keeper){.options = &options,
                           .pid = KEEPER,
                           .cgroup = {.dir_fd = -1},
                           .flood_retry_at_ms = DEADLINE_NONE};
    table_init(&p->k.table);
    tree_signal_init(&p->k);
    worker_init(&p->k);
    list_init(&p->k.cgroup.lingering);
    list_init(&p->k.cgroup.idle);
    REQUIRE(channel_open(&p->k.worker.channel, &p->worker) == 0);
}

static void end(struct play *p)
{
    census_end(&p->k);
    tree_signal_once_fini(&p->k.shutdown.term);
    channel_close(&p->k.worker.channel);
    close(p->worker);
    table_fini(&p->k.table);
}

/* Pids in ascending order, as /proc's list has them. */
static struct proc *add(pid_t pid, pid_t ppid)
{
    struct proc *p = &world.procs[world.count++];

    *p = (struct proc){.pid = pid, .ppid = ppid, .pgrp = pid, .sid = pid, .state = 'S'};
    p->start_ticks = (uint64_t)pid;
    return p;
}

static struct entry *leader(struct play *p, pid_t pid)
{
    struct entry *e = table_add(&p->k.table);

    REQUIRE(e != NULL);
    strcpy(e->pub.id, "proc_x");
    table_set_pid(&p->k.table, e, pid);
    return e;
}

static struct entry *exited(struct play *p, pid_t pid)
{
    struct entry *e = leader(p, pid);

    table_clear_pid(&p->k.table, e);
    e->pub.exited = true;
    return e;
}

static struct k_surveyed survey(struct play *p, struct entry *e)
{
    struct k_surveyed out = {0};

    census_end(&p->k);
    tree_survey(&p->k, e, &out);
    return out;
}

static int signal_to(struct play *p, struct entry *e, uint32_t target, uint32_t *count)
{
    struct k_signal m = {.signum = SIGTERM, .target = target};

    census_end(&p->k);
    return tree_signal(&p->k, e, &m, count);
}

/* --- whose is it? --------------------------------------------------------- */

TEST(a_tree_is_what_stands_below_its_leader)
{
    struct entry *e;
    struct play p;

    begin(&p);
    p.k.worker.pid = 1001;
    p.k.upgrade.check_pid = 1002;
    add(1, 0);
    add(KEEPER, 1);
    add(1001, KEEPER);
    add(1002, KEEPER);
    add(1003, 1002);
    add(1010, KEEPER); /* the leader */
    add(1011, 1010);
    add(1012, 1011)->state = 'Z';
    add(1013, 1011)->state = 'X';
    add(1014, 99999); /* whose parent died while the list was read */
    add(1020, KEEPER);
    add(1021, 1020);
    e = leader(&p, 1010);
    leader(&p, 1020);
    EXPECT_U64(survey(&p, e).total, 2);
    end(&p);
}

TEST(a_survey_lists_some_and_counts_all)
{
    struct k_surveyed out;
    struct entry *e;
    struct play p;

    begin(&p);
    add(KEEPER, 1);
    for (int i = 0; i < K_SURVEY_MAX + 5; i++)
        add(1010 + i, i == 0 ? KEEPER : 1010);
    e = leader(&p, 1010);
    out = survey(&p, e);
    EXPECT_U64(out.total, K_SURVEY_MAX + 5);
    EXPECT_U64(out.count, K_SURVEY_MAX);
    end(&p);
}

/* Orphans: those of the leader's session or group, of its terminal, or with its mark. */
TEST(strays_are_known_by_session_terminal_or_mark)
{
    struct proc *in_group, *on_tty;
    struct entry *e;
    struct play p;
    unsigned pts;

    begin(&p);
    e = exited(&p, 1010);
    e->pub.tty_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(e->pub.tty_fd >= 0 && ioctl(e->pub.tty_fd, TIOCGPTN, &pts) == 0);
    add(KEEPER, 1);
    in_group = add(1011, KEEPER);
    in_group->sid = 5;
    in_group->pgrp = 1010;
    on_tty = add(1012, KEEPER);
    on_tty->tty_nr = (pts & 0xff) | 136 << 8 | (pts & ~0xffU) << 12;
    add(1013, KEEPER);
    add(1014, 1013);
    EXPECT_U64(survey(&p, e).total, 2);
    world.marked = 1013;
    world.mark = 1;
    EXPECT_U64(survey(&p, e).total, 4);
    /* It says that it is another process's. */
    world.marked = 1011;
    world.mark = 0;
    EXPECT_U64(survey(&p, e).total, 1);
    /* Our terminal does not tell its number. */
    FAIL(ioctl, .error = EIO, .only = TIOCGPTN);
    EXPECT_U64(survey(&p, e).total, 0);
    end(&p);
}

/* The pid of a leader that was reaped may be somebody else's by now, with a session of that number. */
TEST(a_pid_in_use_again_says_nothing)
{
    struct entry *e;
    struct play p;

    begin(&p);
    e = exited(&p, 1010);
    add(KEEPER, 1);
    add(1010, 1);
    add(1011, KEEPER)->sid = 1010;
    EXPECT_U64(survey(&p, e).total, 0);
    end(&p);
}

TEST(members_of_the_cgroup_are_members_but_for_other_leaders)
{
    struct cgroup_slot slot = {.number = 1, .dir_fd = -1};
    char path[] = "/tmp/holdfast-tree-XXXXXX";
    struct entry *e;
    struct play p;
    int fd;

    begin(&p);
    REQUIRE(mkdtemp(path) != NULL);
    p.k.cgroup.dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(mkdirat(p.k.cgroup.dir_fd, "p1", 0700) == 0);
    fd = openat(p.k.cgroup.dir_fd, "p1/cgroup.procs", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, "1010\n1020\n1030\n4444\n", 20) == 20);
    close(fd);
    add(KEEPER, 1);
    add(1010, KEEPER);
    add(1020, KEEPER);
    add(1030, 1); /* escaped to init */
    e = leader(&p, 1010);
    leader(&p, 1020);
    e->slot = &slot;
    EXPECT_U64(survey(&p, e).total, 2);
    e->slot = NULL;
    unlinkat(p.k.cgroup.dir_fd, "p1/cgroup.procs", 0);
    unlinkat(p.k.cgroup.dir_fd, "p1", AT_REMOVEDIR);
    close(p.k.cgroup.dir_fd);
    rmdir(path);
    end(&p);
}

TEST(age_counts_from_the_oldest_that_is_left)
{
    struct proc_list *l;
    struct entry *e;
    struct play p;

    begin(&p);
    add(KEEPER, 1);
    add(1010, KEEPER);
    add(1011, 1010);
    add(1012, 1011);
    add(1015, 77)->sid = 1010;
    add(1016, KEEPER)->sid = 1010;
    e = leader(&p, 1010);
    REQUIRE(tree_find(&p.k, e, &l) == 0);
    EXPECT(!tree_is_recent(e, l, &l->procs[1], 0));
    EXPECT(!tree_is_recent(e, l, &l->procs[3], 1012));
    EXPECT(tree_is_recent(e, l, &l->procs[3], 1011));
    EXPECT(tree_is_recent(e, l, &l->procs[4], 1015));
    EXPECT(tree_is_recent(e, l, &l->procs[5], 1016));
    EXPECT(!tree_is_recent(e, l, &l->procs[5], 1017));
    end(&p);
}

/* --- to a leader or a group ----------------------------------------------- */

TEST(a_group_whose_leader_is_reaped_gets_it_if_a_member_is_left)
{
    struct entry *e;
    struct play p;
    uint32_t count;

    begin(&p);
    e = exited(&p, 1010);
    add(KEEPER, 1);
    add(1011, KEEPER)->sid = 1010;
    EXPECT_INT(signal_to(&p, e, K_GROUP, &count), -ESRCH);
    add(1012, KEEPER)->pgrp = 1010;
    EXPECT_INT(signal_to(&p, e, K_GROUP, &count), 0);
    EXPECT_U64(count, 1);
    EXPECT_INT(world.hit[0], -1010);
    EXPECT_INT(signal_to(&p, e, K_LEADER, &count), -ESRCH);
    EXPECT_INT(signal_to(&p, e, K_TREE, &count), -EINVAL);
    EXPECT_INT(signal_to(&p, e, K_RECENT, &count), -EINVAL);
    end(&p);
}

TEST(without_proc_the_group_gets_it_unless_the_pid_is_in_use_again)
{
    struct entry *e;
    struct play p;
    uint32_t count;

    begin(&p);
    world.error = EACCES;
    e = exited(&p, 1010);
    EXPECT_INT(signal_to(&p, e, K_GROUP, &count), -ESRCH); /* somebody has that pid */
    EXPECT_U64(survey(&p, e).total, 0);
    world.kill_pid = 1010;
    world.kill_error = EPERM;
    EXPECT_INT(signal_to(&p, e, K_GROUP, &count), -ESRCH);
    world.kill_error = ESRCH;
    EXPECT_INT(signal_to(&p, e, K_GROUP, &count), 0);
    EXPECT_INT(world.hit[0], -1010);
    EXPECT_U64(survey(&p, e).total, 1);
    end(&p);
}

TEST(without_a_foreground_the_leaders_group_gets_it)
{
    struct entry *e;
    struct play p;
    uint32_t count;

    begin(&p);
    e = leader(&p, 1010);
    EXPECT_INT(signal_to(&p, e, K_FOREGROUND, &count), 0);
    EXPECT_INT(world.hit[0], -1010);
    e->pub.tty_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(e->pub.tty_fd >= 0);
    EXPECT_INT(signal_to(&p, e, K_FOREGROUND, &count), 0); /* nobody has it: group 0 */
    FAIL(ioctl, .error = EIO, .only = TIOCGPGRP);
    EXPECT_INT(signal_to(&p, e, K_FOREGROUND, &count), 0);
    EXPECT_U64(world.hits, 3);
    world.kill_pid = -1010;
    world.kill_error = EPERM;
    EXPECT_INT(signal_to(&p, e, K_FOREGROUND, &count), -EPERM);
    EXPECT_U64(count, 0);
    end(&p);
}

/* --- volleys -------------------------------------------------------------- */

static struct k_signaled volley(struct play *p, struct entry *e, int signum, uint32_t target)
{
    struct k_signal m = {.type = K_SIGNAL,
                         .req = 3,
                         .entry = e->pub.entry,
                         .signum = signum,
                         .target = target,
                         .since_ticks = 1011};
    struct k_signaled answer = {0};

    world.hits = 0;
    tree_signal_add(&p->k, &m);
    tree_signal_send(&p->k);
    REQUIRE(recv(p->worker, &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer);
    EXPECT_U64(answer.req, 3);
    return answer;
}

static struct entry *family(struct play *p)
{
    add(KEEPER, 1);
    add(1010, KEEPER);
    add(1011, 1010);
    add(1012, 1010);
    return leader(p, 1010);
}

TEST(a_tree_that_cannot_be_signalled_is_told_as_such)
{
    struct k_signaled a;
    struct entry *e;
    struct play p;

    begin(&p);
    e = family(&p);
    FAIL(calloc, .error = ENOMEM);
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT_INT(a.error, ENOMEM);
    world.count = 2;
    world.kill_pid = 1010;
    world.kill_error = EPERM;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT(a.error == EPERM && a.count == 0);
    world.kill_error = ESRCH;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT(a.error == ESRCH && a.count == 0);
    end(&p);
}

TEST(without_proc_a_volley_goes_to_the_group)
{
    struct k_signaled a;
    struct entry *e;
    struct play p;

    begin(&p);
    e = family(&p);
    world.error = EACCES;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT(a.error == 0 && a.count == 1 && world.hit[0] == -1010);
    a = volley(&p, e, SIGTERM, K_RECENT);
    EXPECT(a.error == ESRCH && world.hits == 0);
    /* It went away in the middle: whoever has had it has had it. */
    world.reads = 1;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT(a.error == 0 && a.count == 3);
    end(&p);
}

static void another_is_born(void)
{
    if (world.count < WORLD_MAX)
        add(2000 + (pid_t)world.count, 1010);
}

/* A tree that forks faster than we look is left to the next call. */
TEST(a_volley_comes_to_an_end)
{
    struct k_signaled a;
    struct entry *e;
    struct play p;

    begin(&p);
    e = family(&p);
    world.between = another_is_born;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT_INT(a.error, 0);
    EXPECT_U64(a.count, 3 + 16);
    end(&p);
}

/* What the handler of a member starts is part of its answer; parents may even go round in a circle. */
TEST(only_what_a_handler_started_is_spared)
{
    struct k_signaled a;
    struct entry *e;
    struct play p;

    begin(&p);
    e = family(&p);
    world.between = another_is_born;
    world.catches = 1010;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT_U64(a.count, 4); /* and the one that was there at the first look */
    a = volley(&p, e, SIGKILL, K_TREE);
    EXPECT(a.count > 16);
    world.between = NULL;
    world.procs[1].ppid = 1011;
    a = volley(&p, e, SIGTERM, K_RECENT);
    EXPECT_INT(a.error, 0);
    end(&p);
}

TEST(a_circle_of_parents_is_nobodys_answer)
{
    struct k_signaled a;
    struct entry *e;
    struct play p;

    begin(&p);
    e = family(&p);
    world.procs[1].ppid = 1011;
    a = volley(&p, e, SIGTERM, K_TREE);
    EXPECT_U64(a.count, 3);
    end(&p);
}

TEST(an_entry_that_was_forgotten_before_its_turn_is_nobody)
{
    struct k_signal m = {.type = K_SIGNAL, .entry = 77, .signum = SIGTERM, .target = K_TREE};
    struct k_signaled answer = {0};
    struct play p;

    begin(&p);
    tree_signal_add(&p.k, &m);
    tree_signal_send(&p.k);
    REQUIRE(recv(p.worker, &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer);
    EXPECT_INT(answer.error, ESRCH);
    end(&p);
}

/* --- all trees ------------------------------------------------------------ */

TEST(at_the_end_each_one_hears_of_it_once)
{
    struct signal_once f = {0};
    struct play p;

    begin(&p);
    (void)family(&p);
    add(1020, KEEPER);             /* a stray that nobody can place */
    add(1021, KEEPER);             /* one with a mark */
    add(1022, KEEPER)->sid = 1010; /* one of a session of ours */
    world.marked = 1021;
    world.mark = 0;
    EXPECT_U64(tree_signal_every(&p.k, SIGTERM, &f), 5);
    EXPECT_U64(world.hits, 5);
    add(1030, 1010); /* what a handler started */
    EXPECT_U64(tree_signal_every(&p.k, SIGTERM, &f), 6);
    EXPECT_U64(world.hits, 5);
    EXPECT_U64(tree_signal_every(&p.k, SIGKILL, NULL), 6);
    p.k.pid = 1;
    for (size_t i = 0; i < world.count; i++)
        if (world.procs[i].ppid == KEEPER)
            world.procs[i].ppid = 1;
    EXPECT(tree_signal_every(&p.k, 0, NULL) >= 7);
    tree_signal_once_fini(&f);
    end(&p);
}

TEST(without_proc_the_groups_hear_of_the_end_once)
{
    struct signal_once f = {0};
    struct play p;

    begin(&p);
    world.error = EACCES;
    leader(&p, 1010);
    leader(&p, 1020);
    exited(&p, 1030);
    EXPECT_U64(tree_signal_every(&p.k, SIGTERM, &f), 2);
    EXPECT_U64(world.hits, 2);
    EXPECT_U64(tree_signal_every(&p.k, SIGTERM, &f), 2);
    EXPECT_U64(world.hits, 2);
    EXPECT_U64(tree_signal_every(&p.k, SIGKILL, NULL), 2);
    EXPECT_U64(world.hits, 4);
    tree_signal_once_fini(&f);
    end(&p);
}

/* --- the end -------------------------------------------------------------- */

TEST(who_cannot_be_ended_is_counted)
{
    struct play p;

    begin(&p);
    (void)family(&p);
    p.k.shutdown.phase = SHUTDOWN_KILL;
    keeper_shutdown_begin(&p.k); /* a third signal changes nothing */
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_KILL);
    p.k.shutdown.deadline_ms = 10;
    keeper_shutdown_step(&p.k, 9);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_KILL);
    keeper_shutdown_step(&p.k, 10);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_DONE);
    EXPECT_INT(p.k.shutdown.code, 1);
    keeper_shutdown_begin(&p.k);
    keeper_shutdown_step(&p.k, 11);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_DONE);
    EXPECT_U64(keeper_shutdown_deadline(&p.k), DEADLINE_NONE);
    end(&p);
}

TEST(a_worker_that_is_not_reaped_yet_is_waited_for)
{
    struct play p;

    begin(&p);
    add(KEEPER, 1);
    p.k.worker.pid = 1001;
    p.k.shutdown.phase = SHUTDOWN_KILL;
    p.k.shutdown.deadline_ms = 10;
    keeper_shutdown_step(&p.k, 9);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_KILL);
    keeper_shutdown_step(&p.k, 10);
    EXPECT(p.k.shutdown.phase == SHUTDOWN_DONE && p.k.shutdown.code == 0);
    end(&p);
}

TEST(a_worker_that_does_not_end_in_time_is_killed)
{
    struct play p;

    begin(&p);
    add(KEEPER, 1);
    p.k.worker.pid = 1001;
    keeper_shutdown_begin(&p.k);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_REQUESTED);
    keeper_shutdown_step(&p.k, p.k.shutdown.deadline_ms - 1);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_REQUESTED);
    keeper_shutdown_step(&p.k, p.k.shutdown.deadline_ms);
    EXPECT_INT(p.k.shutdown.phase, SHUTDOWN_TERM);
    EXPECT_INT(world.hit[0], 1001);
    end(&p);
}

/* --- who has had it ------------------------------------------------------- */

TEST(hits_know_a_pid_in_use_again_from_the_one_before)
{
    struct proc a = {.pid = 5, .start_ticks = 10}, b = {.pid = 5, .start_ticks = 20};
    struct proc c = {.pid = 6};
    struct signalled h = {0};

    EXPECT(signalled_add(&h, &a));
    signalled_sort(&h);
    EXPECT(!signalled_add(&h, &a));
    EXPECT(!signalled_has(&h, &b));
    EXPECT(signalled_add(&h, &b));
    EXPECT(signalled_has(&h, &b));
    FAIL(realloc, .error = ENOMEM);
    EXPECT(signalled_add(&h, &c));
    signalled_sort(&h);
    EXPECT(!signalled_has(&h, &c));
    signalled_fini(&h);
}

/* --- /proc itself --------------------------------------------------------- */

TEST(a_proc_that_cannot_be_read_is_an_error)
{
    struct proc_list l;
    struct proc p;

    FAIL(opendir, .error = EACCES, .path = "/proc");
    EXPECT_INT(__real_procfs_list_read(&l), -EACCES);
    EXPECT(procfs_list_find(&l, 1) == NULL);
    FAIL(realloc, .error = ENOMEM);
    EXPECT_INT(__real_procfs_list_read(&l), -ENOMEM);
    procfs_list_fini(&l);
    /* Everybody has died between the listing and the look. */
    FAIL(read, .error = ESRCH, .times = -1);
    EXPECT_INT(__real_procfs_list_read(&l), -ENOENT);
    procfs_list_fini(&l);
    FAIL_NO_MORE(read);
    EXPECT_INT(__real_procfs_list_read(&l), 0);
    EXPECT(procfs_list_find(&l, getpid()) != NULL);
    procfs_list_fini(&l);
    EXPECT(!procfs_parse_stat("1 a) S 1", 8, &p));
    EXPECT(!procfs_parse_stat("1 (a S 1", 8, &p));
    EXPECT(!procfs_parse_stat(")1 (a S 1", 9, &p));
    EXPECT(!procfs_parse_stat("1 (a)", 5, &p));
}

/* --- weights -------------------------------------------------------------- */

TEST(a_weight_is_a_number_in_its_range)
{
    int nice;

    EXPECT(flood_weight_parse("/autogroup-3 nice 19\n", &nice) && nice == 19);
    EXPECT(flood_weight_parse("/autogroup-3 nice -20\n", &nice) && nice == -20);
    EXPECT(!flood_weight_parse("/autogroup-3 nice 20\n", &nice));
    EXPECT(!flood_weight_parse("/autogroup-3 nice -21\n", &nice));
    EXPECT(!flood_weight_parse("/autogroup-3 nice x\n", &nice));
    EXPECT(!flood_weight_parse("/autogroup-3\n", &nice));
    EXPECT(!flood_weight_parse("x nice 3\n", &nice));
}

TEST(a_weight_that_cannot_be_read_stays)
{
    struct entry *e;
    struct play p;

    begin(&p);
    e = leader(&p, getpid());
    FAIL(read, .error = EIO);
    flood_weight_set(&p.k, e, true);
    EXPECT(!e->flooding && !e->lowered);
    FAIL(read, .give = true);
    flood_weight_set(&p.k, e, true);
    EXPECT(!e->flooding && !e->lowered);
    end(&p);
}

TEST(a_session_that_nobody_can_stand_for_is_left_alone)
{
    struct entry *e;
    struct play p;

    begin(&p);
    e = exited(&p, 1010);
    e->lowered = true;
    world.error = EACCES;
    flood_weight_set(&p.k, e, false);
    EXPECT(!e->lowered);
    world.error = 0;
    e->lowered = true;
    add(KEEPER, 1);
    flood_weight_step(&p.k, 0);
    EXPECT(e->lowered); /* it is not time */
    flood_weight_end(&p.k);
    EXPECT(!e->lowered);
    e->lowered = true;
    add(1011, 1)->sid = 1010;
    add(1012, 1)->sid = 1010;
    flood_weight_end(&p.k);
    EXPECT(!e->lowered);
    end(&p);
}

TEST(a_leader_that_has_not_exited_keeps_its_weight)
{
    struct entry *e;
    struct play p;

    begin(&p);
    e = leader(&p, 1010);
    flood_weight_on_death(&p.k, e);
    e->lowered = e->flooding = true;
    FAIL(waitid, .error = ECHILD);
    flood_weight_on_death(&p.k, e);
    EXPECT(e->lowered);
    FAIL(waitid, .give = true); /* nobody to tell of */
    flood_weight_on_death(&p.k, e);
    EXPECT(e->lowered);
    end(&p);
}

/* --- the table ------------------------------------------------------------ */

TEST(a_table_without_memory_says_so_and_goes_on)
{
    struct table t;

    table_init(&t);
    FAIL(calloc, .error = ENOMEM);
    EXPECT(table_add(&t) == NULL);
    EXPECT(table_add_numbered(&t, 0) == NULL);
    for (int i = 0; i < 64; i++)
        EXPECT(table_add(&t) != NULL);
    /* The entry is made, the larger buckets are not; then the second half of them is not. */
    FAIL(calloc, .error = ENOMEM, .after = 1);
    EXPECT(table_add(&t) != NULL);
    FAIL(calloc, .error = ENOMEM, .after = 2);
    EXPECT(table_add(&t) != NULL);
    EXPECT_U64(t.bucket_count, 64);
    table_remove(&t, table_find(&t, 2)); /* it shares its bucket with 66 */
    EXPECT(table_find(&t, 2) == NULL && table_find(&t, 66) != NULL);
    FAIL_NO_MORE(calloc);
    EXPECT(table_add(&t) != NULL);
    EXPECT_U64(t.bucket_count, 128);
    t.last_number = UINT32_MAX;
    EXPECT(table_add(&t) != NULL); /* 0 is no number, and those in use are passed over */
    EXPECT(table_find(&t, 0) == NULL);
    t.count = KEEPER_ENTRIES_MAX;
    EXPECT(table_add(&t) == NULL);
    t.count = 67;
    table_fini(&t);
}

/* Whose a process is decides whether it is ended, so one reading that fails decides nothing. */
TEST(the_parent_of_a_process_is_asked_for_until_there_is_an_answer)
{
    FAIL(read, .error = EIO, .times = 3);
    EXPECT_INT(procfs_parent(getpid()), getppid());
    EXPECT_INT(FAILED(read), 3);
    FAIL(read, .give = true, .times = 1); /* nothing in it */
    EXPECT_INT(procfs_parent(getpid()), getppid());
    FAIL(read, .error = EIO, .times = -1);
    EXPECT_INT(procfs_parent(getpid()), 0);
    FAIL_NO_MORE(read);
}
