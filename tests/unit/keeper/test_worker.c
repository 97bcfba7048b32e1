/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_worker.c - workers that die, lie or do not read; and what the
 * next one finds
 */
#include "test.h"

#include "keeper_rig.h"

#include "base/io.h"
#include "keeper/keeper_own.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

/* A long-running process with pipes; the test's copies are closed. */
static struct k_spawned start_sleeper(struct rig_worker *w, const char *id)
{
    struct k_spawned m;
    struct rig_spec s;
    int fds[8];

    rig_spec_init(&s, SH("exec sleep 60"));
    strcpy(s.m.id, id);
    rig_spawn(w, &s);
    m = rig_spawned(w, fds);
    REQUIRE(m.error == 0);
    close(fds[0]);
    close(fds[1]);
    return m;
}

TEST(the_first_worker_starts_from_nothing)
{
    struct rig r;
    struct rig_worker w;
    struct stat st;

    rig_begin(&r, &w);
    EXPECT_U64(w.boot.generation, 1);
    EXPECT_U64(w.boot.entry_count, 0);
    EXPECT_INT(w.boot.keeper_pid, r.keeper);
    EXPECT(!w.boot.prev_io_known);
    EXPECT(fstat(w.state, &st) == 0 && st.st_size == 4096);
    rig_end(&r, &w);
}

TEST(the_next_worker_finds_the_processes_and_the_shared_state)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned a, b;
    char text[8] = "";

    rig_begin(&r, &w);
    rig_ready(&w);
    a = start_sleeper(&w, "proc_a");
    b = start_sleeper(&w, "proc_b");
    EXPECT(b.entry > a.entry);
    REQUIRE(pwrite(w.state, "kept", 4, 100) == 4);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.generation, 2);
    EXPECT_U64(w.boot.entry_count, 2);
    EXPECT_STR(w.boot.entries[0].id, "proc_a");
    EXPECT_INT(w.boot.entries[0].pid, a.pid);
    EXPECT_U64(w.boot.entries[1].entry, b.entry);
    EXPECT(!w.boot.entries[0].exited);
    EXPECT(w.boot.entries[0].stdout_fd >= 0 && w.boot.entries[0].record_fd >= 0);
    EXPECT_INT(w.boot.entries[0].tty_fd, -1);
    EXPECT_INT(w.boot.entries[0].stdin_fd, -1);
    EXPECT(pread(w.state, text, 4, 100) == 4);
    EXPECT_STR(text, "kept");
    EXPECT(rig_state(a.pid) != 0);
    rig_end(&r, &w);
}

TEST(what_is_sent_before_a_worker_dies_still_counts)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned a;
    struct k_close c = {.type = K_CLOSE, .which = K_FD_STDOUT};

    rig_begin(&r, &w);
    a = start_sleeper(&w, "proc_a");
    kill(r.keeper, SIGSTOP);
    c.entry = a.entry;
    rig_send(w.channel, &c, sizeof c, NULL, 0);
    rig_kill_worker(&w);
    kill(r.keeper, SIGCONT);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 1);
    EXPECT_INT(w.boot.entries[0].stdout_fd, -1);
    EXPECT(w.boot.entries[0].stderr_fd >= 0);
    rig_end(&r, &w);
}

/* The exit happens while nobody is there to be told. */
TEST(an_exit_without_a_worker_is_in_the_next_ones_table)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned a;

    rig_begin(&r, &w);
    rig_ready(&w);
    a = start_sleeper(&w, "proc_a");
    kill(r.keeper, SIGSTOP);
    kill(a.pid, SIGTERM);
    rig_kill_worker(&w);
    kill(r.keeper, SIGCONT);
    rig_worker(&r, &w);
    REQUIRE(w.boot.entry_count == 1);
    if (!w.boot.entries[0].exited) {
        /* The worker was found dead first: then the exit comes as a message. */
        EXPECT_INT(rig_exited(&w).status, SIGTERM);
    } else {
        EXPECT_INT(w.boot.entries[0].status, SIGTERM);
        EXPECT(w.boot.entries[0].exited_wall_ms > 0);
    }
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT(w.boot.entries[0].exited);
    EXPECT_INT(w.boot.entries[0].status, SIGTERM);
    rig_forget(&w, a.entry);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    rig_end(&r, &w);
}

static int counting_worker(const struct keeper_boot *boot, void *arg)
{
    char text[1000] = "";
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (boot->generation == 1) {
        io_count_sync();
        for (int i = 0; i < 5; i++)
            (void)hf_write(null, text, sizeof text);
        *(struct io_count *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, boot->state_fd,
                                 0) = io_counted();
        raise(SIGKILL);
    }
    close(null);
    return rig_worker_main(boot, arg);
}

TEST(what_a_dead_worker_had_read_and_written_is_known)
{
    struct rig r;
    struct rig_worker w;
    struct io_count said;

    rig_init(&r);
    r.worker_main = counting_worker;
    rig_start(&r);
    rig_worker(&r, &w);
    REQUIRE(pread(w.state, &said, sizeof said, 0) == sizeof said);
    EXPECT(w.boot.prev_io_known);
    EXPECT(said.written_bytes >= 5000);
    EXPECT_U64(w.boot.prev_io.read_bytes, said.read_bytes);
    EXPECT_U64(w.boot.prev_io.written_bytes, said.written_bytes);
    rig_end(&r, &w);
}

static int dying_after_counting_worker(const struct keeper_boot *boot, void *arg)
{
    if (boot->generation == 2)
        raise(SIGKILL);
    return counting_worker(boot, arg);
}

/* The next worker that lives has bytes to count which the first one left. */
TEST(a_worker_that_dies_at_once_hides_no_count)
{
    struct rig r;
    struct rig_worker w;
    struct io_count said;

    rig_init(&r);
    r.worker_main = dying_after_counting_worker;
    rig_start(&r);
    rig_worker(&r, &w);
    REQUIRE(pread(w.state, &said, sizeof said, 0) == sizeof said);
    EXPECT(w.boot.generation == 3);
    EXPECT(said.written_bytes >= 5000);
    EXPECT_U64(w.boot.io_before.read_bytes, said.read_bytes);
    EXPECT_U64(w.boot.io_before.written_bytes, said.written_bytes);
    rig_end(&r, &w);
}

TEST(restarts_cost_no_descriptor)
{
    struct rig r;
    struct rig_worker w;
    int before, in_worker;

    rig_begin(&r, &w);
    start_sleeper(&w, "proc_a");
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    before = rig_steady_fds(r.keeper);
    in_worker = rig_steady_fds(w.boot.pid);
    for (int i = 0; i < 20; i++) {
        rig_ready(&w);
        /* Ready and alive for a while, so that there is no wait before the next. */
        if (i % 2 == 1)
            usleep(110 * 1000);
        rig_kill_worker(&w);
        rig_worker(&r, &w);
    }
    EXPECT(rig_has_fds(r.keeper, before));
    EXPECT_INT(rig_count_fds(w.boot.pid), in_worker);
    rig_end(&r, &w);
}

TEST(the_worker_dies_with_the_keeper)
{
    struct rig r;
    struct rig_worker w;

    rig_begin(&r, &w);
    kill(r.keeper, SIGKILL);
    EXPECT_INT(rig_wait_keeper(&r), -SIGKILL);
    for (int i = 0; i < 1000 && rig_state(w.boot.pid) != 0 && rig_state(w.boot.pid) != 'Z'; i++)
        usleep(1000);
    EXPECT(rig_state(w.boot.pid) == 0 || rig_state(w.boot.pid) == 'Z');
    rig_drop(&w);
}

TEST(signals_for_the_group_do_not_reach_the_worker)
{
    struct rig r;
    struct rig_worker w;

    rig_begin(&r, &w);
    for (int sig = 1; sig < 16; sig++) {
        if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT || sig == SIGUSR1 ||
            sig == SIGUSR2 || sig == SIGPIPE)
            kill(w.boot.pid, sig);
    }
    usleep(20 * 1000);
    EXPECT(rig_sleeps(w.boot.pid));
    rig_end(&r, &w);
}

/* --- malformed messages --------------------------------------------------- */

/* Sends the packet and expects that this worker dies, the keeper does not, and nothing leaks. */
static void expect_killed(struct rig *r, struct rig_worker *w, const void *bytes, size_t len,
                          int fd_count)
{
    int fds[FD_MESSAGE_MAX], before;

    rig_ready(w);
    before = rig_steady_fds(r->keeper);
    for (int i = 0; i < fd_count; i++)
        fds[i] = memfd_create("x", MFD_CLOEXEC);
    rig_send(w->channel, bytes, len, fds, (size_t)fd_count);
    for (int i = 0; i < fd_count; i++)
        close(fds[i]);
    EXPECT(rig_gone(w->boot.pid));
    rig_drop(w);
    rig_worker(r, w);
    EXPECT(rig_has_fds(r->keeper, before));
    EXPECT(rig_sleeps(r->keeper));
}

/* Three of them in a row would bring the wait before the next worker. */
static void live_a_while(struct rig_worker *w)
{
    rig_ready(w);
    usleep(110 * 1000);
}

static void quiet_log(void)
{
    int fd = open("/dev/null", O_WRONLY);

    dup2(fd, 2);
    close(fd);
}

static void begin_quiet(struct rig *r, struct rig_worker *w)
{
    rig_init(r);
    r->before = quiet_log;
    rig_start(r);
    rig_worker(r, w);
}

TEST(malformed_messages_end_the_worker_and_not_the_keeper)
{
    struct rig r;
    struct rig_worker w;
    struct k_simple simple = {.type = K_READY};
    struct k_signal signal_m = {.type = K_SIGNAL, .signum = SIGTERM, .target = K_TREE, .entry = 9};
    struct k_close close_m = {.type = K_CLOSE, .entry = 9, .which = 1};
    struct k_flood flood_m = {.type = K_FLOOD, .entry = 9, .on = 1};
    char junk[64];

    begin_quiet(&r, &w);
    memset(junk, 0xff, sizeof junk);
    expect_killed(&r, &w, junk, sizeof junk, 0);
    expect_killed(&r, &w, junk, 1, 0);
    live_a_while(&w);
    expect_killed(&r, &w, &simple, sizeof simple - 1, 0);
    live_a_while(&w);
    expect_killed(&r, &w, &simple, sizeof simple, 1);
    live_a_while(&w);
    /* No such entry. */
    expect_killed(&r, &w, &signal_m, sizeof signal_m, 0);
    live_a_while(&w);
    expect_killed(&r, &w, &close_m, sizeof close_m, 0);
    live_a_while(&w);
    simple = (struct k_simple){.type = K_FORGET, .entry = 1};
    expect_killed(&r, &w, &simple, sizeof simple, 0);
    live_a_while(&w);
    simple.type = K_SURVEY;
    expect_killed(&r, &w, &simple, sizeof simple, 0);
    live_a_while(&w);
    simple.type = K_PROBE;
    expect_killed(&r, &w, &simple, sizeof simple, 0);
    live_a_while(&w);
    expect_killed(&r, &w, &flood_m, sizeof flood_m, 0);
    live_a_while(&w);
    /* What only the keeper may send. */
    simple.type = K_RETIRE;
    expect_killed(&r, &w, &simple, sizeof simple, 0);
    rig_end(&r, &w);
}

/* A packet with sound numbers and the strings of /bin/true. */
static size_t build_spawn(char *packet, struct k_spawn *m)
{
    static const char strings[] = "\0/bin/true\0true\0A=1";

    memset(m, 0, sizeof *m);
    m->type = K_SPAWN;
    strcpy(m->id, "proc_x");
    m->cpu_s = m->memory_bytes = m->processes = m->open_files = m->file_bytes = K_UNSET;
    m->path_count = m->arg_count = m->env_count = 1;
    m->strings_len = sizeof strings;
    memcpy(packet, m, sizeof *m);
    memcpy(packet + sizeof *m, strings, sizeof strings);
    return sizeof *m + sizeof strings;
}

TEST(malformed_spawns_end_the_worker_and_leave_nothing)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawn m;
    char packet[sizeof m + 64];
    size_t len;

    begin_quiet(&r, &w);
    len = build_spawn(packet, &m);
    expect_killed(&r, &w, packet, len, 0);
    expect_killed(&r, &w, packet, len, 3);
    live_a_while(&w);
    expect_killed(&r, &w, packet, len, FD_MESSAGE_MAX);
    live_a_while(&w);
    /* Strings in a file that is too short, and one string more than there is. */
    expect_killed(&r, &w, packet, sizeof m, 2);
    live_a_while(&w);
    ((struct k_spawn *)packet)->env_count = 2;
    expect_killed(&r, &w, packet, len, 1);
    live_a_while(&w);
    build_spawn(packet, &m);
    packet[len - 1] = 'x';
    expect_killed(&r, &w, packet, len, 1);
    EXPECT_U64(w.boot.entry_count, 0);
    rig_end(&r, &w);
}

TEST(strings_are_taken_from_memory_files_only)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawn m;
    char packet[sizeof m + 64];
    int fds[2], pair[2];

    begin_quiet(&r, &w);
    build_spawn(packet, &m);
    REQUIRE(pipe2(pair, O_CLOEXEC) == 0);
    fds[0] = fds[1] = pair[0];
    rig_send(w.channel, packet, sizeof m, fds, 2);
    EXPECT(rig_gone(w.boot.pid));
    close(pair[0]);
    close(pair[1]);
    rig_drop(&w);
    rig_worker(&r, &w);
    rig_end(&r, &w);
}

TEST(forgetting_a_living_process_is_malformed)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned a;
    struct k_simple m = {.type = K_FORGET};

    begin_quiet(&r, &w);
    a = start_sleeper(&w, "proc_a");
    m.entry = a.entry;
    expect_killed(&r, &w, &m, sizeof m, 0);
    EXPECT_U64(w.boot.entry_count, 1);
    EXPECT(rig_state(a.pid) != 0);
    rig_end(&r, &w);
}

/* The queue is bounded, and nobody but that worker suffers. */
TEST(a_worker_that_does_not_read_is_ended_and_nothing_is_lost)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned a;
    struct k_signal m = {.type = K_SIGNAL, .signum = SIGCONT, .target = K_LEADER};

    begin_quiet(&r, &w);
    a = start_sleeper(&w, "proc_a");
    m.entry = a.entry;
    for (int i = 0; i < 50000; i++) {
        struct pollfd p = {.fd = w.channel, .events = POLLOUT};

        if (poll(&p, 1, RIG_WAIT_MS) <= 0 || send(w.channel, &m, sizeof m, MSG_NOSIGNAL) < 0)
            break;
    }
    EXPECT(rig_gone(w.boot.pid));
    rig_drop(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 1);
    EXPECT_INT(w.boot.entries[0].pid, a.pid);
    rig_end(&r, &w);
}

TEST(a_slow_worker_gets_every_exit_in_the_end)
{
    enum { COUNT = 300 };
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int spawned = 0, exited = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, (const char *const[]){"/bin/true", NULL});
    for (int i = 0; i < COUNT; i++)
        rig_spawn(&w, &s);
    /* The socket is full long before: the rest waits in the keeper. */
    usleep(300 * 1000);
    while (exited < COUNT) {
        struct k_surveyed room;
        size_t count;
        int fds[8];

        ssize_t len = rig_receive(w.channel, &room, sizeof room, fds, &count);

        REQUIRE(len > 0);
        spawned += room.type == K_SPAWNED;
        exited += room.type == K_EXITED || len == sizeof(struct k_ran);
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    }
    EXPECT_INT(spawned, COUNT);
    rig_end(&r, &w);
}

/* --- back-off ------------------------------------------------------------- */

static int dying_worker(const struct keeper_boot *boot, void *arg)
{
    uint64_t now = clock_mono_ms();

    (void)!pwrite(boot->state_fd, &now, sizeof now, (off_t)(boot->generation * sizeof now));
    if (boot->generation <= 5)
        return 9;
    return rig_worker_main(boot, arg);
}

TEST(workers_that_die_at_once_again_and_again_are_waited_for)
{
    struct rig r;
    struct rig_worker w;
    uint64_t at[8];

    rig_init(&r);
    r.worker_main = dying_worker;
    r.before = quiet_log;
    rig_start(&r);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.generation, 6);
    REQUIRE(pread(w.state, at, sizeof at, 0) == sizeof at);
    EXPECT(at[3] - at[1] < at[6] - at[3]);
    EXPECT(at[4] - at[3] >= 100);
    EXPECT(at[5] - at[4] >= 200);
    EXPECT(at[6] - at[5] >= 400);
    rig_end(&r, &w);
}

/* Each comes up and is ended by this signal; returns how long the last took to be replaced. */
static uint64_t end_in_a_row(struct rig *r, struct rig_worker *w, int signum, int times)
{
    uint64_t at = 0;

    for (int i = 0; i < times; i++) {
        rig_ready(w);
        kill(w->boot.pid, signum);
        at = clock_mono_ms();
        rig_drop(w);
        rig_worker(r, w);
    }
    return clock_mono_ms() - at;
}

/*
 * Whoever kills workers that serve (an operator, a test, the kernel) has had
 * to wait up to five seconds for the next one.
 */
TEST(workers_that_are_killed_while_they_serve_are_replaced_at_once)
{
    struct rig r;
    struct rig_worker w;
    uint64_t start = clock_mono_ms();

    begin_quiet(&r, &w);
    end_in_a_row(&r, &w, SIGKILL, 9);
    EXPECT(clock_mono_ms() - start < 1000);
    /* An endless row is slowed down, but never by much. */
    EXPECT(end_in_a_row(&r, &w, SIGKILL, 1) >= 50);
    EXPECT(end_in_a_row(&r, &w, SIGKILL, 5) < 1000);
    EXPECT_U64(w.boot.generation, 16);
    rig_end(&r, &w);
}

TEST(workers_that_crash_while_they_serve_are_waited_for)
{
    struct rig r;
    struct rig_worker w;

    begin_quiet(&r, &w);
    end_in_a_row(&r, &w, SIGABRT, 2);
    EXPECT(end_in_a_row(&r, &w, SIGABRT, 1) >= 100);
    EXPECT(end_in_a_row(&r, &w, SIGABRT, 1) >= 200);
    /* One that came up and was killed is no crash: the count begins anew. */
    end_in_a_row(&r, &w, SIGKILL, 1);
    EXPECT(end_in_a_row(&r, &w, SIGABRT, 1) < 200);
    rig_end(&r, &w);
}

/* A worker that truncated the state had every later one die of SIGBUS. */
TEST(the_shared_state_cannot_be_made_shorter)
{
    struct rig r;
    struct rig_worker w;

    rig_begin(&r, &w);
    EXPECT(ftruncate(w.state, 0) < 0 && errno == EPERM);
    EXPECT(ftruncate(w.state, 1 << 30) < 0 && errno == EPERM);
    rig_end(&r, &w);
}

/* Perhaps it is what they find that makes them crash. */
TEST(workers_that_crash_again_and_again_get_fresh_shared_state)
{
    struct rig r;
    struct rig_worker w;
    char text[8] = "";

    begin_quiet(&r, &w);
    REQUIRE(pwrite(w.state, "bad", 4, 100) == 4);
    end_in_a_row(&r, &w, SIGABRT, 4);
    EXPECT(pread(w.state, text, 4, 100) == 4);
    EXPECT_STR(text, "bad");
    end_in_a_row(&r, &w, SIGABRT, 1);
    EXPECT(pread(w.state, text, 4, 100) == 4);
    EXPECT_STR(text, "");
    rig_end(&r, &w);
}

/* SIGKILL is ours here: what it sent is the worker's own doing. */
TEST(workers_that_send_nonsense_again_and_again_are_waited_for)
{
    struct rig r;
    struct rig_worker w;
    uint64_t at = 0;

    begin_quiet(&r, &w);
    for (int i = 0; i < 3; i++) {
        rig_ready(&w);
        rig_send(w.channel, "?", 1, NULL, 0);
        at = clock_mono_ms();
        rig_drop(&w);
        rig_worker(&r, &w);
    }
    EXPECT(clock_mono_ms() - at >= 100);
    rig_end(&r, &w);
}

/* --- orphans -------------------------------------------------------------- */

TEST(orphans_come_to_the_keeper_and_are_reaped)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    int pid = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("(setsid sh -c 'sleep 0.2' >/dev/null 2>&1 & echo $!)"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT(sscanf(out, "%d", &pid) == 1 && pid > 0);
    EXPECT(rig_gone(pid));
    rig_end(&r, &w);
}

TEST(the_wait_before_another_worker_doubles_up_to_its_bound)
{
    EXPECT_INT(worker_backoff_ms(0, 0), 0);
    EXPECT_INT(worker_backoff_ms(2, 2), 0);
    EXPECT_INT(worker_backoff_ms(3, 3), 100);
    EXPECT_INT(worker_backoff_ms(4, 4), 200);
    EXPECT_INT(worker_backoff_ms(8, 8), 3200);
    EXPECT_INT(worker_backoff_ms(9, 100), 5000);
    EXPECT_INT(worker_backoff_ms(4000000000U, 4000000000U), 5000);
    /* Ends from outside: at once, then after a wait that stays short. */
    EXPECT_INT(worker_backoff_ms(0, 9), 0);
    EXPECT_INT(worker_backoff_ms(0, 10), 50);
    EXPECT_INT(worker_backoff_ms(2, 4000000000U), 50);
}
