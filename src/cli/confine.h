/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - what a process that faces the network gives up before it serves
 *
 * The worker, the registrar and the gateway's workers need little: descriptors they hold
 * already, memory, time. So each becomes an unprivileged user, can gain no privileges, may make only the
 * system calls of its table (confine_calls.c), and may open only the files that it needs (Landlock).
 *
 * What the kernel cannot do is reported and does without; what it can do and refuses is an
 * error, because then something is wrong that nobody would notice otherwise. Layer: cli.
 */
#ifndef HF_CLI_CONFINE_H
#define HF_CLI_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A number that nobody else runs as: above what distributions give to users (60000), below the range
 * of systemd's DynamicUser= (61184 to 65519). */
#define CONFINE_UID "60977"

enum confine_role { CONFINE_WORKER, CONFINE_REGISTRAR, CONFINE_GATEWAY };

struct confine_plan {
    enum confine_role role;
    bool off;                      /* --confine=off: no filter and no Landlock */
    uid_t uid;                     /* to become, when root; 0: stay root */
    gid_t gid;                     /* likewise */
    bool read_files;               /* stays able to read any file that Landlock lets it open */
    const char *const *write_dirs; /* where files may be made; NULL at the end; NULL: nowhere */
    const char *const *read_paths; /* what may be read beside the role's own; likewise */
};

/* What holds now. */
struct confinement {
    bool seccomp, landlock, user; /* user: it is not root */
};

/*
 * Becomes the plan's user. 0, or -errno after a log line. A kernel that has no such user (a
 * user namespace with one id, no CAP_SETUID) is no error: *done says so. The kernel forgets
 * PR_SET_PDEATHSIG here, and confine_calls() refuses to set it: set it in between.
 */
int confine_user(const struct confine_plan *plan, struct confinement *done);
/* Landlock and the filter of system calls; 0, or -errno after a log line. */
int confine_calls(const struct confine_plan *plan, struct confinement *done);
/* Tries both in a forked child: 0 or -errno, after a log line. */
int confine_check(const struct confine_plan *plan);
/* The value of --confine: on or off. False: neither. */
bool confine_parse(const char *text, bool *off);
/* Logs what this kernel cannot do, or that nothing was asked of it. */
void confine_report(const struct confine_plan *plan, const struct confinement *done);

#endif
