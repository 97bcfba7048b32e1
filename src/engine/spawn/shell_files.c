/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_files.c - writes the shell integration files from the binary to a private directory
 *
 * The directory name contains a hash of the files, so daemons of different versions do not
 * interfere with each other, and daemons of the same version share it. It is kept when the daemon
 * exits, because shells may outlive it. A directory of that name that others can write to is not
 * used.
 *
 * Shells of all users read these files, including root's. So a worker that is about to drop root
 * writes them first: an attacker who takes over the worker could write whatever the worker can
 * write afterwards. Layer: engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/braces.h"
#include "base/crypto.h"
#include "base/embed.h"
#include "base/io.h"
#include "engine/spawn/shell_integration.h"

struct file {
    const char *name;
    const char *start, *end;
};
#define FILE_OF(name, symbol) BRACES(name, embed_##symbol##_start, embed_##symbol##_end)
static const struct file files[] = {
    FILE_OF("integration.bash", integration_bash),
    FILE_OF("rc.bash", rc_bash),
    FILE_OF("profile.bash", profile_bash),
    FILE_OF("zsh/.integration", integration_zsh),
    FILE_OF("zsh/.zshenv", env_zsh),
    FILE_OF("zsh/.zprofile", profile_zsh),
    FILE_OF("zsh/.zshrc", rc_zsh),
};
#define FILES (sizeof files / sizeof *files)

static size_t size_of(const struct file *f)
{
    return (size_t)((uintptr_t)f->end - (uintptr_t)f->start);
}

static uint64_t hash_of_all(void)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < FILES; i++)
        hash = hash * 31 + crypto_hash(files[i].start, size_of(&files[i]));
    return hash;
}

/* The keeper's user's directory, once it was prepared; see shell_files_prepare(). */
static struct {
    bool done;
    int rc;
    uid_t owner;
    char dir[PATH_MAX];
} prepared;

static int check_dir(int at, const char *name, uid_t owner)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == owner && (st.st_mode & 022) == 0 ? 0 : -EPERM;
}

/* Creates or opens a directory of ours that no one else can write to. */
static int make_dir(int at, const char *name)
{
    /* Independent of the umask: other users' shells read it. */
    if (mkdirat(at, name, 0755) == 0 ? fchmodat(at, name, 0755, 0) < 0 : errno != EEXIST)
        return -errno;
    return check_dir(at, name, geteuid());
}

static bool is_there(int dir, const struct file *f, uid_t owner)
{
    struct stat st;

    return fstatat(dir, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == owner && (size_t)st.st_size == size_of(f);
}

/* Write under a temporary name first: a shell that starts now sees the whole file or none. */
static int make_file(int dir, const struct file *f)
{
    char name[64];
    int fd, rc;

    snprintf(name, sizeof name, "%s.%d", f->name, (int)getpid());
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    rc = io_write_all(fd, f->start, size_of(f));
    if (rc == 0 && (fchmod(fd, 0644) < 0 || renameat(dir, name, dir, f->name) < 0))
        rc = -errno;
    if (rc < 0)
        (void)unlinkat(dir, name, 0);
    io_close(&fd);
    return rc;
}

static int fill(int dir)
{
    int rc = make_dir(dir, "zsh");

    for (size_t i = 0; i < FILES && rc == 0; i++) {
        if (!is_there(dir, &files[i], geteuid()))
            rc = make_file(dir, &files[i]);
    }
    return rc;
}

static int try_base(const char *base, const char *name, char *out)
{
    hf_autoclose int dir = -1;
    int rc;

    if (base[0] != '/' || snprintf(out, PATH_MAX, "%s/%s", base, name) >= PATH_MAX)
        return -ENAMETOOLONG;
    rc = make_dir(AT_FDCWD, out);
    if (rc < 0)
        return rc;
    dir = open(out, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 ? -errno : fill(dir);
}

int shell_files(const char *const *bases, char *out)
{
    char name[64];
    int rc = -ENOENT;

    snprintf(name, sizeof name, "holdfast-shell-%u-%08x", (unsigned)geteuid(),
             (unsigned)hash_of_all());
    for (; *bases != NULL; bases++) {
        rc = try_base(*bases, name, out);
        if (rc == 0)
            return 0;
    }
    return rc;
}

/* Whether shells of all users can reach it. */
static bool is_open_to_all(const char *path)
{
    char prefix[PATH_MAX];
    struct stat st;

    for (size_t len = strlen(path); len > 0 && len < sizeof prefix; len--) {
        if (path[len] != '/' && path[len] != '\0')
            continue;
        memcpy(prefix, path, len);
        prefix[len] = '\0';
        if (stat(prefix, &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    }
    return path[0] == '/';
}

void shell_files_prepare(void)
{
    const char *const all[] = {getenv("TMPDIR"), "/run", "/tmp", "/dev/shm"};
    const char *bases[sizeof all / sizeof *all + 1];
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NULL && is_open_to_all(all[i]))
            bases[n++] = all[i];
    bases[n] = NULL;
    prepared.owner = geteuid();
    prepared.rc = shell_files(bases, prepared.dir);
    prepared.done = true;
}

static int check_prepared(void)
{
    hf_autoclose int dir = -1;
    int rc = check_dir(AT_FDCWD, prepared.dir, prepared.owner);

    if (rc < 0)
        return rc;
    dir = open(prepared.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    rc = check_dir(dir, "zsh", prepared.owner);
    for (size_t i = 0; i < FILES && rc == 0; i++)
        rc = is_there(dir, &files[i], prepared.owner) ? 0 : -ENOENT;
    return rc;
}

int shell_files_find(char *out)
{
    const char *tmp = getenv("TMPDIR");
    const char *const bases[] = {tmp != NULL ? tmp : "/tmp", "/tmp", "/dev/shm", "/run", NULL};
    int rc;

    if (!prepared.done)
        return shell_files(bases, out);
    rc = prepared.rc < 0 ? prepared.rc : check_prepared();
    if (rc == 0)
        memcpy(out, prepared.dir, sizeof prepared.dir);
    return rc;
}
