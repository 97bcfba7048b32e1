/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.c - the process that the user started. Layer: cli.
 */
#include "cli/launcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "base/signals.h"
#include "cli/optparse.h"
#include "vault/vault.h"

#define NOTIFY_ENV "NOTIFY_SOCKET"
#define SECOND_CTRL_C_MS 2000 /* a second Ctrl-C within this time ends everything */

struct launcher {
    struct vault_client *vault;
    struct pickup *pickup; /* NULL: a new daemon, or what was picked up has been reported */
    pid_t vault_pid;
    bool is_parent; /* of the vault */
    int keeper_fd;  /* pidfd, once the vault has died; -1 before */
    int signal_fd;
    bool ready, reloading, stopping_reported; /* as reported to the service manager */
    bool stopping;                            /* a shutdown was requested */
    bool rested;                              /* the program's pages have been released */
    bool ended;                               /* nothing is left to wait for */
    uint64_t leave_at_ms;                     /* after the first Ctrl-C; 0: none yet */
    struct v_message before;                  /* when a reload began */
    int code;
};

/* --- out of reach ----------------------------------------------------------------------------- */

void launcher_guard_begin(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* LeakSanitizer traces the process, which must be dumpable for that. */
void launcher_guard_end(void)
{
#ifdef __SANITIZE_ADDRESS__
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
#endif
}

/* --- the service manager, as sd_notify(3) --- */

static struct sockaddr_un manager;
static socklen_t manager_len; /* 0: there is none */

/* NOTIFY_SOCKET names the manager's datagram socket, by a path or by an abstract name that begins
 * with '@'. The variable is removed, so that children do not inherit it. */
static void notify_init(void)
{
    const char *name = getenv(NOTIFY_ENV);
    size_t len = name == NULL ? 0 : strlen(name);

    if (len > 1 && len < sizeof manager.sun_path && (name[0] == '/' || name[0] == '@')) {
        manager.sun_family = AF_UNIX;
        memcpy(manager.sun_path, name, len);
        if (name[0] == '@')
            manager.sun_path[0] = '\0';
        manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    } else if (len > 0) {
        log_warn(NOTIFY_ENV " is not the address of a socket: %s", name);
    }
    unsetenv(NOTIFY_ENV);
}

static void notify_send(const char *text)
{
    int fd;

    if (manager_len == 0)
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&manager, manager_len) < 0)
        log_warn("cannot notify the service manager: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void notify_ready(void)
{
    notify_send("READY=1\nSTATUS=serving");
}

/* Type=notify-reload requires the time. */
static void notify_reloading(void)
{
    struct timespec now;
    char text[96];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000ULL +
                 (unsigned long long)now.tv_nsec / 1000ULL);
    notify_send(text);
}

static void notify_stopping(void)
{
    notify_send("STOPPING=1");
}

/* --- signals ---------------------------------------------------------------------------------- */

static int watch_signals(void)
{
    static const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, 0};

    return signals_open(wanted, SFD_NONBLOCK);
}

static void forward(const struct launcher *l, int sig)
{
    if (l->keeper_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, l->keeper_fd, sig, NULL, 0);
    else
        (void)kill(l->vault_pid, sig);
}

static void report_stopping(struct launcher *l)
{
    if (!l->stopping_reported)
        notify_stopping();
    l->stopping_reported = true;
}

static void stop(struct launcher *l, int sig)
{
    report_stopping(l);
    l->stopping = true;
    forward(l, sig);
}

static void print_held(size_t count, bool held)
{
    const char *them = count == 1 ? "it" : "them";

    if (held)
        fprintf(stderr,
                "\n"
                "%zu process%s still running; \"holdfast serve\" picks %s up, \"holdfast "
                "stop\" terminates %s.\n"
                "Press Ctrl-C again to terminate %s now.\n",
                count, count == 1 ? "" : "es", them, them, them);
    else
        fprintf(stderr,
                "\n%zu process%s would end, because the vault that could hold %s has died.\n"
                "Ctrl-C again ends %s now.\n",
                count, count == 1 ? "" : "es", them, them);
}

/* A Ctrl-C comes from the kernel. A program that forwards it, as many do to their children,
 * means the same one. */
static void on_interrupt(struct launcher *l, bool typed)
{
    size_t count = vault_client_running(l->vault);
    bool held = l->keeper_fd < 0, again = l->leave_at_ms != 0;

    if (!typed && again)
        return;
    if (!typed || again || count == 0 || l->stopping) {
        stop(l, again ? SIGTERM : SIGINT);
        return;
    }
    if (held && vault_client_send(l->vault, V_LEAVE) < 0)
        return;
    l->leave_at_ms = clock_mono_ms() + SECOND_CTRL_C_MS;
    print_held(count, held);
}

/* A terminal that hangs up ends the launcher and nothing else. The kernel reports it, or the
 * shell in that terminal. */
static void on_hangup(struct launcher *l, bool from_kernel)
{
    if (from_kernel || (isatty(STDIN_FILENO) == 0 && errno == EIO)) {
        l->ended = true;
        return;
    }
    l->reloading = true;
    l->before = l->vault->status;
    notify_reloading();
    forward(l, SIGHUP);
}

static void on_signals(struct launcher *l)
{
    struct signalfd_siginfo info;

    while (read(l->signal_fd, &info, sizeof info) == sizeof info) {
        bool from_kernel = info.ssi_code == SI_KERNEL;
        int sig = (int)info.ssi_signo;

        switch (sig) {
        case SIGINT: on_interrupt(l, from_kernel); break;
        case SIGHUP: on_hangup(l, from_kernel); break;
        case SIGTERM: stop(l, SIGTERM); break;
        case SIGCHLD: break;
        default: forward(l, sig);
        }
    }
}

/* --- the vault, and the keeper without it ----------------------------------------------------- */

static void on_serving(struct launcher *l)
{
    if (!l->ready || (l->reloading && vault_client_has_changed(l->vault, &l->before))) {
        l->reloading = false;
        notify_ready();
    }
    l->ready = true;
    if (l->pickup != NULL)
        pickup_report(l->pickup);
    l->pickup = NULL;
}

static void on_status(struct launcher *l)
{
    const struct v_message *s = &l->vault->status;

    l->code = s->status;
    switch ((enum v_phase)s->phase) {
    case V_SERVING: on_serving(l); break;
    case V_ENDED: l->ended = true; break;
    case V_HOLDING:
        /* Caused by `holdfast stop --keep`; after a Ctrl-C, wait for a second one. */
        l->ended = l->leave_at_ms == 0 && l->pickup == NULL;
        report_stopping(l);
        break;
    case V_LEAVING:
    case V_ENDING: report_stopping(l); break;
    default: break;
    }
    /* Another `holdfast serve` has picked up the processes. */
    if (s->launcher > 0 && s->launcher != getpid())
        l->ended = true;
}

/* The programs are the keeper's children, so they keep running and their exit codes stay exact. */
static void stay_with_keeper(struct launcher *l)
{
    pid_t pid = l->vault->ledger == NULL ? 0 : atomic_load(&l->vault->ledger->keeper_pid);

    io_close(&l->vault->fd);
    l->keeper_fd = pid <= 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (l->keeper_fd >= 0) {
        log_error("the vault has died; the daemon keeps serving, but its processes are lost if "
                  "the keeper dies, too");
        return;
    }
    log_error("the vault has died, and there is no keeper");
    l->code = 1;
    l->ended = true;
}

static void on_vault(struct launcher *l)
{
    int rc = vault_client_read(l->vault);

    on_status(l);
    if (rc < 0 && !l->ended)
        stay_with_keeper(l);
    l->rested = false;
}

static void on_keeper_end(struct launcher *l)
{
    int ended = atomic_load(&l->vault->ledger->ended);

    l->vault->status.phase = V_ENDED;
    l->code = ended > 0 ? ended - 1 : 1;
    l->ended = true;
}

/* --- life ------------------------------------------------------------------------------------- */

static int timeout_ms(const struct launcher *l)
{
    uint64_t now = clock_mono_ms();

    if (l->leave_at_ms == 0 || l->stopping || l->vault->status.phase != V_HOLDING)
        return -1;
    return l->leave_at_ms <= now ? 0 : (int)(l->leave_at_ms - now);
}

static void wait_for_end(struct launcher *l)
{
    while (!l->ended) {
        struct pollfd p[] = {{.fd = l->signal_fd, .events = POLLIN},
                             {.fd = l->vault->fd, .events = POLLIN},
                             {.fd = l->keeper_fd, .events = POLLIN}};

        if (!l->rested) {
            l->rested = true;
            program_release_pages();
        }
        if (poll(p, 3, timeout_ms(l)) == 0)
            return;
        /* The vault first: if it has left already, there is nothing to end. systemd sends
         * SIGTERM after ExecStop. */
        if (p[1].revents != 0)
            on_vault(l);
        if (p[0].revents != 0 && !l->ended)
            on_signals(l);
        if (p[2].revents != 0)
            on_keeper_end(l);
    }
}

static int run_launcher(struct launcher *l)
{
    wait_for_end(l);
    if (l->is_parent && l->vault->status.phase == V_ENDED && l->keeper_fd < 0)
        (void)waitpid(l->vault_pid, NULL, 0);
    io_close(&l->keeper_fd);
    io_close(&l->signal_fd);
    return l->vault->status.phase == V_ENDED ? l->code : 0;
}

/* --- starting --------------------------------------------------------------------------------- */

static int first_keeper(const struct vault_ends *ends, void *arg)
{
    struct keeper_options *k = arg;

    k->vault = ends;
    return keeper_run(k, -1);
}

static int vault_failed(int rc)
{
    return cli_complain("serve", 1, "cannot start the vault: %s", strerror(-rc));
}

static int prepare_vault(struct vault *v, const struct keeper_options *k, const char *name)
{
    int rc = vault_init(v, k->exe_path);

    if (rc == 0)
        rc = vault_put_args(v, k->argv);
    if (rc < 0)
        return vault_failed(rc);
    if (name[0] != '\0')
        vault_listen(v, name);
    atomic_store(&v->ledger->main_pid, getpid());
    return 0;
}

/* In its own session, so that only the launcher gets Ctrl-C and the hangup of a terminal. */
static int run_vault(struct vault *v, struct keeper_options *k, int socket)
{
    pid_t launcher = getppid();

    if (socket >= 0)
        (void)setsid();
    return vault_run(v, first_keeper, k, socket, socket < 0 ? 0 : launcher);
}

static void close_listeners(struct keeper_options *k)
{
    for (size_t i = 0; i < k->carry.fd_count; i++)
        io_close(&k->carry.fds[i]);
}

/* The parent's end of the socket is l->vault->fd; returns the vault's, or -errno. */
static int fork_vault(struct launcher *l)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    l->signal_fd = watch_signals();
    l->vault_pid = fork();
    if (l->vault_pid < 0)
        return -errno;
    l->vault->fd = pair[0];
    return pair[1];
}

static int launch_new(struct launcher *l, struct keeper_options *k, const char *name)
{
    struct vault v;
    int socket = -1, rc;

    if (prepare_vault(&v, k, name) != 0)
        return 1;
    if (getpid() != 1 && (socket = fork_vault(l)) < 0) {
        rc = vault_failed(socket);
    } else if (l->vault_pid == 0) {
        io_close(&l->vault->fd);
        io_close(&l->signal_fd);
        rc = run_vault(&v, k, socket);
    } else {
        launcher_guard_begin();
        close(socket);
        vault_release(&v);
        close_listeners(k);
        l->vault->ledger = v.ledger;
        l->is_parent = true;
        rc = run_launcher(l);
    }
    io_close(&l->vault->fd);
    vault_fini(&v);
    return rc;
}

static int launch_again(struct launcher *l, struct keeper_options *k, struct pickup *earlier)
{
    l->signal_fd = watch_signals();
    if (pickup_start(earlier, k) != 0)
        return 1;
    close_listeners(k);
    l->pickup = earlier;
    l->vault = &earlier->vault;
    l->vault_pid = atomic_load(&earlier->vault.ledger->vault_pid);
    return run_launcher(l);
}

int launcher_run(struct keeper_options *k, const char *name, struct pickup *earlier)
{
    struct vault_client own = {.fd = -1};
    struct launcher l = {.vault = &own, .keeper_fd = -1, .signal_fd = -1};

    notify_init();
    if (!pickup_is_found(earlier))
        return launch_new(&l, k, name);
    return launch_again(&l, k, earlier);
}
