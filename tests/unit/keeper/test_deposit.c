/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_deposit.c - the keeper's side of the vault: what it writes to the ledger, what it
 * sends, and what the next keeper makes of it. The test is the vault.
 */
#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "failing.h"
#include "keeper/deposit_own.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"
#include "keeper/tree_signal.h"
#include "keeper/upgrade_state.h"
#include "vault/vault_store.h"

/* Wraps: memfd_create mmap fstat write kill procfs_parent sendmsg open setenv */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1)
FAILING(int, kill, (pid_t pid, int sig), (pid, sig), -1)
FAILING(pid_t, procfs_parent, (pid_t pid), (pid), 0)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)

FAILING(int, setenv, (const char *name, const char *value, int overwrite), (name, value, overwrite),
        -1)

#define VAULT_PID 900

static struct keeper_options options;

struct play {
    struct keeper k;
    struct vault v;
    struct vault_ends ends;
    int vault_end;
};

static int carry_result; /* what the command says to being asked */

static int carry_some(struct buf *out, void *arg)
{
    (void)arg;
    if (carry_result == 0)
        buf_put(out, "carried", 7);
    return carry_result;
}

static void begin(struct play *p)
{
    int pair[2];

    log_set_level(LOG_ERROR);
    FAIL(kill, .give = true, .times = -1); /* nobody is signalled here */
    options = (struct keeper_options){.exe_path = "/exe", .carry_write = carry_some};
    REQUIRE(vault_init(&p->v, "/proc/self/exe") == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    p->vault_end = pair[0];
    atomic_store(&p->v.ledger->vault_pid, VAULT_PID);
    p->ends = (struct vault_ends){.channel_fd = pair[1],
                                  .ledger_fd = dup(p->v.own.ledger_fd),
                                  .index_fd = dup(p->v.own.index_fd)};
    p->k = (struct keeper){.options = &options,
                           .pid = 1000,
                           .state_fd = -1,
                           .siding = {-1, -1},
                           .deposit = {.ends = {-1, -1, -1}}};
    channel_init(&p->k.deposit.channel);
    (void)cgroup_resume(&p->k.cgroup, "", 0);
    table_init(&p->k.table);
    deferred_init(&p->k);
    tree_signal_init(&p->k);
    list_init(&p->k.spawns.flying);
    worker_init(&p->k);
    REQUIRE(deposit_attach(&p->k, &p->ends) == 0);
}

/* As a keeper that the vault has started. */
static int attach_resumed(struct play *p)
{
    ledger_unmap(p->k.deposit.ledger);
    p->k.deposit.ledger = NULL;
    p->k.resumed = true;
    return deposit_attach(&p->k, &p->ends);
}

static void end(struct play *p)
{
    deposit_detach(&p->k);
    cgroup_fini(&p->k.cgroup, false);
    table_fini(&p->k.table);
    close(p->vault_end);
    vault_fini(&p->v);
}

static struct v_message hear(struct play *p)
{
    struct v_message m = {0};
    struct fd_message attached;

    if (vault_receive(p->vault_end, &m, &attached) != 1)
        return (struct v_message){0};
    fd_message_close(&attached);
    return m;
}

static void hear_all(struct play *p)
{
    while (hear(p).type != 0)
        ;
}

static struct entry *add(struct play *p, pid_t pid)
{
    struct entry *e = table_add(&p->k.table);

    strcpy(e->pub.id, "proc_x");
    table_set_pid(&p->k.table, e, pid);
    e->pub.record_fd = memfd_create("record", MFD_CLOEXEC);
    return e;
}

/* --- without a vault ------------------------------------------------------ */

TEST(without_a_vault_nothing_is_written)
{
    struct keeper k = {.options = &options, .pid = 7, .deposit = {.ends = {-1, -1, -1}}};
    struct entry e = {0};
    int null;

    channel_init(&k.deposit.channel);
    EXPECT_INT(deposit_attach(&k, NULL), 0);
    EXPECT_INT(deposit_attach(&k, &k.deposit.ends), 0);
    null = open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    EXPECT_INT(deposit_attach(&k, &(struct vault_ends){null, null, null}), -EPROTO);
    close(null);
    EXPECT_INT(deposit_main_pid(&k), 7);
    EXPECT(!deposit_is_end_ordered(&k));
    EXPECT_INT(deposit_begin(&k, &e, e.pub.id), 0);
    deposit_adopt(&k);
    deposit_daemon(&k);
    deposit_take_siding(&k);
    deposit_carry(&k);
    deposit_streams(&k, &e);
    deposit_started(&k, &e);
    deposit_exited(&k, &e);
    deposit_closed(&k, &e, K_FD_STDIN);
    deposit_deferred(&k, &e);
    deposit_forget(&k, &e);
    deposit_worker_started(&k);
    deposit_worker_io(&k);
    deposit_well(&k);
    deposit_trial(&k, true);
    deposit_done(&k, 0);
    deposit_keep(&k);
    deposit_read(&k);
    deposit_detach(&k);
}

/* --- a process's life ----------------------------------------------------- */

TEST(a_process_is_written_down_before_it_is_told_of)
{
    struct v_message m;
    struct entry *e;
    struct play p;

    begin(&p);
    e = add(&p, 1010);
    EXPECT_INT(deposit_begin(&p.k, e, e->pub.id), 0);
    REQUIRE(e->row != NULL);
    EXPECT_INT(row_state(e->row), ROW_STARTING);
    e->pub.stdout_fd = memfd_create("out", MFD_CLOEXEC);
    e->pub.side_fd = memfd_create("side", MFD_CLOEXEC);
    deposit_streams(&p.k, e);
    m = hear(&p);
    EXPECT(m.type == V_PUT && m.count == 3 && m.keys[0] == V_RECORD && m.keys[1] == V_STDOUT &&
           m.keys[2] == V_SIDE);
    deposit_started(&p.k, e);
    EXPECT_INT(row_state(e->row), ROW_RUNNING);
    deposit_closed(&p.k, e, K_FD_STDOUT | K_FD_STDERR | K_FD_TTY);
    m = hear(&p);
    EXPECT(m.type == V_DROP && m.keys[0] == V_TTY && m.count == 1);
    m = hear(&p);
    EXPECT(m.type == V_DROP && m.keys[0] == V_STDOUT && m.count == 2);
    e->pub.exited = true;
    e->pub.status = 9;
    deposit_exited(&p.k, e);
    EXPECT(row_state(e->row) == ROW_EXITED && e->row->status == 9);
    /* Of one that has exited it can wait. */
    deposit_closed(&p.k, e, K_FD_SIDE);
    EXPECT_INT(hear(&p).type, 0);
    deposit_deferred(&p.k, e);
    m = hear(&p);
    EXPECT(m.type == V_DROP && m.keys[0] == V_SIDE);
    deposit_deferred(&p.k, e);
    EXPECT_INT(hear(&p).type, 0);
    deposit_started(&p.k, e); /* exited before its start was told */
    EXPECT_INT(row_state(e->row), ROW_EXITED);
    deposit_forget(&p.k, e);
    m = hear(&p);
    EXPECT(m.type == V_DROP && m.count == V_ROW_KEYS && e->row == NULL);
    end(&p);
}

TEST(a_full_ledger_refuses_a_process)
{
    struct entry *e;
    struct play p;

    begin(&p);
    e = add(&p, 1010);
    p.v.ledger->rows_used = LEDGER_ROWS;
    for (uint32_t i = 0; i < LEDGER_ROWS; i++)
        row_set_state(&p.v.ledger->rows[i], ROW_RUNNING);
    EXPECT_INT(deposit_begin(&p.k, e, e->pub.id), -EAGAIN);
    end(&p);
}

/* --- the daemon's life ---------------------------------------------------- */

TEST(what_the_daemon_is_goes_to_the_ledger_and_its_descriptors_to_the_store)
{
    uint32_t keys = 0;
    struct v_message m;
    struct play p;

    begin(&p);
    p.k.state_fd = memfd_create("state", MFD_CLOEXEC);
    p.k.siding[0] = p.k.siding[1] = p.k.state_fd;
    options.carry.fds[0] = p.k.state_fd;
    options.carry.fd_count = 1;
    deposit_daemon(&p.k);
    EXPECT_STR(p.v.ledger->exe_path, "/exe");
    for (m = hear(&p); m.type != 0; m = hear(&p))
        keys += m.type == V_PUT && m.count == 1;
    EXPECT_U64(keys, 5);
    /* Where cgroups are, the next keeper finds them. */
    snprintf(p.k.cgroup.path, sizeof p.k.cgroup.path, "/cg");
    p.k.cgroup.dir_fd = open("/", O_PATH | O_CLOEXEC, 0);
    FAIL(memfd_create, .error = EMFILE);
    deposit_daemon(&p.k);
    EXPECT_STR(p.v.ledger->cgroup_path, "/cg");
    FAIL(write, .error = ENOSPC);
    deposit_carry(&p.k);
    hear_all(&p);
    options.carry_write = NULL;
    deposit_carry(&p.k);
    EXPECT_INT(hear(&p).type, 0);
    io_close(&p.k.state_fd);
    end(&p);
}

TEST(the_vault_is_told_when_the_daemon_is_well_on_trial_or_done)
{
    struct v_message m;
    struct play p;

    begin(&p);
    deposit_worker_started(&p.k);
    EXPECT_INT(p.v.ledger->worker_pid, getpid());
    deposit_worker_io(&p.k);
    EXPECT_INT(p.v.ledger->worker_pid, 0);
    deposit_well(&p.k);
    deposit_well(&p.k);
    m = hear(&p);
    EXPECT(m.type == V_WELL && m.count == 0);
    p.k.upgrade.well_ms = 250;
    deposit_trial(&p.k, true);
    m = hear(&p);
    EXPECT(m.type == V_TRIAL && m.status == 250);
    EXPECT(getenv(V_ENV) != NULL);
    deposit_trial(&p.k, false);
    EXPECT_INT(hear(&p).type, V_WELL);
    EXPECT(getenv(V_ENV) == NULL);
    /* In place of another binary: that is the one to start from now on. */
    p.k.deposit.well_sent = false;
    p.k.deposit.replaced = true;
    deposit_well(&p.k);
    m = hear(&p);
    EXPECT(m.type == V_WELL && m.count == 1);
    /* Once: the next is of the binary that could not be executed after all. */
    p.k.deposit.behind = p.k.deposit.well_owed = true;
    deposit_step(&p.k, DEADLINE_NONE);
    for (m = hear(&p); m.type != 0 && m.type != V_WELL; m = hear(&p))
        ;
    EXPECT(m.type == V_WELL && m.count == 0);
    hear_all(&p);
    deposit_done(&p.k, 3);
    m = hear(&p);
    EXPECT(m.type == V_DONE && m.status == 3);
    deposit_keep(&p.k);
    EXPECT_INT(hear(&p).type, V_DROP);
    EXPECT_INT(hear(&p).type, V_KEEP);
    atomic_store(&p.v.ledger->main_pid, 55);
    EXPECT_INT(deposit_main_pid(&p.k), 55);
    EXPECT(!deposit_is_end_ordered(&p.k));
    atomic_store(&p.v.ledger->order, ORDER_END);
    EXPECT(deposit_is_end_ordered(&p.k));
    end(&p);
}

/* --- what the vault says -------------------------------------------------- */

TEST(exits_that_the_vault_tells_are_written_down_and_reaped)
{
    struct v_message m = {.type = V_EXITED, .pid = 1010, .status = 9};
    struct entry *e;
    struct play p;

    begin(&p);
    e = add(&p, 1010);
    REQUIRE(deposit_begin(&p.k, e, e->pub.id) == 0);
    deposit_started(&p.k, e);
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    m.type = V_STATUS; /* not for us */
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT(!e->pub.exited); /* our own child of that number is not meant */
    m = hear(&p);
    EXPECT(m.type == V_REAP && m.pid == 1010);
    e->row->parent = 777; /* the keeper before started it */
    m = (struct v_message){.type = V_EXITED, .pid = 1010, .status = 9};
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT(e->pub.exited && e->pub.status == 9 && row_state(e->row) == ROW_EXITED);
    m = hear(&p);
    EXPECT(m.type == V_REAP && m.pid == 1010);
    p.k.worker.pid = m.pid = 1001; /* a worker of our own */
    m.type = V_EXITED;
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT_INT(p.k.worker.pid, 1001);
    p.k.worker.pid = 0;
    m = (struct v_message){.type = V_LEAVE};
    p.k.shutdown.phase = SHUTDOWN_KILL; /* too late to leave */
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT(!p.k.upgrade.leaving);
    p.k.shutdown.phase = SHUTDOWN_NONE;
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT(p.k.upgrade.leaving && p.k.upgrade.phase == UPGRADE_RETIRE);
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    end(&p);
}

/* Processes go on, only that they would end with the keeper. */
TEST(a_vault_that_is_lost_is_done_without)
{
    struct play p;

    begin(&p);
    FAIL(sendmsg, .error = EAGAIN);
    deposit_done(&p.k, 0);
    EXPECT_INT(hear(&p).type, V_DONE);
    FAIL(sendmsg, .error = ETOOMANYREFS, .times = 2);
    deposit_done(&p.k, 0);
    EXPECT_INT(hear(&p).type, V_DONE);
    FAIL(sendmsg, .error = EPIPE);
    deposit_done(&p.k, 0);
    EXPECT_INT(p.k.deposit.channel.fd, -1);
    deposit_done(&p.k, 0);
    end(&p);

    begin(&p);
    REQUIRE(send(p.vault_end, "x", 1, 0) == 1);
    deposit_read(&p.k);
    EXPECT_INT(p.k.deposit.channel.fd, -1);
    end(&p);

    begin(&p);
    shutdown(p.vault_end, SHUT_RDWR);
    deposit_read(&p.k);
    EXPECT_INT(p.k.deposit.channel.fd, -1);
    end(&p);
}

/* A stopped vault: its socket is full. Then it reads again, and gets everything. */
TEST(a_vault_that_does_not_read_gets_everything_when_it_does)
{
    uint32_t puts = 0, drops = 0, reaps = 0, wells = 0;
    struct v_message m = {.type = V_EXITED, .pid = 1099};
    struct entry *early, *late;
    struct play p;

    begin(&p);
    early = add(&p, 1010);
    REQUIRE(deposit_begin(&p.k, early, early->pub.id) == 0);
    EXPECT(deposit_is_complete(&p.k) && deposit_deadline(&p.k) == DEADLINE_NONE);
    FAIL(sendmsg, .error = ETOOMANYREFS, .times = -1);
    deposit_streams(&p.k, early); /* waits in vain */
    FAIL_NO_MORE(sendmsg);
    EXPECT(!deposit_is_complete(&p.k) && p.k.deposit.channel.fd >= 0);
    EXPECT(deposit_deadline(&p.k) > clock_mono_ms());
    /* Nothing is sent, and nobody waits again. */
    late = add(&p, 1011);
    strcpy(late->pub.id, "proc_z");
    REQUIRE(deposit_begin(&p.k, late, late->pub.id) == 0);
    late->pub.stdin_fd = memfd_create("in", MFD_CLOEXEC);
    deposit_streams(&p.k, late);
    deposit_started(&p.k, late);
    deposit_well(&p.k);
    REQUIRE(vault_send(p.vault_end, &m, NULL) == 0);
    deposit_read(&p.k);
    EXPECT_INT(deposit_trial(&p.k, true), -EAGAIN);
    EXPECT(getenv(V_ENV) == NULL);
    deposit_forget(&p.k, early);
    EXPECT_INT(hear(&p).type, 0);
    /* Not before its time, and not while it still does not read. */
    deposit_step(&p.k, 0);
    FAIL(sendmsg, .error = EAGAIN);
    deposit_step(&p.k, DEADLINE_NONE);
    EXPECT(p.k.deposit.behind);
    EXPECT_INT(hear(&p).type, 0);
    deposit_step(&p.k, DEADLINE_NONE);
    EXPECT(deposit_is_complete(&p.k) && !p.k.deposit.well_owed && p.k.deposit.reap_owed == 0);
    for (m = hear(&p); m.type != 0; m = hear(&p)) {
        uint32_t row = deposit_row_key(&p.k, late->row);

        puts += m.type == V_PUT && m.keys[0] == row + V_RECORD && m.keys[1] == row + V_STDIN;
        drops += m.type == V_DROP && m.count == V_ROW_KEYS && m.keys[0] != row;
        reaps += m.type == V_REAP && m.pid == 1099;
        wells += m.type == V_WELL;
        EXPECT(!(m.type == V_DROP && m.keys[0] == row + V_STDIN));
    }
    EXPECT(puts == 1 && drops == 1 && reaps == 1 && wells == 1);
    deposit_step(&p.k, DEADLINE_NONE);
    EXPECT_INT(hear(&p).type, 0);
    end(&p);
}

/* A lasting shortage must block a keeper neither while it starts nor whenever it tries again. Each
 * attempt to send takes a millisecond. */
TEST(a_keeper_for_which_clients_wait_does_not_wait_long_for_the_kernel)
{
    struct play p;
    uint64_t began;

    begin(&p);
    for (int serves = 0; serves < 2; serves++) {
        p.k.deposit.behind = serves;
        p.k.deposit.well_sent = serves;
        FAIL(sendmsg, .error = ETOOMANYREFS, .after = serves, .times = -1);
        if (serves)
            deposit_step(&p.k, DEADLINE_NONE);
        else
            deposit_daemon(&p.k);
        EXPECT(FAILED(sendmsg) > 0 && FAILED(sendmsg) <= LIMIT_VAULT_SHORTAGE_MS + 1);
        EXPECT(p.k.deposit.behind && !p.k.deposit.catching_up);
        FAIL_NO_MORE(sendmsg);
    }
    hear_all(&p);
    /* One that serves waits longer, so that each process that starts is safe. */
    p.k.deposit.behind = false;
    began = clock_mono_ms();
    FAIL(sendmsg, .error = ETOOMANYREFS, .times = -1);
    deposit_keep(&p.k);
    EXPECT(clock_mono_ms() - began >= LIMIT_VAULT_SEND_MS);
    EXPECT(!deposit_is_complete(&p.k));
    FAIL_NO_MORE(sendmsg);
    end(&p);
}

/* A process whose record the vault could not keep is known, but nobody can adopt it. */
TEST(a_process_without_its_record_does_not_lose_the_vault)
{
    struct entry *e;
    struct v_message m;
    struct play p;
    bool put = false;

    begin(&p);
    e = add(&p, 1010);
    REQUIRE(deposit_begin(&p.k, e, e->pub.id) == 0);
    io_close(&e->pub.record_fd);
    e->pub.stdin_fd = memfd_create("in", MFD_CLOEXEC);
    p.k.deposit.behind = true;
    deposit_step(&p.k, DEADLINE_NONE);
    EXPECT(deposit_is_complete(&p.k));
    for (m = hear(&p); m.type != 0; m = hear(&p))
        put = put || (m.type == V_PUT && m.count == 1 && m.keys[0] == V_STDIN);
    EXPECT(put);
    end(&p);
}

/* What may not be missed is sent when the vault reads again; the end tries once more by itself. */
TEST(what_a_vault_that_does_not_read_must_know_is_owed_to_it)
{
    struct v_message m;
    struct play p;
    uint32_t refusals = 0;

    begin(&p);
    FAIL(sendmsg, .error = ENOBUFS, .times = -1);
    EXPECT_INT(deposit_trial(&p.k, true), -EAGAIN); /* found out by this very message */
    FAIL_NO_MORE(sendmsg);
    EXPECT(getenv(V_ENV) == NULL && p.k.deposit.behind && !p.k.deposit.well_owed);
    EXPECT_INT(deposit_trial(&p.k, false), -EAGAIN);
    EXPECT(p.k.deposit.well_owed);
    deposit_refused(&p.k);
    EXPECT(p.k.deposit.refused_owed);
    p.k.deposit.reap_owed = 1099;
    deposit_done(&p.k, 3);
    for (m = hear(&p); m.type != 0 && m.type != V_DONE; m = hear(&p))
        refusals += m.type == V_REFUSED;
    EXPECT(m.type == V_DONE && m.status == 3 && refusals == 1 && !p.k.deposit.refused_owed);
    /* A vault that dies meanwhile is lost as any other. */
    p.k.deposit.behind = true;
    shutdown(p.vault_end, SHUT_RDWR);
    deposit_read(&p.k);
    EXPECT(!deposit_is_complete(&p.k) && deposit_deadline(&p.k) == DEADLINE_NONE);
    deposit_step(&p.k, DEADLINE_NONE);
    end(&p);

    /* It stops reading again in the middle: everything is owed once more. */
    begin(&p);
    p.k.deposit.behind = p.k.deposit.well_owed = true;
    p.k.deposit.reap_owed = 1099;
    options.carry_write = NULL;
    FAIL(sendmsg, .after = 1, .error = ENOMEM, .times = -1);
    deposit_step(&p.k, DEADLINE_NONE);
    FAIL_NO_MORE(sendmsg);
    EXPECT(p.k.deposit.behind && p.k.deposit.well_owed && p.k.deposit.reap_owed == 1099);
    end(&p);
}

/* --- without the vault that was its processes' parent ---------------------- */

/* A child that waits; as a process of ours it leads a session. Its pid. */
static pid_t fork_waiting(bool leads)
{
    int pipe_fds[2];
    char byte = 0;
    pid_t pid;

    REQUIRE(pipe2(pipe_fds, O_CLOEXEC) == 0);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        alarm(TEST_SECONDS);
        if (leads)
            setsid();
        (void)!__real_write(pipe_fds[1], &byte, 1);
        for (;;)
            pause();
    }
    REQUIRE(read(pipe_fds[0], &byte, 1) == 1);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return pid;
}

static void kill_and_reap(pid_t pid)
{
    EXPECT_INT(__real_kill(pid, SIGKILL), 0);
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
}

/* Running, and started by the previous keeper. */
static struct entry *add_inherited(struct play *p, pid_t pid)
{
    struct entry *e = add(p, pid);

    REQUIRE(deposit_begin(&p->k, e, e->pub.id) == 0);
    deposit_started(&p->k, e);
    e->row->parent = 777;
    return e;
}

static bool is_lost(const struct entry *e)
{
    return e->pub.exited && e->pub.status == K_STATUS_LOST && row_state(e->row) == ROW_EXITED;
}

static void lose_vault(struct play *p)
{
    shutdown(p->vault_end, SHUT_RDWR);
    deposit_read(&p->k);
    REQUIRE(p->k.deposit.channel.fd < 0);
    inherited_step(&p->k);
}

/* One turn of the keeper's loop, which waits for an event if `ms` is -1. */
static void poll_inherited(struct play *p, int ms)
{
    struct pollfd polls[8];

    REQUIRE(p->k.inherited.count <= 8);
    inherited_poll_set(&p->k, polls);
    EXPECT((poll(polls, p->k.inherited.count, ms) > 0) == (ms < 0));
    inherited_poll_done(&p->k, polls, p->k.inherited.count);
}

TEST(while_the_vault_lives_it_reports_inherited_exits)
{
    struct play p;

    begin(&p);
    (void)add_inherited(&p, 1010);
    inherited_step(&p.k);
    EXPECT(!p.k.inherited.begun);
    EXPECT_INT((int)p.k.inherited.count, 0);
    end(&p);
}

TEST(inherited_processes_are_watched_when_the_vault_has_died)
{
    pid_t living = fork_waiting(true), gone = fork_waiting(true), other = fork_waiting(false);
    struct entry *l, *g, *o, *forgotten;
    struct play p;

    kill_and_reap(gone);
    begin(&p);
    l = add_inherited(&p, living);
    g = add_inherited(&p, gone);
    o = add_inherited(&p, other); /* leads no session: the number belongs to another process now */
    lose_vault(&p);
    EXPECT(!l->pub.exited && is_lost(g) && is_lost(o));
    EXPECT_INT((int)p.k.inherited.count, 1);
    inherited_step(&p.k); /* once is enough */
    EXPECT_INT((int)p.k.inherited.count, 1);
    poll_inherited(&p, 0);
    EXPECT(!l->pub.exited);
    EXPECT_INT(__real_kill(living, SIGKILL), 0);
    poll_inherited(&p, -1);
    EXPECT(is_lost(l));
    poll_inherited(&p, 0); /* it is reported once */
    EXPECT_INT(waitpid(living, NULL, 0), living);
    kill_and_reap(other);
    inherited_fini(&p.k);

    /* One that was deleted before its end is reported has no entry any more. */
    living = fork_waiting(true);
    forgotten = add_inherited(&p, living);
    inherited_step(&p.k);
    EXPECT_INT((int)p.k.inherited.count, 1);
    deposit_forget(&p.k, forgotten);
    list_remove(&forgotten->deferred);
    table_remove(&p.k.table, forgotten);
    EXPECT_INT(__real_kill(living, SIGKILL), 0);
    poll_inherited(&p, -1);
    EXPECT_INT(waitpid(living, NULL, 0), living);
    inherited_fini(&p.k);
    end(&p);
}

/* What failed in the keeper's place was the parent of its processes for a while. */
TEST(a_process_that_somebody_else_has_reaped_is_lost)
{
    pid_t living = fork_waiting(true), dead = fork_waiting(true), gone = fork_waiting(true),
          other = fork_waiting(false);
    struct entry *l, *d, *g, *o, *x, *s;
    struct spawn flying = {0};
    struct play p;

    EXPECT_INT(__real_kill(dead, SIGKILL), 0); /* and not reaped: that is no loss */
    REQUIRE(waitid(P_PID, (id_t)dead, &(siginfo_t){0}, WEXITED | WNOWAIT) == 0);
    kill_and_reap(gone);
    begin(&p);
    l = add_inherited(&p, living);
    d = add_inherited(&p, dead);
    g = add_inherited(&p, gone);
    o = add_inherited(&p, other);
    x = add_inherited(&p, gone);
    x->pub.exited = true;
    s = add_inherited(&p, gone);
    s->spawn = &flying;
    o->row->parent = p.k.pid; /* started by this keeper, before another binary took its place */
    inherited_check(&p.k);
    EXPECT(!l->pub.exited && !d->pub.exited && is_lost(g) && is_lost(o));
    EXPECT(x->pub.status != K_STATUS_LOST && !s->pub.exited);
    s->spawn = NULL;
    kill_and_reap(living);
    kill_and_reap(other);
    EXPECT_INT(waitpid(dead, NULL, 0), dead);
    end(&p);
}

TEST(own_children_are_not_watched_when_the_vault_has_died)
{
    struct entry *own, *ended;
    struct play p;

    begin(&p);
    own = add_inherited(&p, 1010);
    ended = add_inherited(&p, 1011);
    ended->pub.exited = true;
    FAIL(procfs_parent, .give = true, .instead = p.k.pid, .times = -1);
    p.k.worker.pid = 1012;
    lose_vault(&p);
    FAIL(procfs_parent, .error = 0);
    EXPECT_INT((int)p.k.inherited.count, 0);
    EXPECT(!own->pub.exited);
    EXPECT_INT(p.k.worker.pid, 1012);
    end(&p);
}

/* No other worker may start before it is dead, and its counts are unknown then. */
TEST(the_worker_of_the_previous_keeper_is_watched_when_the_vault_has_died)
{
    pid_t pid = fork_waiting(false);
    struct play p;

    begin(&p);
    p.k.worker.pid = pid;
    p.k.worker.inherited = true;
    lose_vault(&p);
    EXPECT_INT((int)p.k.inherited.count, 1);
    EXPECT_INT(p.k.worker.pid, pid);
    EXPECT_INT(__real_kill(pid, SIGKILL), 0);
    poll_inherited(&p, -1);
    EXPECT_INT(p.k.worker.pid, 0);
    EXPECT(!p.k.worker.past[0].known);
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
    inherited_fini(&p.k);

    p.k.worker.pid = pid; /* it is dead already */
    inherited_step(&p.k);
    EXPECT_INT((int)p.k.inherited.count, 0);
    EXPECT_INT(p.k.worker.pid, 0);
    end(&p);
}

/* --- the next keeper ------------------------------------------------------ */

static struct ledger_row *row(struct play *p, uint32_t entry, pid_t pid, enum ledger_state state)
{
    struct ledger_row *r = ledger_find_free(p->v.ledger);

    r->entry = entry;
    r->pid = pid;
    r->parent = 777; /* the keeper before */
    strcpy(r->id, "proc_y");
    row_set_state(r, state);
    return r;
}

TEST(what_was_half_made_is_ended_and_rows_find_their_entries)
{
    struct ledger_row *known, *half, *gone;
    struct entry *e;
    struct play p;
    int fd;

    begin(&p);
    e = add(&p, 1010);
    known = row(&p, e->pub.entry, 1010, ROW_RUNNING);
    half = row(&p, 50, 1050, ROW_STARTING);
    (void)row(&p, 51, 0, ROW_STARTING); /* not cloned yet */
    (void)row(&p, 52, 1052, ROW_STARTING)->parent;
    gone = row(&p, 53, 1053, ROW_RUNNING);
    (void)row(&p, 54, 1054, ROW_FREE);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    /* What an earlier keeper had open is inherited; here it is the vault's own copy. */
    REQUIRE(vault_put(&p.v, ledger_index(p.v.ledger, gone) * V_ROW_KEYS, fd) == 0);
    close(fd);
    atomic_store(&p.v.ledger->worker_pid, 1001);
    REQUIRE(attach_resumed(&p) == 0);
    FAIL_NO_MORE(kill);
    FAIL(kill, .give = true, .times = -1);
    FAIL(procfs_parent, .give = true, .instead = VAULT_PID);
    deposit_adopt(&p.k);
    REQUIRE(e->row != NULL); /* the same row, in the keeper's own mapping */
    EXPECT_U64(ledger_index(p.k.deposit.ledger, e->row), ledger_index(p.v.ledger, known));
    EXPECT_INT(row_state(half), ROW_FREE);
    EXPECT_INT(row_state(gone), ROW_FREE);
    EXPECT_INT(p.k.worker.pid, 1001);
    EXPECT_INT(FAILED(kill), 2); /* the worker, and the half-made one by its number alone */
    EXPECT(p.k.deposit.index == NULL);
    p.v.index[ledger_index(p.v.ledger, gone) * V_ROW_KEYS] = 0; /* closed as an inherited one */
    p.v.index[V_KEY_EXE] = 0;
    hear_all(&p);
    /* No worker was left. */
    atomic_store(&p.v.ledger->worker_pid, 0);
    REQUIRE(attach_resumed(&p) == 0);
    deposit_adopt(&p.k);
    p.k.deposit.replaced = true;
    deposit_adopt(&p.k);
    end(&p);
}

TEST(the_siding_of_the_keeper_before_is_taken_over)
{
    struct play p;
    int fd;

    begin(&p);
    REQUIRE(attach_resumed(&p) == 0);
    deposit_take_siding(&p.k);
    EXPECT_INT(p.k.siding[0], -1);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    REQUIRE(vault_put(&p.v, V_KEY_SIDING_READ, fd) == 0);
    deposit_take_siding(&p.k);
    EXPECT_INT(p.k.siding[0], -1);
    REQUIRE(vault_put(&p.v, V_KEY_SIDING_WRITE, fd) == 0);
    deposit_take_siding(&p.k);
    EXPECT_INT(p.k.siding[0], p.v.index[V_KEY_SIDING_READ] - 1);
    p.k.siding[0] = p.k.siding[1] = -1;
    close(fd);
    end(&p);
}

TEST(a_binary_that_was_executed_in_place_has_its_own_siding)
{
    struct play p;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC, 0);

    begin(&p);
    REQUIRE(vault_put(&p.v, V_KEY_SIDING_READ, fd) == 0);
    REQUIRE(vault_put(&p.v, V_KEY_SIDING_WRITE, fd) == 0);
    options.replaced = true;
    REQUIRE(attach_resumed(&p) == 0);
    deposit_take_siding(&p.k);
    EXPECT_INT(p.k.siding[0], -1);
    close(fd);
    end(&p);
}

/* A keeper that could not read it would leave descriptors open, and take what it cannot see for gone. */
TEST(without_the_index_nothing_is_taken_over)
{
    struct play p;

    begin(&p);
    FAIL(mmap, .error = ENOMEM, .after = 1);
    EXPECT_INT(attach_resumed(&p), -ENOMEM);
    REQUIRE(attach_resumed(&p) == 0);
    end(&p);
}

/* Credentials would be lost with the keeper if less than all of them replaced what the vault has. */
TEST(what_is_carried_is_replaced_as_a_whole_or_not_at_all)
{
    struct play p;

    begin(&p);
    carry_result = -EPROTO;
    deposit_carry(&p.k);
    EXPECT_INT(hear(&p).type, 0);
    carry_result = 0;
    FAIL(memfd_create, .error = ENOMEM, .times = 3);
    deposit_carry(&p.k);
    EXPECT_INT(FAILED(memfd_create), 3);
    EXPECT_INT(hear(&p).type, V_PUT);
    end(&p);
}

TEST(without_memory_for_the_vaults_ends_no_other_binary_is_executed)
{
    struct play p;

    begin(&p);
    FAIL(setenv, .error = ENOMEM);
    EXPECT_INT(deposit_trial(&p.k, true), -ENOMEM);
    EXPECT_INT(hear(&p).type, 0);
    EXPECT(getenv(V_ENV) == NULL);
    end(&p);
}

TEST(a_keeper_that_the_vault_has_started_reads_the_table_from_the_ledger)
{
    struct ledger_row *r;
    struct keeper next;
    struct play p;
    int fd, carry;

    begin(&p);
    (void)row(&p, 9, 1090, ROW_RUNNING);
    r = row(&p, 5, 1050, ROW_EXITED);
    r->status = 3;
    (void)row(&p, 6, 1060, ROW_STARTING);
    (void)row(&p, 7, 1070, ROW_RUNNING);
    carry = memfd_create("carry", MFD_CLOEXEC);
    EXPECT_INT(keeper_resume_from_vault(&p.ends), -EBADF); /* nothing was carried */
    REQUIRE(vault_put(&p.v, V_KEY_CARRY, carry) == 0);
    EXPECT_INT(keeper_resume_from_vault(&p.ends), -EBADF); /* or nothing in it */
    REQUIRE(write(carry, "carried", 7) == 7);
    REQUIRE(vault_put(&p.v, V_KEY_LISTENER + 3, carry) == 0);
    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(keeper_resume_from_vault(&p.ends), -EMFILE);
    FAIL(fstat, .error = EIO, .after = 1);
    EXPECT_INT(keeper_resume_from_vault(&p.ends), -EBADF);
    for (int i = 0; i < 2; i++) { /* the ledger, the index */
        FAIL(mmap, .error = ENOMEM, .after = i);
        EXPECT_INT(keeper_resume_from_vault(&p.ends), -EPROTO);
    }
    FAIL(mmap, .error = ENOMEM, .after = 2);
    EXPECT_INT(keeper_resume_from_vault(&p.ends), -ENOMEM);
    for (int i = 0; i < 3; i++) {
        FAIL(write, .error = ENOSPC, .after = i);
        EXPECT_INT(keeper_resume_from_vault(&p.ends), -ENOSPC);
    }
    FAIL_NO_MORE(write);
    fd = keeper_resume_from_vault(&p.ends);
    REQUIRE(fd >= 0);
    next = (struct keeper){.options = &options, .state_fd = -1};
    table_init(&next.table);
    (void)cgroup_resume(&next.cgroup, "", 0);
    EXPECT_INT(state_load(&next, fd), 0);
    EXPECT_U64(next.table.count, 3);
    EXPECT_U64(table_first(&next.table)->pub.entry, 5);
    EXPECT(table_first(&next.table)->pub.exited && table_first(&next.table)->pub.status == 3);
    table_fini(&next.table);
    cgroup_fini(&next.cgroup, false);
    close(fd);
    close(carry);
    end(&p);
}
