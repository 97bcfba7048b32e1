/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.c - drops privileges, then restricts files and system calls. Layer: cli.
 */
#include "cli/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/confine_calls.h"

/* LeakSanitizer traces the process, which must be dumpable for that. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const char *const role_names[] = {
    [CONFINE_WORKER] = "worker",
    [CONFINE_REGISTRAR] = "registrar",
    [CONFINE_GATEWAY] = "gateway's worker",
};

static int refuse(const struct confine_plan *plan, const char *what, int rc)
{
    log_error("the %s cannot be confined: %s: %s; --confine=off starts it without confinement",
              role_names[plan->role], what, strerror(-rc));
    return rc;
}

/* --- the user ------------------------------------------------------------------------------- */

/* Drops all of root's capabilities except this one. */
static int keep_capability(uint32_t which)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    data[which / 32].effective = data[which / 32].permitted = 1U << which % 32;
    return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/*
 * No other process has this uid, so it is safe to stay dumpable, which a change of ids would undo.
 * The keeper reads from a dead worker how much it had moved (base/io.h); without CAP_SYS_PTRACE it
 * may do so only if the worker is dumpable.
 */
static int drop_ids(const struct confine_plan *plan)
{
    if (plan->read_files)
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    if (setgroups(0, NULL) < 0 || setresgid(plan->gid, plan->gid, plan->gid) < 0 ||
        setresuid(plan->uid, plan->uid, plan->uid) < 0)
        return -errno;
    if (plan->role == CONFINE_WORKER || SANITIZED)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return plan->read_files ? keep_capability(CAP_DAC_READ_SEARCH) : 0;
}

/* The uid is not mapped (a user namespace with one id), or CAP_SETUID is missing. */
static bool kernel_cannot(int rc)
{
    return rc == -EINVAL || rc == -EPERM;
}

/* These processes hold tokens: no core dumps, and no access to their memory by processes of the
 * same user. The keeper has already disabled the worker's core dumps. */
static void hide_memory(const struct confine_plan *plan)
{
    struct rlimit core;

    if (plan->role == CONFINE_WORKER || SANITIZED)
        return;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max > 0) {
        core.rlim_cur = 1; /* as in keeper/guard.c */
        setrlimit(RLIMIT_CORE, &core);
    }
}

int confine_user(const struct confine_plan *plan, struct confinement *done)
{
    int rc = geteuid() == 0 && plan->uid != 0 ? drop_ids(plan) : 0;

    hide_memory(plan);
    done->user = geteuid() != 0;
    if (rc < 0 && !plan->off && !kernel_cannot(rc))
        return refuse(plan, "its user", rc);
    return 0;
}

/* --- files and calls -------------------------------------------------------------------------- */

static int check_step(const struct confine_plan *plan, const char *what, int rc, bool *done)
{
    *done = rc == 0;
    return rc == 0 || rc == -ENOSYS ? 0 : refuse(plan, what, rc);
}

/* The filter comes last: it would reject the Landlock calls. */
int confine_calls(const struct confine_plan *plan, struct confinement *done)
{
    int rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;

    if (plan->off)
        return 0;
    if (rc < 0)
        return refuse(plan, "no_new_privs", rc);
    rc = check_step(plan, "Landlock", landlock_restrict(plan), &done->landlock);
    if (rc == 0)
        rc = check_step(plan, "system calls", calls_filter(plan->role), &done->seccomp);
    return rc;
}

int confine_self(const struct confine_plan *plan, bool report)
{
    struct confinement done = {0};
    int rc = confine_user(plan, &done);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (rc == 0)
        rc = confine_calls(plan, &done);
    if (rc == 0 && report)
        confine_report(plan, &done);
    return rc;
}

int confine_check(const struct confine_plan *plan)
{
    struct confinement done = {0};
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(confine_user(plan, &done) < 0 || confine_calls(plan, &done) < 0);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -errno;
    return status == 0 ? 0 : -EPERM;
}

bool confine_parse(const char *text, bool *off)
{
    *off = strcmp(text, "off") == 0;
    return *off || strcmp(text, "on") == 0;
}

void confine_report(const struct confine_plan *plan, const struct confinement *done)
{
    const char *who = role_names[plan->role];

    if (plan->off)
        log_warn("--confine=off: the %s can make any system call and open any file", who);
    else if (!done->seccomp)
        log_warn("this kernel cannot filter the %s's system calls", who);
    if (!plan->off && !done->landlock)
        log_warn("this kernel has no Landlock: the %s can open every file that its user can", who);
    if (!done->user && plan->uid != 0)
        log_warn("the %s keeps running as root: it cannot become user %u in this user namespace",
                 who, (unsigned)plan->uid);
}
