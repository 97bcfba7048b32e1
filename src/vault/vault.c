/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.c - the vault's life: one loop over signals, the keeper's channel and a few clients
 *
 * Children of the vault are its keeper and what dead keepers have left. Only the keeper is reaped
 * on sight. For any other dead child the vault reads its status (WNOWAIT), reports it to the
 * keeper, and reaps it when the keeper has recorded it: the vault remembers nothing, so nothing can
 * be lost, and no pid is released too early. Layer: vault.
 */
#include "vault/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "base/signals.h"
#include "vault/vault_store.h"
#include "vault/zombie.h"

#define NEVER UINT64_MAX

/* --- set-up --------------------------------------------------------------------- */

/* By its name where there is no /proc. */
static int put_exe(struct vault *v, const char *path)
{
    hf_autoclose int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

    if (fd < 0)
        fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : vault_put(v, V_KEY_EXE, fd);
}

int vault_init(struct vault *v, const char *exe_path)
{
    int rc;

    *v = (struct vault){.own = {-1, -1, -1},
                        .signal_fd = -1,
                        .listen_fd = -1,
                        .launcher_fd = -1,
                        .guard = {.oom_fd = -1},
                        .start_at_ms = NEVER,
                        .well_by_ms = NEVER,
                        .accept_at_ms = NEVER};
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++)
        v->clients[i] = -1;
    rc = store_init(v);
    return rc < 0 ? rc : put_exe(v, exe_path);
}

void vault_release(struct vault *v)
{
    store_close_copies(v);
    vault_index_unmap(v->index);
    v->index = NULL;
    io_close(&v->listen_fd);
}

void vault_fini(struct vault *v)
{
    store_fini(v);
    io_close(&v->own.channel_fd);
    io_close(&v->signal_fd);
    io_close(&v->listen_fd);
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++)
        io_close(&v->clients[i]);
}

static int setup_signals(struct vault *v)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&set, faults[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
    /* With SIGCHLD ignored the kernel would reap for us, and report nothing. */
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    for (int sig = 1; sig < NSIG; sig++) {
        if (sig == SIGCHLD || sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT ||
            sig == SIGUSR1 || sig == SIGUSR2)
            sigaddset(&set, sig);
    }
    v->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return v->signal_fd < 0 ? -errno : 0;
}

static void setup_limits(struct vault *v)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) < 0)
        return;
    v->nofile_cur = now.rlim_cur;
    v->nofile_max = now.rlim_max;
    now.rlim_cur = now.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &now);
}

/* The first keeper has the command's own descriptors. A copy here would keep a connection or an
 * address in use. */
static void setup_close_others(const struct vault *v)
{
    int own[16 + VAULT_CLIENTS_MAX + V_KEYS - V_KEY_STATE], count = 0;

    own[count++] = STDERR_FILENO;
    own[count++] = v->own.channel_fd;
    own[count++] = v->own.ledger_fd;
    own[count++] = v->own.index_fd;
    own[count++] = v->signal_fd;
    own[count++] = v->listen_fd;
    own[count++] = v->guard.oom_fd;
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++)
        own[count++] = v->clients[i];
    for (uint32_t key = V_KEY_STATE; key < V_KEYS; key++)
        own[count++] = store_fd(v, key);
    for (int last = STDERR_FILENO;;) {
        int next = INT_MAX;

        for (int i = 0; i < count; i++) {
            if (own[i] > last && own[i] < next)
                next = own[i];
        }
        if (next > last + 1)
            (void)close_range((unsigned)last + 1, next == INT_MAX ? ~0U : (unsigned)next - 1, 0);
        if (next == INT_MAX)
            return;
        last = next;
    }
}

/* --- messages of a keeper --------------------------------------------------------- */

static void set_phase(struct vault *v, enum v_phase phase)
{
    if (v->phase == phase)
        return;
    v->phase = phase;
    control_broadcast(v);
}

static void kill_keeper(struct vault *v, const char *why)
{
    log_error("killing keeper %d: %s", (int)v->keeper, why);
    kill(v->keeper, SIGKILL);
    v->killed = true;
    v->well_by_ms = NEVER;
}

static void on_trial(struct vault *v, int32_t allowed_ms)
{
    bool valid = allowed_ms > 0 && allowed_ms < VAULT_WELL_MS;

    v->on_trial = true;
    v->well = false;
    v->since_ms = clock_mono_ms();
    v->well_by_ms = v->since_ms + (valid ? (uint64_t)allowed_ms : VAULT_WELL_MS);
    set_phase(v, V_STARTING);
}

/* A good binary may be late, too, on a machine with too much to do. Nothing is lost: it can be put
 * in place later. */
static void on_late(struct vault *v)
{
    if (v->on_trial) {
        v->late++;
        log_error("upgrade: the new binary does not serve after %" PRIu64
                  " ms; try again if the machine was busy",
                  v->well_by_ms - v->since_ms);
    }
    kill_keeper(v, "it did not start in time");
}

static bool is_end_ordered(const struct vault *v)
{
    return atomic_load(&v->ledger->order) == ORDER_END;
}

static void leave(struct vault *v)
{
    struct v_message m = {.type = V_LEAVE};

    v->leaving = true;
    if (vault_send(v->own.channel_fd, &m, NULL) == 0)
        set_phase(v, V_LEAVING);
}

/* A keeper that was about to execute another binary missed the request. */
static void leave_again(struct vault *v)
{
    if (v->leaving && !is_end_ordered(v))
        leave(v);
}

static void refused(struct vault *v)
{
    v->refusals++;
    control_broadcast(v);
    leave_again(v);
}

/* A binary that was executed in place of another sends its own descriptor: later keepers are
 * started from it, and the one before is the one to fall back to. Both in one message, because a
 * keeper may die between two. */
static void on_well(struct vault *v, const int *exe)
{
    uint64_t now = clock_mono_ms();

    if (v->on_trial && !v->well && exe != NULL)
        log_info("upgrade: the new binary serves after %" PRIu64 " ms", now - v->since_ms);
    if (exe != NULL && v->on_trial && !v->well)
        store_move(v, V_KEY_EXE, V_KEY_GOOD);
    if (exe != NULL)
        store_take(v, V_KEY_EXE, *exe);
    v->on_trial = v->on_trial && exe != NULL;
    v->upgrades += v->on_trial;
    v->well = true;
    v->since_ms = now;
    v->well_by_ms = NEVER;
    if (v->phase == V_STARTING)
        set_phase(v, V_SERVING);
    leave_again(v);
    v->rested = false;
}

static void on_reap(struct vault *v, pid_t pid)
{
    if (pid <= 0 || pid != v->reported_pid)
        return;
    zombie_reap(pid);
    v->reported_pid = 0;
}

/* The vault logs to the same place as the keeper. Nothing keeps an output open that a new
 * launcher has replaced. */
static void on_put(struct vault *v, uint32_t key, int fd)
{
    store_take(v, key, fd);
    if (key == V_KEY_OUTPUT)
        (void)dup2(fd, STDOUT_FILENO);
    if (key == V_KEY_ERRORS)
        (void)dup2(fd, STDERR_FILENO);
}

/* False: this peer may not send this message. */
static bool on_store(struct vault *v, const struct v_message *m, const int *fds)
{
    if (m->type == V_PUT) {
        for (uint32_t i = 0; i < m->count; i++)
            on_put(v, m->keys[i], fds[i]);
        return true;
    }
    if (m->type == V_DROP)
        store_drop(v, m->keys[0], m->count);
    return m->type == V_DROP;
}

static bool on_keeper_message(struct vault *v, const struct v_message *m, const int *fds)
{
    switch (m->type) {
    case V_REAP: on_reap(v, m->pid); return true;
    case V_TRIAL: on_trial(v, m->status); return true;
    case V_WELL:
        if (!v->killed)
            on_well(v, m->count == 1 ? fds : NULL);
        else if (m->count == 1)
            close(fds[0]);
        return true;
    case V_KEEP: v->keep = true; return true;
    case V_REFUSED: refused(v); return true;
    case V_DONE:
        v->done = true;
        v->code = m->status;
        return true;
    default: return on_store(v, m, fds);
    }
}

/* 1: handled one; 0: none available; -1: the channel is closed, or the message was malformed. */
static int read_keeper(struct vault *v)
{
    struct v_message m;
    struct fd_message attached;
    int rc = vault_receive(v->own.channel_fd, &m, &attached);
    const char *fault;
    size_t had;

    if (rc <= 0)
        return rc < 0 ? -1 : 0;
    had = attached.fd_count;
    fault = store_fault(&m, had);
    if (fault == NULL && on_keeper_message(v, &m, attached.fds))
        return 1;
    fd_message_close(&attached);
    /* Descriptors were lost because our table is full: continue without them. */
    if (m.type == V_PUT && had < m.count && m.count <= V_PUT_MAX) {
        log_error("cannot keep the descriptors of a process: too many are open");
        return 1;
    }
    kill_keeper(v, "it sent a malformed message");
    return -1;
}

static void on_channel(struct vault *v)
{
    for (int i = 0; i < VAULT_TURN_PACKETS && v->own.channel_fd >= 0; i++) {
        int rc = read_keeper(v);

        if (rc == 0)
            return;
        if (rc < 0)
            io_close(&v->own.channel_fd);
    }
}

/* --- a keeper's end ------------------------------------------------------------- */

static void log_death(const struct vault *v, int status)
{
    if (WIFSIGNALED(status))
        log_error("keeper %d was killed by %s; %zu processes keep running", (int)v->keeper,
                  signal_name(WTERMSIG(status)), ledger_count(v->ledger, ROW_RUNNING));
    else
        log_error("keeper %d ended with code %d; %zu processes keep running", (int)v->keeper,
                  WEXITSTATUS(status), ledger_count(v->ledger, ROW_RUNNING));
}

/* A new binary that never sent V_WELL has not replaced V_KEY_EXE. */
static void choose_binary(struct vault *v, bool probation)
{
    bool has_good = store_fd(v, V_KEY_GOOD) >= 0;

    if (v->on_trial && !v->well) {
        log_error("upgrade: the new binary did not start; continuing with the old one");
        v->refusals++;
    } else if (has_good && ((v->on_trial && probation) || v->early >= VAULT_EARLY_MAX)) {
        log_error("upgrade: the new binary keeps failing; reverting to the previous one");
        store_move(v, V_KEY_GOOD, V_KEY_EXE);
    }
}

/* Before another keeper after several early deaths. A keeper that cannot start will probably fail
 * again, so the wait grows. One that served was killed from outside or by a request. */
static unsigned restart_wait_ms(const struct vault *v)
{
    unsigned wait = VAULT_WAIT_MS;

    if (v->early < VAULT_EARLY_MAX)
        return 0;
    if (v->failed == 0)
        return VAULT_WAIT_SERVED_MS;
    for (unsigned i = VAULT_EARLY_MAX; i < v->failed && wait < VAULT_WAIT_MAX_MS; i++)
        wait *= 2;
    return wait < VAULT_WAIT_MAX_MS ? wait : VAULT_WAIT_MAX_MS;
}

static void plan_restart(struct vault *v, uint64_t now_ms)
{
    bool early = !v->well || now_ms - v->since_ms < VAULT_EARLY_MS;

    /* The death of a binary on trial says nothing about the one that is started again. */
    if (v->well || !v->on_trial) {
        v->early = early ? v->early + 1 : 0;
        v->failed = v->well ? 0 : v->failed + 1;
    }
    choose_binary(v, now_ms - v->since_ms < VAULT_PROBATION_MS);
    v->start_at_ms = now_ms + restart_wait_ms(v);
}

/* Waits until a keeper is requested. The addresses must be free for the next one, and a keeper
 * that has died could not release them. */
static void hold(struct vault *v)
{
    store_drop(v, V_KEY_LISTENER, V_LISTENERS);
    v->early = 0;
    v->leaving = false;
    /* The stop request may have come after the keeper's last read. */
    v->phase = is_end_ordered(v) ? V_ENDING : V_HOLDING;
    v->start_at_ms = v->start_next || is_end_ordered(v) ? 0 : NEVER;
}

/* Releases the addresses before the end is reported: the next daemon may bind them at once. */
static void end(struct vault *v, int code)
{
    store_drop(v, V_KEY_LISTENER, V_LISTENERS);
    io_close(&v->listen_fd);
    v->phase = V_ENDED;
    v->code = code;
}

/* The code that the keeper sent, unless its own exit status is an error. */
static int final_code(const struct vault *v, int status)
{
    if (!WIFEXITED(status))
        return 1;
    return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : v->code;
}

static void on_keeper_exit(struct vault *v)
{
    int status;

    if (waitpid(v->keeper, &status, WNOHANG) != v->keeper)
        return;
    /* Handle its remaining messages first. */
    while (v->own.channel_fd >= 0 && read_keeper(v) > 0)
        ;
    io_close(&v->own.channel_fd);
    v->well_by_ms = NEVER;
    if (v->done) {
        end(v, final_code(v, status));
    } else if (v->keep) {
        hold(v);
    } else if (store_fd(v, V_KEY_CARRY) < 0) {
        /* The first keeper, before it stored anything to continue from: the daemon has not
         * started. */
        log_death(v, status);
        end(v, 1);
    } else {
        log_death(v, status);
        plan_restart(v, clock_mono_ms());
        v->phase = V_STARTING;
        if (v->leaving)
            hold(v);
    }
    v->keeper = 0;
    control_broadcast(v);
}

static struct v_message exit_message(const struct zombie *d)
{
    struct v_message m = {.type = V_EXITED, .pid = d->pid, .status = d->status};

    usage_pack(&d->usage, m.usage);
    return m;
}

static void check_children(struct vault *v)
{
    struct zombie d;

    while (v->reported_pid == 0 && zombie_peek(0, &d) > 0) {
        struct v_message m = exit_message(&d);

        if (d.pid == v->keeper) {
            on_keeper_exit(v);
            continue;
        }
        /* Without a keeper nothing can record it. */
        if (v->own.channel_fd < 0 || vault_send(v->own.channel_fd, &m, NULL) < 0)
            break;
        v->reported_pid = d.pid;
    }
    /* A reported zombie hides the keeper's. */
    if (v->keeper > 0)
        on_keeper_exit(v);
}

/* --- clients --------------------------------------------------------------------- */

/* The order outlives a keeper that dies in the process. */
static void end_all(struct vault *v, int sig)
{
    atomic_store(&v->ledger->order, ORDER_END);
    if (v->keeper > 0) {
        kill(v->keeper, sig);
        set_phase(v, V_ENDING);
    } else if (v->phase == V_HOLDING) {
        v->start_at_ms = 0;
    }
}

static void on_leave(struct vault *v)
{
    if (is_end_ordered(v) || v->phase == V_HOLDING)
        return;
    if (v->keeper > 0) {
        leave(v);
        return;
    }
    /* Between two keepers that both fail to start. */
    hold(v);
    control_broadcast(v);
}

static void start_again(struct vault *v)
{
    if (v->keeper == 0) {
        v->start_at_ms = 0;
        return;
    }
    v->start_next = true;
    on_leave(v);
}

/* False: the peer sent an invalid message. */
static bool on_client_message(struct vault *v, int fd, const struct v_message *m, const int *fds)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    switch (m->type) {
    case V_STATUS: control_reply(v, fd); return true;
    case V_LEAVE: on_leave(v); return true;
    case V_STOP: end_all(v, SIGTERM); return true;
    case V_START: start_again(v); return true;
    case V_UPGRADE:
        if (v->keeper > 0)
            kill(v->keeper, SIGHUP);
        return true;
    case V_OWN:
        v->launcher_fd = fd;
        v->launcher = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ? 0 : peer.pid;
        return true;
    default: return on_store(v, m, fds);
    }
}

static void on_client(struct vault *v, size_t i)
{
    struct v_message m;
    struct fd_message attached;
    int rc = vault_receive(v->clients[i], &m, &attached);

    if (rc > 0 && (store_fault(&m, attached.fd_count) != NULL ||
                   !on_client_message(v, v->clients[i], &m, attached.fds))) {
        fd_message_close(&attached);
        rc = -EPROTO;
    }
    if (rc < 0)
        control_close(v, i);
}

/* --- the loop ------------------------------------------------------------------- */

static void on_signals(struct vault *v)
{
    struct signalfd_siginfo info[4];
    ssize_t n = read(v->signal_fd, info, sizeof info);
    bool dead = false;

    for (ssize_t i = 0; i < n / (ssize_t)sizeof *info; i++) {
        int sig = (int)info[i].ssi_signo;

        if (sig == SIGCHLD)
            dead = true;
        else if (sig == SIGTERM || sig == SIGINT)
            end_all(v, sig);
        else if (v->keeper > 0)
            kill(v->keeper, sig);
    }
    if (dead)
        check_children(v);
}

static int timeout_ms(const struct vault *v)
{
    uint64_t at = v->start_at_ms < v->well_by_ms ? v->start_at_ms : v->well_by_ms, now;

    if (v->accept_at_ms < at)
        at = v->accept_at_ms;
    if (at == NEVER)
        return -1;
    now = clock_mono_ms();
    return at <= now ? 0 : at - now > INT_MAX ? INT_MAX : (int)(at - now);
}

static void on_time(struct vault *v)
{
    uint64_t now = clock_mono_ms();

    if (v->well_by_ms <= now)
        on_late(v);
    if (v->accept_at_ms <= now)
        v->accept_at_ms = NEVER;
    if (v->start_at_ms <= now && v->keeper == 0)
        start_next(v);
}

static void turn(struct vault *v)
{
    struct pollfd p[3 + VAULT_CLIENTS_MAX];
    pid_t reported = v->reported_pid;

    p[0] = (struct pollfd){.fd = v->signal_fd, .events = POLLIN};
    p[1] = (struct pollfd){.fd = v->own.channel_fd, .events = POLLIN};
    p[2] = (struct pollfd){.fd = v->accept_at_ms == NEVER ? v->listen_fd : -1, .events = POLLIN};
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++)
        p[3 + i] = (struct pollfd){.fd = v->clients[i], .events = POLLIN};
    /* Last, because code that runs afterwards is paged in again: the vault mostly sleeps from
     * here on. */
    if (!v->rested) {
        v->rested = true;
        program_release_pages();
    }
    if (io_poll(p, 3 + VAULT_CLIENTS_MAX, timeout_ms(v)) <= 0)
        return;
    if (p[1].revents != 0)
        on_channel(v);
    if (p[0].revents != 0)
        on_signals(v);
    if (reported != 0 && v->reported_pid == 0)
        check_children(v);
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++) {
        if (p[3 + i].revents != 0)
            on_client(v, i);
    }
    if (p[2].revents != 0)
        control_accept(v);
}

int vault_run(struct vault *v, vault_first_fn *first, void *arg, int launcher_fd, pid_t launcher)
{
    int rc;

    log_set_part("vault");
    (void)prctl(PR_SET_NAME, "holdfast-vault", 0, 0, 0);
    rc = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : setup_signals(v);
    if (rc < 0) {
        log_error("the vault cannot start: %s", strerror(-rc));
        return 1;
    }
    setup_limits(v);
    guard_begin(&v->guard);
    v->clients[0] = v->launcher_fd = launcher_fd;
    v->launcher = launcher;
    atomic_store(&v->ledger->vault_pid, getpid());
    start_first(v, first, arg);
    setup_close_others(v);
    if (v->keeper == 0)
        return 1;
    while (v->phase != V_ENDED) {
        turn(v);
        on_time(v);
        /* A new keeper can receive reports: report children that died before it started. */
        if (v->reported_pid == 0 && v->own.channel_fd >= 0 && v->starts > 1)
            check_children(v);
    }
    guard_end(&v->guard);
    return v->code;
}

/* --- in a keeper ---------------------------------------------------------------- */

static bool parse_number(const char **at, char end, int *out)
{
    char *stop;
    long n = strtol(*at, &stop, 10);

    if (stop == *at || *stop != end || n < 0 || n > INT_MAX)
        return false;
    *out = (int)n;
    *at = stop + 1;
    return true;
}

bool vault_ends_from_env(struct vault_ends *out)
{
    const char *at = getenv(V_ENV);
    bool ok = at != NULL && parse_number(&at, ',', &out->channel_fd) &&
              parse_number(&at, ',', &out->ledger_fd) && parse_number(&at, '\0', &out->index_fd);

    unsetenv(V_ENV);
    return ok;
}
