/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_credentials_reload.c - credentials are read by a child, and come to the worker
 */
#include "test.h"

#include "keeper_rig.h"

/* Shared with the keeper and its children. */
struct shared {
    _Atomic int reads, taken;
    _Atomic int64_t grace_ms;
    _Atomic int code; /* of the reader; -1: it hangs */
    _Atomic bool hold;
    _Atomic int fds; /* that the reader finds open */
};
static struct shared *shared;

static int read_files(int fd, int64_t grace_ms, void *arg)
{
    char text[32];
    int n = snprintf(text, sizeof text, "reading %d", ++shared->reads);

    (void)arg;
    shared->grace_ms = grace_ms;
    shared->fds = rig_count_fds(getpid());
    while (shared->hold)
        usleep(1000);
    if (shared->code == -1)
        pause();
    return write(fd, text, (size_t)n) == n ? shared->code : 1;
}

static void take_file(int fd, void *arg)
{
    (void)arg;
    shared->taken++;
    close(fd);
}

static void prepare(struct rig *r, const char *exe_path)
{
    static char name[] = "false";
    static char *const argv[] = {name, NULL};

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    rig_init(r);
    r->options.exe_path = exe_path;
    r->options.argv = argv;
    r->options.reload = (struct keeper_reload){.read = read_files, .take = take_file};
}

static void begin(struct rig *r, struct rig_worker *w)
{
    prepare(r, "/bin/false");
    rig_start(r);
    rig_worker(r, w);
}

static void end(struct rig *r, struct rig_worker *w)
{
    rig_end(r, w);
    munmap(shared, sizeof *shared);
}

static void expect_credentials(struct rig_worker *w, uint32_t req, int error, const char *text)
{
    struct k_credentials m;
    char got[32] = "";
    size_t count;
    int fds[8];

    rig_expect(w, K_CREDENTIALS, &m, sizeof m, fds, &count);
    EXPECT_U64(m.req, req);
    EXPECT_INT(m.error, error);
    EXPECT_INT((int64_t)count, error == 0);
    if (count == 1) {
        EXPECT(pread(fds[0], got, sizeof got - 1, 0) > 0);
        EXPECT_STR(got, text);
        close(fds[0]);
    }
}

static void reload(const struct rig_worker *w, uint32_t req, uint64_t grace_ms)
{
    struct k_reload m = {.type = K_RELOAD, .req = req, .grace_ms = grace_ms};

    rig_send(w->channel, &m, sizeof m, NULL, 0);
}

TEST(a_request_is_answered_with_what_was_read)
{
    struct rig r;
    struct rig_worker w;
    int before;

    begin(&r, &w);
    before = rig_steady_fds(r.keeper);
    reload(&w, 7, 1234);
    expect_credentials(&w, 7, 0, "reading 1");
    EXPECT_INT(shared->grace_ms, 1234);
    reload(&w, 8, K_GRACE_UNSET);
    expect_credentials(&w, 8, 0, "reading 2");
    EXPECT_INT(shared->grace_ms, -1);
    while (shared->taken < 2) /* which is after the answer */
        usleep(1000);
    EXPECT(rig_has_fds(r.keeper, before));
    end(&r, &w);
}

TEST(sighup_reads_them_whether_or_not_there_is_a_binary)
{
    struct rig r;
    struct rig_worker w;

    begin(&r, &w);
    kill(r.keeper, SIGHUP);
    expect_credentials(&w, 0, 0, "reading 1");
    EXPECT_INT(shared->grace_ms, -1);
    end(&r, &w);
}

/* A file may change after it was read, so whoever asks meanwhile is answered by another reading. */
TEST(requests_during_a_reading_are_answered_by_one_more)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    begin(&r, &w);
    shared->hold = true;
    reload(&w, 1, K_GRACE_UNSET);
    while (shared->reads == 0)
        usleep(1000);
    reload(&w, 2, 50);
    reload(&w, 3, 60);
    /* The keeper takes one after the other, so it has both when this one is done. */
    rig_spec_init(&s, (const char *const[]){"/bin/true", NULL});
    rig_run(&w, &s, out, sizeof out);
    shared->hold = false;
    expect_credentials(&w, 1, 0, "reading 1");
    expect_credentials(&w, 3, 0, "reading 2");
    EXPECT_INT(shared->grace_ms, 60);
    EXPECT_INT(shared->reads, 2);
    end(&r, &w);
}

TEST(a_reader_that_fails_changes_nothing)
{
    struct rig r;
    struct rig_worker w;

    begin(&r, &w);
    shared->code = 3;
    reload(&w, 1, 0);
    expect_credentials(&w, 1, EIO, NULL);
    EXPECT_INT(shared->taken, 0);
    shared->code = 0;
    reload(&w, 2, 0);
    expect_credentials(&w, 2, 0, "reading 2");
    end(&r, &w);
}

/* A file system that hangs: the keeper goes on, and gives the reader up after LIMIT_RELOAD_MS. */
TEST(a_reader_that_hangs_is_given_up)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    begin(&r, &w);
    shared->code = -1;
    reload(&w, 1, 0);
    while (shared->reads == 0)
        usleep(1000);
    rig_spec_init(&s, (const char *const[]){"/bin/sh", "-c", "echo still", NULL});
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "still\n");
    expect_credentials(&w, 1, ETIMEDOUT, NULL);
    end(&r, &w);
}

/* While it hangs, the input of a process would not end. */
TEST(a_reader_has_no_descriptor_of_the_keeper)
{
    struct rig r;
    struct rig_worker w;

    begin(&r, &w);
    reload(&w, 1, 0);
    expect_credentials(&w, 1, 0, "reading 1");
    EXPECT_INT(shared->fds, 2 + 3 + 1 + 1); /* dots, standard, what it writes, what counts */
    end(&r, &w);
}

TEST(a_reading_that_was_cancelled_begins_again_when_the_exec_fails)
{
    char script[] = "/tmp/holdfast-upgrade-XXXXXX";
    int fd = mkstemp(script), fds[8];
    struct rig r;
    struct rig_worker w;
    struct k_simple m;
    size_t count;

    REQUIRE(write(fd, "#!/bin/sh\nexit 93\n", 18) == 18);
    fchmod(fd, 0755);
    close(fd);
    prepare(&r, script);
    rig_start(&r);
    rig_worker(&r, &w);
    shared->hold = true;
    reload(&w, 1, 77);
    while (shared->reads == 0)
        usleep(1000);
    kill(r.keeper, SIGHUP);
    rig_expect(&w, K_RETIRE, &m, sizeof m, fds, &count);
    unlink(script);
    rig_exit_worker(&r, &w, 0);
    rig_worker(&r, &w);
    shared->hold = false;
    expect_credentials(&w, 0, 0, "reading 2");
    end(&r, &w);
}

TEST(a_grace_beyond_all_bounds_ends_the_worker)
{
    struct rig r;
    struct rig_worker w;

    begin(&r, &w);
    reload(&w, 1, 366ULL * 24 * 3600 * 1000 + 1);
    rig_drop(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.generation, 2);
    end(&r, &w);
}
