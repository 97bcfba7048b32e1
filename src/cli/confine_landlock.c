/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_landlock.c - restricts which files may be opened
 *
 * Landlock grants rights below directories. All rights that the kernel knows are revoked, and the
 * few that the role needs are granted again: write access only below the plan's directories. Its
 * rights on TCP and signals are revoked as well, in addition to the system call filter. Open
 * descriptors are not affected. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/confine_calls.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* The kernel's interface; headers may be older than the kernel. */
struct ruleset {
    uint64_t files, net, scopes;
};
struct path_rule {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

#define RULESET_VERSION 1U /* flag: return the version */
#define RULE_BENEATH 1
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_TRUNCATE (1ULL << 14)
#define NET_BIND_TCP (1ULL << 0)
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ALL 3ULL /* abstract unix sockets, signals */

#define READ (FS_READ_FILE | FS_READ_DIR)
#define MAKE (READ | FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_TRUNCATE)

/* The rights on files that a version of Landlock knows. */
static uint64_t known_rights(int version)
{
    if (version >= 5)
        return (1ULL << 16) - 1; /* and ioctl(2) on devices */
    if (version >= 3)
        return (1ULL << 15) - 1; /* and truncate(2) */
    return version == 2 ? (1ULL << 14) - 1
                        : (1ULL << 13) - 1; /* 2: and moves between directories */
}

/* What the role reads at run time: accounts, shells, processes, ports, the number of CPUs. */
static const char *const *paths_of(enum confine_role role)
{
    static const char *const worker[] = {"/proc", "/etc", "/sys/devices/system/cpu", NULL};
    static const char *const none[] = {NULL};

    return role == CONFINE_WORKER ? worker : none;
}

static struct ruleset ruleset_of(enum confine_role role, int version)
{
    struct ruleset r = {.files = known_rights(version)};

    if (version >= 4)
        r.net = role == CONFINE_WORKER ? NET_BIND_TCP | NET_CONNECT_TCP : NET_BIND_TCP;
    if (version >= 6)
        r.scopes = SCOPE_ALL;
    return r;
}

static size_t ruleset_bytes(int version)
{
    return version >= 6 ? sizeof(struct ruleset) : version >= 4 ? 16 : 8;
}

/* A missing path needs no rule. */
static int add_path(int ruleset, const char *path, uint64_t rights)
{
    struct path_rule rule = {.rights = rights};
    hf_autoclose int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
    rule.fd = fd;
    return syscall(SYS_landlock_add_rule, ruleset, RULE_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

static int add_paths(int ruleset, const char *const *paths, uint64_t rights)
{
    int rc = 0;

    for (; rc == 0 && paths != NULL && *paths != NULL; paths++)
        rc = add_path(ruleset, *paths, rights);
    return rc;
}

static int add_rules(int ruleset, const struct confine_plan *plan, uint64_t known)
{
    int rc = add_paths(ruleset, paths_of(plan->role), READ & known);

    if (rc == 0)
        rc = add_paths(ruleset, plan->read_paths, READ & known);
    if (rc == 0)
        rc = add_paths(ruleset, plan->write_dirs, MAKE & known);
#ifdef __SANITIZE_ADDRESS__
    if (rc == 0) /* reports need the symbols of programs and libraries */
        rc = add_path(ruleset, "/", READ & known);
#endif
    return rc;
}

int landlock_restrict(const struct confine_plan *plan)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
    struct ruleset wanted = ruleset_of(plan->role, version);
    hf_autoclose int fd = -1;
    int rc;

    if (version < 1)
        return -ENOSYS;
    fd = (int)syscall(SYS_landlock_create_ruleset, &wanted, ruleset_bytes(version), 0);
    if (fd < 0)
        return -errno;
    rc = add_rules(fd, plan, wanted.files);
    if (rc < 0)
        return rc;
    return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}
