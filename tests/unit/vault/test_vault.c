/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vault.c - a real vault, whose keepers and clients the test plays
 *
 * A keeper does nothing but hand its end of the link to the test and obey. The first one is
 * forked; the others are this very program, executed by the vault.
 */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/log.h"
#include "failing.h"
#include "vault/vault_store.h"

/* Wraps: clock_mono_ms fork socketpair signalfd fstat mmap calloc sendmsg poll accept4 fcntl kill */
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)
FAILING(pid_t, fork, (void), (), -1)
FAILING(int, socketpair, (int domain, int type, int protocol, int *pair),
        (domain, type, protocol, pair), -1)
FAILING(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), -1)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING(int, kill, (pid_t pid, int sig), (pid, sig), -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(void *, calloc, (size_t n, size_t size), (n, size), 0)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(int, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags),
        -1)
FAILING(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), -1)

#define WAIT_MS 30000

/* The vault's clock, which the test can put forward. */
static _Atomic uint64_t *later_ms;

uint64_t __real_clock_mono_ms(void);
uint64_t __wrap_clock_mono_ms(void);
uint64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + (later_ms == NULL ? 0 : *later_ms);
}

/* --- a keeper ------------------------------------------------------------- */

/* What the test tells it, beside an exit code. */
enum { DO_DIE = -1, DO_FORK = -2, DO_IGNORE = -3 /* SIGTERM */ };

static int connect_to(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));

    memcpy(a.sun_path + 1, name, strlen(name));
    return connect(fd, (struct sockaddr *)&a, len) == 0 ? fd : -1;
}

static void send_fds(int to, const void *bytes, size_t len, const int fds[2])
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int) * 2)];
    } control = {0};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * 2);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * 2);
    if (__real_sendmsg(to, &m, MSG_NOSIGNAL) < 0)
        _exit(98);
}

static pid_t fork_sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
        alarm(TEST_SECONDS); /* a test that fails leaves nobody behind */
        pause();
        _exit(0);
    }
    return pid;
}

static int play(const struct vault_ends *ends, const char *where)
{
    int fds[2] = {ends->channel_fd, ends->index_fd};
    int control = connect_to(where), code = 1;
    sigset_t none;
    pid_t pid = getpid();

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL); /* which a shell has its background jobs ignore */
    signal(SIGHUP, SIG_DFL); /* which nohup ignores */
    send_fds(control, &pid, sizeof pid, fds);
    while (recv(control, &code, sizeof code, 0) > 0) {
        if (code >= 0)
            return code;
        if (code == DO_DIE)
            raise(SIGKILL);
        if (code == DO_IGNORE) {
            signal(SIGTERM, SIG_IGN);
            (void)!send(control, &pid, sizeof pid, MSG_NOSIGNAL);
            continue;
        }
        pid = fork_sleeper();
        (void)!send(control, &pid, sizeof pid, MSG_NOSIGNAL);
    }
    return 97;
}

__attribute__((constructor)) static void be_keeper(int argc, char **argv)
{
    struct vault_ends ends;

    if (argc != 3 || strcmp(argv[1], "played-keeper") != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    _exit(vault_ends_from_env(&ends) ? play(&ends, argv[2]) : 96);
}

/* --- the rig -------------------------------------------------------------- */

struct rig {
    pid_t vault;
    int listen;   /* where keepers announce themselves */
    int launcher; /* our end */
    char where[64], name[64];
    void (*before)(void);
    enum lack { LACKS_NOTHING, LACKS_ARGS, LACKS_STATE } lack;
};

struct keeper {
    pid_t pid;
    int control, channel, index;
};

static int first_keeper(const struct vault_ends *ends, void *arg)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return play(ends, arg);
}

static void run_vault(struct rig *r, int launcher)
{
    static char exe[] = "exe", word[] = "played-keeper";
    char *argv[] = {exe, word, r->where, NULL};
    struct vault v;
    int code;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    close(r->listen);
    close(r->launcher);
    log_set_level(LOG_ERROR);
    if (getenv("RIG_LOG") == NULL)
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    if (vault_init(&v, "/proc/self/exe") < 0 ||
        (r->lack != LACKS_ARGS && vault_put_args(&v, argv) < 0))
        _exit(95);
    (void)vault_put(&v, V_KEY_OUTPUT, STDOUT_FILENO);
    (void)vault_put(&v, V_KEY_ERRORS, STDERR_FILENO);
    (void)vault_put(&v, V_KEY_CWD, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    /* What a keeper leaves before it serves: with it, the vault starts another one. */
    if (r->lack != LACKS_STATE)
        (void)vault_put(&v, V_KEY_CARRY, STDERR_FILENO);
    vault_listen(&v, r->name);
    if (r->before != NULL)
        r->before();
    code = vault_run(&v, first_keeper, r->where, launcher, getppid());
    vault_fini(&v);
    _exit(code);
}

static void begin_with(struct rig *r, void (*before)(void), enum lack lack)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static int serial;
    int pair[2];

    *r = (struct rig){.before = before, .lack = lack};
    snprintf(r->where, sizeof r->where, "holdfast-test-%d-%d", (int)getpid(), ++serial);
    snprintf(r->name, sizeof r->name, "test-%d-%d", (int)getpid(), serial);
    r->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path + 1, r->where, strlen(r->where));
    REQUIRE(bind(r->listen, (struct sockaddr *)&a,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(r->where))) == 0);
    REQUIRE(listen(r->listen, 4) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    r->launcher = pair[0];
    if (later_ms == NULL)
        later_ms = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *later_ms = 0;
    fflush(NULL);
    r->vault = fork();
    REQUIRE(r->vault >= 0);
    if (r->vault == 0)
        run_vault(r, pair[1]);
    close(pair[1]);
}

static void next_keeper(struct rig *r, struct keeper *k)
{
    struct pollfd p = {.fd = r->listen, .events = POLLIN};
    struct fd_message m;

    REQUIRE(poll(&p, 1, WAIT_MS) == 1);
    k->control = accept4(r->listen, NULL, NULL, SOCK_CLOEXEC);
    p.fd = k->control;
    REQUIRE(poll(&p, 1, WAIT_MS) == 1);
    REQUIRE(fd_message_receive(k->control, &k->pid, sizeof k->pid, 2, false, &m) == 1);
    REQUIRE(m.fd_count == 2);
    k->channel = m.fds[0];
    k->index = m.fds[1];
}

static void begin(struct rig *r, struct keeper *k)
{
    begin_with(r, NULL, LACKS_NOTHING);
    next_keeper(r, k);
}

static void tell(const struct keeper *k, int code)
{
    REQUIRE(send(k->control, &code, sizeof code, MSG_NOSIGNAL) == sizeof code);
}

static void drop(struct keeper *k)
{
    close(k->control);
    close(k->channel);
    close(k->index);
}

static void say(const struct keeper *k, struct v_message m)
{
    REQUIRE(vault_send(k->channel, &m, NULL) == 0);
}

static struct v_message hear(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct v_message m = {0};
    struct fd_message attached;

    REQUIRE(poll(&p, 1, WAIT_MS) == 1);
    REQUIRE(vault_receive(fd, &m, &attached) == 1);
    fd_message_close(&attached);
    return m;
}

static int wait_vault(struct rig *r)
{
    int status = 0;

    REQUIRE(waitpid(r->vault, &status, 0) == r->vault);
    close(r->listen);
    close(r->launcher);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The keeper says that all is over, and ends. */
static void end(struct rig *r, struct keeper *k)
{
    say(k, (struct v_message){.type = V_DONE});
    tell(k, 0);
    drop(k);
    EXPECT_INT(wait_vault(r), 0);
}

static void die(struct rig *r, struct keeper *k)
{
    tell(k, DO_DIE);
    drop(k);
    next_keeper(r, k);
}

static int client(const struct rig *r)
{
    int fd = vault_connect(r->name);

    REQUIRE(fd >= 0);
    return fd;
}

/* A turn of the vault later: what was sent before has been done. */
static struct v_message query_status(int fd)
{
    struct v_message m = {.type = V_STATUS};

    REQUIRE(vault_send(fd, &m, NULL) == 0);
    do
        m = hear(fd);
    while (m.count != 1); /* those that come unasked have no ledger with them */
    return m;
}

static void request(int fd, uint32_t type)
{
    struct v_message m = {.type = type};

    REQUIRE(vault_send(fd, &m, NULL) == 0);
}

/* --- beginning and end ---------------------------------------------------- */

static void without_signalfd(void)
{
    FAIL(signalfd, .error = EMFILE);
}

static void without_fork(void)
{
    FAIL(fork, .error = EAGAIN);
}

static void without_socketpair(void)
{
    FAIL(socketpair, .error = EMFILE);
}

TEST(a_vault_that_cannot_start_its_keeper_ends)
{
    static void (*const reasons[])(void) = {without_signalfd, without_fork, without_socketpair};
    struct rig r;

    for (size_t i = 0; i < 3; i++) {
        begin_with(&r, reasons[i], LACKS_NOTHING);
        EXPECT_INT(wait_vault(&r), 1);
    }
}

TEST(the_daemons_code_is_what_the_keeper_said_or_its_own)
{
    struct keeper k;
    struct rig r;

    begin(&r, &k);
    say(&k, (struct v_message){.type = V_DONE, .status = 5});
    tell(&k, 0);
    drop(&k);
    EXPECT_INT(wait_vault(&r), 5);

    begin(&r, &k);
    say(&k, (struct v_message){.type = V_DONE});
    tell(&k, 3);
    drop(&k);
    EXPECT_INT(wait_vault(&r), 3);

    begin(&r, &k);
    say(&k, (struct v_message){.type = V_DONE});
    tell(&k, DO_DIE);
    drop(&k);
    EXPECT_INT(wait_vault(&r), 1);
}

/* --- a keeper dies -------------------------------------------------------- */

TEST(a_keeper_that_dies_is_followed_by_another)
{
    struct v_message m;
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    m = query_status(fd);
    EXPECT(m.starts == 1 && m.pid == k.pid && m.phase == V_STARTING && m.launcher == getpid());
    say(&k, (struct v_message){.type = V_WELL});
    EXPECT_INT(query_status(fd).phase, V_SERVING);
    die(&r, &k);
    m = query_status(fd);
    EXPECT(m.starts == 2 && m.pid == k.pid && m.phase == V_STARTING);
    tell(&k, 0); /* leaves without a word */
    drop(&k);
    next_keeper(&r, &k);
    EXPECT_U64(query_status(fd).starts, 3);
    /* Early deaths in a row make it wait, longer each time. */
    for (int i = 0; i < 3; i++)
        die(&r, &k);
    EXPECT_U64(query_status(fd).starts, 6);
    close(fd);
    end(&r, &k);
}

TEST(a_keeper_that_cannot_be_started_is_tried_again)
{
    struct keeper k;
    struct rig r;

    begin(&r, &k);
    FAIL(fork, .error = EAGAIN, .pid = r.vault);
    die(&r, &k);
    EXPECT_INT(FAILED(fork), 1);
    FAIL(socketpair, .error = EMFILE, .pid = r.vault);
    die(&r, &k);
    EXPECT_INT(FAILED(socketpair), 1);
    end(&r, &k);
}

/* In the child that is to become the keeper: its death is a keeper's like any other. */
TEST(arguments_that_cannot_be_read_cost_one_start)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    FAIL(mmap, .error = ENOMEM, .pid = -1);
    die(&r, &k);
    EXPECT_INT(FAILED(mmap), 1);
    EXPECT_U64(query_status(fd).starts, 3);
    FAIL(calloc, .error = ENOMEM, .pid = -1);
    die(&r, &k);
    EXPECT_INT(FAILED(calloc), 1);
    FAIL(fstat, .error = EIO, .pid = -1);
    die(&r, &k);
    EXPECT_INT(FAILED(fstat), 1);
    close(fd);
    end(&r, &k);
}

TEST(without_arguments_no_keeper_can_follow)
{
    struct keeper k;
    struct rig r;

    begin_with(&r, NULL, LACKS_ARGS);
    next_keeper(&r, &k);
    tell(&k, DO_DIE);
    drop(&k);
    while (query_status(k.control = client(&r)).starts < 3)
        close(k.control);
    close(k.control);
    kill(r.vault, SIGKILL);
    EXPECT_INT(wait_vault(&r), -SIGKILL);
}

TEST(a_first_keeper_that_dies_before_it_left_any_state_ends_the_vault)
{
    struct keeper k;
    struct rig r;

    begin_with(&r, NULL, LACKS_STATE);
    next_keeper(&r, &k);
    tell(&k, DO_DIE);
    drop(&k);
    EXPECT_INT(wait_vault(&r), 1);
}

TEST(a_wait_has_its_bound)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (int i = 0; i < 12; i++) {
        tell(&k, DO_DIE);
        drop(&k);
        while (query_status(fd).pid == k.pid)
            ;
        *later_ms += VAULT_WAIT_MAX_MS;
        (void)query_status(fd);
        next_keeper(&r, &k);
    }
    EXPECT_U64(query_status(fd).starts, 13);
    close(fd);
    end(&r, &k);
}

/* Clients wait for it, so the wait does not grow. */
TEST(a_keeper_that_served_is_replaced_soon_however_often_it_is_killed)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (int i = 0; i < 12; i++) {
        say(&k, (struct v_message){.type = V_WELL});
        (void)query_status(fd);
        tell(&k, DO_DIE);
        drop(&k);
        while (query_status(fd).pid == k.pid)
            ;
        *later_ms += VAULT_WAIT_SERVED_MS;
        (void)query_status(fd);
        next_keeper(&r, &k);
    }
    EXPECT_U64(query_status(fd).starts, 13);
    close(fd);
    end(&r, &k);
}

/* --- what is kept --------------------------------------------------------- */

TEST(descriptors_outlive_the_keeper_that_put_them)
{
    struct v_message put = {.type = V_PUT, .count = 2, .keys = {8, 9}};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), two[2] = {null, null};
    const int32_t *index;
    struct keeper k;
    struct rig r;

    begin(&r, &k);
    REQUIRE(vault_send(k.channel, &put, two) == 0);
    say(&k, (struct v_message){.type = V_DROP, .count = 1, .keys = {9}});
    die(&r, &k);
    index = vault_index_map(k.index);
    REQUIRE(index != NULL);
    EXPECT(index[8] > 0 && index[9] == 0);
    vault_index_unmap(index);
    /* Some got lost on the way, because the vault's table is full: what is missing is missing. */
    put.count = 3;
    {
        struct v_message said = put;

        said.count = 2;
        REQUIRE(vault_send(k.channel, &said, two) == 0);
        REQUIRE(vault_send(k.channel, &put, NULL) == 0);
    }
    close(null);
    end(&r, &k);
}

TEST(a_keeper_that_sends_nonsense_is_killed)
{
    static const struct v_message bad[] = {
        {.type = V_PUT, .count = 1, .keys = {V_KEYS}},
        {.type = V_DROP, .count = 1, .keys = {V_KEYS}},
        {.type = V_STATUS},
        {.type = 999},
        {.type = V_PUT, .count = V_PUT_MAX + 1},
    };
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        say(&k, (struct v_message){.type = V_WELL});
        (void)query_status(fd);
        *later_ms += VAULT_EARLY_MS;
        REQUIRE(vault_send(k.channel, &bad[i], i == 0 ? &null : NULL) == 0);
        close(null);
        drop(&k);
        next_keeper(&r, &k);
    }
    close(fd);
    REQUIRE(send(k.channel, "x", 1, 0) == 1);
    tell(&k, DO_DIE);
    drop(&k);
    next_keeper(&r, &k);
    end(&r, &k);
}

/* --- the dead of dead keepers --------------------------------------------- */

static char state_of(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    fclose(f);
    return strrchr(text, ')') == NULL ? 0 : strrchr(text, ')')[2];
}

static void wait_state(pid_t pid, char state)
{
    uint64_t until = clock_mono_ms() + WAIT_MS;

    while (state_of(pid) != state && clock_mono_ms() < until)
        usleep(1000);
    EXPECT_INT(state_of(pid), state);
}

static pid_t make_child(const struct keeper *k)
{
    pid_t pid = 0;

    tell(k, DO_FORK);
    REQUIRE(recv(k->control, &pid, sizeof pid, 0) == sizeof pid && pid > 0);
    return pid;
}

TEST(an_exit_is_told_until_a_keeper_has_written_it_down)
{
    struct v_message m;
    pid_t children[2];
    struct keeper k;
    struct rig r;

    begin(&r, &k);
    children[0] = make_child(&k);
    children[1] = make_child(&k);
    die(&r, &k);
    kill(children[0], SIGTERM);
    m = hear(k.channel);
    EXPECT(m.type == V_EXITED && m.pid == children[0] && m.status == SIGTERM);
    kill(children[1], SIGKILL);
    wait_state(children[1], 'Z');
    /* It dies before it has: the next one is told again. */
    die(&r, &k);
    m = hear(k.channel);
    EXPECT_INT(m.type, V_EXITED);
    say(&k, (struct v_message){.type = V_REAP, .pid = 1}); /* nobody asked */
    say(&k, (struct v_message){.type = V_REAP, .pid = -1});
    wait_state(m.pid, 'Z');
    say(&k, (struct v_message){.type = V_REAP, .pid = m.pid});
    wait_state(m.pid, 0);
    m = hear(k.channel);
    EXPECT_INT(m.type, V_EXITED);
    say(&k, (struct v_message){.type = V_REAP, .pid = m.pid});
    wait_state(m.pid, 0);
    end(&r, &k);
}

/* One that could not be told of is told of at the next turn. */
TEST(an_exit_that_cannot_be_told_is_told_later)
{
    struct keeper k;
    struct rig r;
    pid_t pid;
    int fd;

    begin(&r, &k);
    pid = make_child(&k);
    die(&r, &k);
    fd = client(&r);
    (void)query_status(fd);
    FAIL(sendmsg, .error = EAGAIN, .pid = r.vault);
    kill(pid, SIGKILL);
    while (FAILED(sendmsg) == 0)
        usleep(1000);
    (void)query_status(fd);
    EXPECT_INT(hear(k.channel).pid, pid);
    say(&k, (struct v_message){.type = V_REAP, .pid = pid});
    wait_state(pid, 0);
    close(fd);
    end(&r, &k);
}

/* --- another binary ------------------------------------------------------- */

static void well(const struct keeper *k, uint32_t replaced)
{
    struct v_message m = {.type = V_WELL, .count = replaced};
    int exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);

    REQUIRE(vault_send(k->channel, &m, replaced ? &exe : NULL) == 0);
    close(exe);
}

TEST(a_binary_that_does_not_come_up_is_followed_by_the_old_one)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    well(&k, 0);
    EXPECT_INT(query_status(fd).phase, V_SERVING);
    say(&k, (struct v_message){.type = V_TRIAL});
    EXPECT_INT(query_status(fd).phase, V_STARTING);
    die(&r, &k);
    /* One that hangs is killed when its time is up. */
    well(&k, 0);
    say(&k, (struct v_message){.type = V_TRIAL});
    (void)query_status(fd);
    *later_ms += VAULT_WELL_MS - 100;
    EXPECT_INT(query_status(fd).pid, k.pid);
    *later_ms += 101;
    (void)query_status(fd);
    drop(&k);
    next_keeper(&r, &k);
    EXPECT_U64(query_status(fd).upgrades, 0);
    EXPECT_U64(query_status(fd).late, 1);
    close(fd);
    end(&r, &k);
}

/* Clients wait while a binary hangs. The keeper knows how long a good one needs. */
TEST(a_keeper_can_allow_its_successor_less_time_but_not_more)
{
    static const int32_t asked[] = {250, VAULT_WELL_MS + 1, -5};
    static const int32_t given[] = {250, VAULT_WELL_MS, VAULT_WELL_MS};
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (int i = 0; i < 3; i++) {
        well(&k, 0);
        say(&k, (struct v_message){.type = V_TRIAL, .status = asked[i]});
        (void)query_status(fd);
        *later_ms += (uint64_t)given[i] - 100;
        EXPECT_INT(query_status(fd).pid, k.pid);
        *later_ms += 101;
        (void)query_status(fd);
        drop(&k);
        next_keeper(&r, &k);
        EXPECT_U64(query_status(fd).late, (uint64_t)i + 1);
        EXPECT_U64(query_status(fd).refusals, (uint64_t)i + 1);
    }
    close(fd);
    end(&r, &k);
}

/* It has no other binary to give way to: the same one is started again. */
TEST(a_keeper_that_the_vault_started_has_longer_to_serve)
{
    struct keeper k;
    struct rig r;
    pid_t pid;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    well(&k, 0);
    die(&r, &k);
    pid = k.pid;
    (void)query_status(fd);
    *later_ms += VAULT_START_MS - 1000;
    EXPECT_INT(query_status(fd).pid, pid);
    *later_ms += 1001;
    (void)query_status(fd);
    drop(&k);
    next_keeper(&r, &k);
    EXPECT(k.pid != pid);
    EXPECT_U64(query_status(fd).late, 0);
    EXPECT_U64(query_status(fd).refusals, 0);
    close(fd);
    end(&r, &k);
}

/* It was about to say that it serves when its time was up. The old binary follows, and nobody is
 * told that the new one serves. */
TEST(a_binary_that_is_given_up_is_not_well_any_more)
{
    const int32_t *index;
    struct keeper k;
    struct rig r;
    int32_t old;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    index = vault_index_map(k.index);
    REQUIRE(index != NULL);
    for (uint32_t replaced = 0; replaced < 2; replaced++) {
        well(&k, 0);
        old = index[V_KEY_EXE];
        say(&k, (struct v_message){.type = V_TRIAL, .status = 250});
        EXPECT_INT(query_status(fd).phase, V_STARTING);
        FAIL(kill, .error = EPERM, .pid = r.vault); /* so that it lives to say so */
        *later_ms += 251;
        (void)query_status(fd);
        well(&k, replaced);
        EXPECT_INT(query_status(fd).phase, V_STARTING);
        EXPECT_U64(query_status(fd).upgrades, 0);
        EXPECT_INT(index[V_KEY_EXE], old);
        die(&r, &k);
        EXPECT_INT(index[V_KEY_EXE], old);
        EXPECT_INT(index[V_KEY_GOOD], 0);
    }
    EXPECT_U64(query_status(fd).refusals, 2);
    vault_index_unmap(index);
    close(fd);
    end(&r, &k);
}

/* Clients wait for the old one, which has done nothing wrong. */
TEST(however_many_binaries_do_not_come_up_the_old_one_follows_at_once)
{
    uint64_t began = 0;
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (int i = 0; i < 9; i++) {
        well(&k, 0);
        say(&k, (struct v_message){.type = V_TRIAL});
        (void)query_status(fd);
        began = clock_mono_ms();
        die(&r, &k);
    }
    EXPECT(clock_mono_ms() - began < VAULT_WAIT_MAX_MS / 2); /* by now the longest wait */
    EXPECT_U64(query_status(fd).refusals, 9);
    close(fd);
    end(&r, &k);
}

TEST(a_binary_that_does_not_last_is_followed_by_the_one_before)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    well(&k, 0);
    say(&k, (struct v_message){.type = V_TRIAL});
    well(&k, 1);
    EXPECT_U64(query_status(fd).upgrades, 1);
    die(&r, &k); /* within its probation */
    well(&k, 0);
    say(&k, (struct v_message){.type = V_TRIAL});
    well(&k, 1);
    EXPECT_U64(query_status(fd).upgrades, 2);
    *later_ms += VAULT_PROBATION_MS;
    die(&r, &k); /* beyond it */
    /* The exec did not happen: the old binary goes on. */
    well(&k, 0);
    say(&k, (struct v_message){.type = V_TRIAL});
    well(&k, 0);
    EXPECT_U64(query_status(fd).upgrades, 2);
    /* The binary before is kept for the case that this one dies early again and again. */
    for (int i = 0; i < VAULT_EARLY_MAX; i++)
        die(&r, &k);
    close(fd);
    end(&r, &k);
}

/* The vault duplicated the old binary's descriptor when a trial began and ignored a failure: with
 * its table full, an upgrade left nothing to fall back to. */
TEST(a_vault_with_no_descriptor_left_still_falls_back_to_the_previous_binary)
{
    const int32_t *index;
    struct keeper k;
    struct rig r;
    int32_t old;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    index = vault_index_map(k.index);
    REQUIRE(index != NULL);
    well(&k, 0);
    old = index[V_KEY_EXE];
    FAIL(fcntl, .error = EMFILE, .only = F_DUPFD, .times = -1, .pid = r.vault);
    say(&k, (struct v_message){.type = V_TRIAL});
    well(&k, 1);
    EXPECT_U64(query_status(fd).upgrades, 1);
    EXPECT_INT(index[V_KEY_GOOD], old);
    EXPECT(index[V_KEY_EXE] != old);
    die(&r, &k); /* within its probation */
    EXPECT_INT(index[V_KEY_EXE], old);
    EXPECT_INT(index[V_KEY_GOOD], 0);
    vault_index_unmap(index);
    close(fd);
    end(&r, &k);
}

/* A word that comes while everything is being left changes no phase. */
TEST(a_keeper_that_leaves_and_gets_well_leaves)
{
    struct v_message m;
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    request(fd, V_LEAVE);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    well(&k, 0);
    EXPECT_INT(query_status(fd).phase, V_LEAVING);
    say(&k, (struct v_message){.type = V_KEEP});
    tell(&k, 0);
    drop(&k);
    do
        m = query_status(fd);
    while (m.phase == V_LEAVING);
    EXPECT(m.phase == V_HOLDING && m.pid == 0);
    request(fd, V_LEAVE);   /* nobody there to leave */
    request(fd, V_UPGRADE); /* nor to upgrade */
    kill(r.vault, SIGUSR1);
    EXPECT_INT(query_status(fd).phase, V_HOLDING);
    request(fd, V_START);
    next_keeper(&r, &k);
    /* The same in one word. */
    request(fd, V_START);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    say(&k, (struct v_message){.type = V_KEEP});
    tell(&k, 0);
    drop(&k);
    next_keeper(&r, &k);
    /* Told to leave, and nobody there to hear it. */
    FAIL(sendmsg, .error = EPIPE, .pid = r.vault);
    request(fd, V_LEAVE);
    EXPECT_INT(query_status(fd).phase, V_STARTING);
    close(fd);
    end(&r, &k);
}

static void wait_for_phase(int fd, enum v_phase phase)
{
    uint64_t end = __real_clock_mono_ms() + WAIT_MS;

    while (query_status(fd).phase != phase)
        REQUIRE(__real_clock_mono_ms() < end);
}

/* The keeper had said its last word when the second Ctrl-C came. */
TEST(a_stop_that_a_leaving_keeper_does_not_hear_is_not_lost)
{
    struct keeper k;
    struct rig r;
    pid_t told;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    well(&k, 0);
    request(fd, V_LEAVE);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    tell(&k, DO_IGNORE);
    REQUIRE(recv(k.control, &told, sizeof told, 0) == sizeof told);
    say(&k, (struct v_message){.type = V_KEEP});
    request(fd, V_STOP);
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    tell(&k, 0);
    drop(&k);
    next_keeper(&r, &k);
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    close(fd);
    end(&r, &k);
}

TEST(a_keeper_that_does_not_listen_during_an_upgrade_leaves_after_it)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    well(&k, 0);
    request(fd, V_LEAVE);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    say(&k, (struct v_message){.type = V_TRIAL});
    well(&k, 1);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    EXPECT_INT(query_status(fd).phase, V_LEAVING);
    /* The same if it could not, and said so before any trial. */
    say(&k, (struct v_message){.type = V_REFUSED});
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    EXPECT_INT(query_status(fd).phase, V_LEAVING);
    close(fd);
    end(&r, &k);
}

/* What was to be held is held, and its addresses are free for the next one. */
TEST(a_keeper_that_dies_while_it_leaves_has_left)
{
    struct v_message put = {.type = V_PUT, .count = 1, .keys = {V_KEY_LISTENER}};
    const int32_t *index;
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    index = vault_index_map(k.index);
    REQUIRE(index != NULL);
    fd = client(&r);
    well(&k, 0);
    REQUIRE(vault_send(k.channel, &put, &(int){STDERR_FILENO}) == 0);
    (void)query_status(fd);
    EXPECT(index[V_KEY_LISTENER] > 0);
    request(fd, V_LEAVE);
    EXPECT_INT(hear(k.channel).type, V_LEAVE);
    tell(&k, DO_DIE);
    drop(&k);
    wait_for_phase(fd, V_HOLDING);
    EXPECT_INT(index[V_KEY_LISTENER], 0);
    vault_index_unmap(index);
    request(fd, V_START);
    next_keeper(&r, &k);
    close(fd);
    end(&r, &k);
}

TEST(between_two_keepers_everything_can_be_held)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    die(&r, &k);
    die(&r, &k);
    tell(&k, DO_DIE); /* the third in a row: a wait begins */
    drop(&k);
    while (query_status(fd).pid != 0)
        ;
    request(fd, V_LEAVE);
    EXPECT_INT(query_status(fd).phase, V_HOLDING);
    *later_ms += VAULT_WAIT_MAX_MS;
    EXPECT(query_status(fd).phase == V_HOLDING && query_status(fd).pid == 0);
    request(fd, V_START);
    next_keeper(&r, &k);
    close(fd);
    end(&r, &k);
}

/* --- people --------------------------------------------------------------- */

static int output[2];

static void print_to_pipe(void)
{
    (void)dup2(output[1], STDOUT_FILENO);
}

/* A copy of it that the vault kept would keep its reader waiting. */
TEST(an_output_that_was_replaced_ends)
{
    struct v_message put = {.type = V_PUT, .count = 1, .keys = {V_KEY_OUTPUT}};
    struct pollfd p = {.events = 0};
    struct keeper k;
    struct rig r;
    int fd;

    REQUIRE(pipe2(output, O_CLOEXEC) == 0);
    begin_with(&r, print_to_pipe, LACKS_NOTHING);
    close(output[1]);
    next_keeper(&r, &k);
    fd = client(&r);
    p.fd = output[0];
    EXPECT_INT(poll(&p, 1, 0), 0);
    REQUIRE(vault_send(fd, &put, &(int){STDERR_FILENO}) == 0);
    (void)query_status(fd);
    die(&r, &k); /* the first one had it, too */
    EXPECT_INT(poll(&p, 1, WAIT_MS), 1);
    EXPECT_INT(p.revents, POLLHUP);
    close(output[0]);
    close(fd);
    end(&r, &k);
}

/* The next daemon may come as soon as this one is known to have ended. */
TEST(a_daemon_that_has_ended_has_no_address_any_more)
{
    struct v_message put = {.type = V_PUT, .count = 1, .keys = {V_KEY_LISTENER}};
    const int32_t *index;
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    index = vault_index_map(k.index);
    REQUIRE(index != NULL);
    fd = client(&r);
    REQUIRE(vault_send(k.channel, &put, &(int){STDERR_FILENO}) == 0);
    say(&k, (struct v_message){.type = V_DONE});
    (void)query_status(fd);
    EXPECT(index[V_KEY_LISTENER] > 0);
    tell(&k, 0);
    drop(&k);
    while (hear(fd).phase != V_ENDED)
        ;
    EXPECT_INT(index[V_KEY_LISTENER], 0);
    EXPECT_INT(vault_connect(r.name), -ECONNREFUSED);
    vault_index_unmap(index);
    close(fd);
    EXPECT_INT(wait_vault(&r), 0);
}

/* Another process with this pid, that lives until it is killed; -errno: that cannot be had. */
static pid_t fork_as(pid_t pid)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size, cgroup;
    } args = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
    pid_t got = (pid_t)syscall(SYS_clone3, &args, sizeof args);

    if (got == 0)
        for (;;)
            (void)syscall(SYS_pause);
    return got < 0 ? -errno : got;
}

/* What is known of a peer is its pid, which may be another's when the vault looks. */
TEST(a_client_that_has_gone_since_it_connected_is_not_believed)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct pollfd p = {.events = POLLIN};
    struct keeper k;
    struct rig r;
    pid_t pid, other;
    int len, status;
    char byte;

    begin(&r, &k);
    len = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "holdfast/%u/%s", (unsigned)geteuid(),
                   r.name);
    p.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(kill(r.vault, SIGSTOP) == 0);
    REQUIRE(waitpid(r.vault, &status, WUNTRACED) == r.vault && WIFSTOPPED(status));
    pid = fork();
    if (pid == 0)
        _exit(connect(p.fd, (struct sockaddr *)&a,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) < 0);
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    other = fork_as(pid);
    REQUIRE(kill(r.vault, SIGCONT) == 0);
    EXPECT_INT(poll(&p, 1, WAIT_MS), 1);
    EXPECT_INT(recv(p.fd, &byte, 1, MSG_DONTWAIT), 0);
    if (other > 0) { /* else the kernel or our rights do not allow it, and the pid was nobody's */
        EXPECT_INT(other, pid);
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    close(p.fd);
    end(&r, &k);
}

/* A vault without a free descriptor sleeps, and accepts when it has one again. */
TEST(a_client_that_cannot_be_accepted_waits)
{
    uint64_t since = __real_clock_mono_ms();
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    FAIL(accept4, .error = EMFILE, .pid = r.vault, .times = -1);
    fd = client(&r);
    while (FAILED(accept4) == 0)
        (void)query_status(r.launcher);
    for (int i = 0; i < 20; i++)
        (void)query_status(r.launcher);
    EXPECT(FAILED(accept4) <= 1 + (int)((__real_clock_mono_ms() - since) / VAULT_ACCEPT_PAUSE_MS));
    FAIL_NO_MORE(accept4);
    *later_ms += VAULT_ACCEPT_PAUSE_MS;
    (void)query_status(r.launcher);
    (void)query_status(fd);
    close(fd);
    end(&r, &k);
}

/* Of the signal: it would end by itself if we let go of it before. */
static void fallen(struct keeper *k)
{
    struct pollfd p = {.fd = k->control};

    REQUIRE(poll(&p, 1, WAIT_MS) == 1);
    drop(k);
}

TEST(signals_go_to_the_keeper)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    for (size_t i = 0; i < 4; i++) {
        well(&k, 0);
        (void)query_status(fd);
        *later_ms += VAULT_EARLY_MS;
        kill(r.vault, signals[i]); /* which it dies of, as it has no handler */
        fallen(&k);
        next_keeper(&r, &k);
    }
    well(&k, 0);
    (void)query_status(fd);
    *later_ms += VAULT_EARLY_MS;
    request(fd, V_STOP);
    fallen(&k);
    next_keeper(&r, &k);
    well(&k, 0);
    (void)query_status(fd);
    *later_ms += VAULT_EARLY_MS;
    request(fd, V_UPGRADE);
    fallen(&k);
    next_keeper(&r, &k);
    close(fd);
    end(&r, &k);
}

TEST(what_is_only_held_is_ended_by_a_keeper_that_is_started_for_it)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    say(&k, (struct v_message){.type = V_KEEP});
    tell(&k, 0);
    drop(&k);
    while (query_status(fd).phase != V_HOLDING)
        ;
    request(fd, V_STOP);
    next_keeper(&r, &k);
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    request(fd, V_LEAVE); /* too late */
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    well(&k, 0);
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    close(fd);
    end(&r, &k);
}

/* A stop that comes between two keepers is the next one's to obey. */
TEST(a_stop_between_two_keepers_is_not_lost)
{
    struct keeper k;
    struct rig r;
    int fd;

    begin(&r, &k);
    fd = client(&r);
    die(&r, &k);
    die(&r, &k);
    tell(&k, DO_DIE); /* the third in a row: a wait begins */
    drop(&k);
    while (query_status(fd).pid != 0)
        ;
    request(fd, V_STOP);
    (void)query_status(fd);
    *later_ms += VAULT_WAIT_MAX_MS;
    (void)query_status(fd);
    next_keeper(&r, &k);
    EXPECT_INT(query_status(fd).phase, V_ENDING);
    close(fd);
    end(&r, &k);
}

TEST(a_client_that_sends_nonsense_is_let_go)
{
    static const struct v_message bad[] = {
        {.type = V_DROP, .count = 1, .keys = {V_KEYS}}, {.type = V_DONE}, {.type = 999}};
    struct v_message put = {.type = V_PUT, .count = 1, .keys = {V_KEY_LISTENER}};
    struct pollfd p = {.events = POLLIN};
    struct keeper k;
    struct rig r;
    char byte;

    begin(&r, &k);
    for (size_t i = 0; i < 3; i++) {
        p.fd = client(&r);
        REQUIRE(vault_send(p.fd, &bad[i], NULL) == 0);
        REQUIRE(poll(&p, 1, WAIT_MS) == 1);
        EXPECT_INT(recv(p.fd, &byte, 1, 0), 0);
        close(p.fd);
    }
    p.fd = client(&r);
    REQUIRE(vault_send(p.fd, &put, &(int){STDERR_FILENO}) == 0);
    request(p.fd, V_OWN);
    EXPECT_INT(query_status(p.fd).launcher, getpid());
    close(p.fd);
    p.fd = client(&r);
    while (query_status(p.fd).launcher != 0)
        ;
    /* A signal that interrupts its sleep changes nothing, nor does a short lack of memory. */
    FAIL(poll, .error = EINTR, .pid = r.vault);
    (void)query_status(p.fd);
    (void)query_status(p.fd);
    FAIL(poll, .error = ENOMEM, .pid = r.vault, .times = 3);
    (void)query_status(p.fd);
    (void)query_status(p.fd);
    close(p.fd);
    end(&r, &k);
}
