/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - restricts a process that faces the network before it serves
 *
 * The worker, the registrar and the gateway's workers need little: descriptors that are already
 * open, memory, time. So each becomes an unprivileged user, cannot gain privileges, may make only
 * the system calls of its table (confine_calls.c), and may open only the files that it needs
 * (Landlock).
 *
 * A restriction that the kernel does not support is reported and skipped. One that it supports but
 * rejects is an error: something is wrong that would otherwise go unnoticed. Layer: cli.
 */
#ifndef HF_CLI_CONFINE_H
#define HF_CLI_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An unused uid: above those that distributions assign to users (60000), below the range of
 * systemd's DynamicUser= (61184 to 65519). */
#define CONFINE_UID "60977"

enum confine_role { CONFINE_WORKER, CONFINE_REGISTRAR, CONFINE_GATEWAY };

struct confine_plan {
    enum confine_role role;
    bool off;                      /* --confine=off: no filter and no Landlock */
    uid_t uid;                     /* user to become if root; 0: stay root */
    gid_t gid;                     /* likewise */
    bool read_files;               /* keep the capability to read any file that Landlock allows */
    const char *const *write_dirs; /* where files may be created; ends with NULL; NULL: nowhere */
    const char *const *read_paths; /* readable paths besides the role's own; likewise */
};

/* The restrictions in effect. */
struct confinement {
    bool seccomp, landlock, user; /* user: not root */
};

/*
 * Becomes the plan's user. 0, or -errno after a log line. A kernel that cannot (a user namespace
 * with one id, no CAP_SETUID) is not an error: *done reports it. The kernel clears PR_SET_PDEATHSIG
 * here, and it cannot be set after confine_calls(): set it in between.
 */
int confine_user(const struct confine_plan *plan, struct confinement *done);
/* Applies Landlock and the system call filter; 0, or -errno after a log line. */
int confine_calls(const struct confine_plan *plan, struct confinement *done);
/* Both, with PR_SET_PDEATHSIG set to SIGTERM in between, and on request confine_report(). */
int confine_self(const struct confine_plan *plan, bool report);
/* Tries both in a forked child: 0 or -errno, after a log line. */
int confine_check(const struct confine_plan *plan);
/* The value of --confine: on or off. False: neither. */
bool confine_parse(const char *text, bool *off);
/* Logs what this kernel does not support, or that confinement is off. */
void confine_report(const struct confine_plan *plan, const struct confinement *done);

#endif
