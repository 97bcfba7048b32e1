/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_command.c - `holdfast file-op`: one file operation, for the daemon
 *
 * See dialects/common/file_op.h. Each entry is a line of JSON on standard output; an error is
 * "ERRNO sentence" on standard error, with exit status 1. Layer: cli.
 */
#include "cli/builtin_commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/users.h"

#define COPY_BYTES (64 * 1024)
#define GROUP_FILE_BYTES (4 * 1024 * 1024)

int file_op_fail(int errnum, const char *path)
{
    fprintf(stderr, "%s %s: %s\n", hf_errno_name(errnum), path, strerror(errnum));
    return 1;
}

/* --- an entry ------------------------------------------------------------------------- */

static void owner_name(uint32_t uid, char *out, size_t size)
{
    struct user u;
    char number[16];

    snprintf(number, sizeof number, "%u", uid);
    snprintf(out, size, "%s",
             user_find(number, &u, NULL) == 0 && u.name[0] != '\0' ? u.name : number);
}

static void group_name(uint32_t gid, char *out, size_t size)
{
    struct buf text = {0};
    char *line, *save = NULL;

    snprintf(out, size, "%u", gid);
    if (io_read_file("/etc/group", GROUP_FILE_BYTES, &text) == 0 && text.len > 0)
        for (line = strtok_r((char *)(uintptr_t)buf_cstr(&text), "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save)) {
            char *name = strsep(&line, ":"), *number;

            strsep(&line, ":");
            number = strsep(&line, ":");
            if (number != NULL && strtoul(number, NULL, 10) == gid && number[0] != '\0') {
                snprintf(out, size, "%s", name);
                break;
            }
        }
    buf_fini(&text);
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "dir" : S_ISLNK(mode) ? "symlink" : "other";
}

static void write_names(struct json_out *o, const struct stat *st)
{
    char name[64];

    owner_name(st->st_uid, name, sizeof name);
    json_kstr(o, "owner", name);
    group_name(st->st_gid, name, sizeof name);
    json_kstr(o, "group", name);
}

/* Describes the target of a link, and its path; a dangling link is described as a link. */
static int show(const char *path)
{
    struct stat link, st;
    char target[PATH_MAX];
    struct buf line = {0};
    struct json_out o;
    const char *base = strrchr(path, '/');

    if (lstat(path, &link) < 0)
        return file_op_fail(errno, path);
    if (!S_ISLNK(link.st_mode) || stat(path, &st) < 0)
        st = link;
    json_out_init(&o, &line);
    json_open(&o, '{');
    json_kstr(&o, "name", base != NULL && base[1] != '\0' ? base + 1 : path);
    json_kstr(&o, "path", path);
    json_kstr(&o, "type", type_name(st.st_mode));
    json_kint(&o, "size", link.st_size);
    json_kint(&o, "mode", st.st_mode & 07777);
    write_names(&o, &link);
    json_kint(&o, "modified_ms", link.st_mtim.tv_sec * 1000LL + link.st_mtim.tv_nsec / 1000000);
    if (S_ISLNK(link.st_mode) && realpath(path, target) != NULL)
        json_kstr(&o, "target", target);
    json_close(&o, '}');
    buf_putc(&line, '\n');
    fwrite(buf_data(&line), 1, line.len, stdout);
    buf_fini(&line);
    return 0;
}

/* --- operations ----------------------------------------------------------------------------- */

int file_op_make_dirs(const char *path)
{
    char part[PATH_MAX];
    size_t len = strlen(path);

    if (len == 0 || len >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, len + 1);
    for (char *at = part + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(part, 0777) < 0 && errno != EEXIST)
                return -errno;
            *at = '/';
        }
    return mkdir(part, 0777) < 0 ? -errno : 0;
}

int file_op_make_parent(const char *path)
{
    char part[PATH_MAX];
    int rc;

    if (strlen(path) >= sizeof part)
        return -ENAMETOOLONG;
    snprintf(part, sizeof part, "%s", path);
    rc = file_op_make_dirs(dirname(part));
    return rc == -EEXIST ? 0 : rc;
}

static int op_mkdir(char **args)
{
    struct stat st;
    int rc = file_op_make_dirs(args[0]);

    if (rc == -EEXIST && stat(args[0], &st) == 0 && !S_ISDIR(st.st_mode))
        rc = -ENOTDIR;
    return rc < 0 ? file_op_fail(-rc, args[0]) : show(args[0]);
}

static int op_move(char **args)
{
    struct stat st;
    int rc = lstat(args[0], &st) < 0 ? -errno : file_op_make_parent(args[1]);

    if (rc < 0)
        return file_op_fail(-rc, args[0]);
    if (rename(args[0], args[1]) < 0)
        return file_op_fail(errno, args[0]);
    return show(args[1]);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path) < 0 ? errno : 0;
}

/* Removing a missing file is not an error. */
static int op_remove(char **args)
{
    int rc = nftw(args[0], remove_one, 64, FTW_DEPTH | FTW_PHYS);

    if (rc < 0)
        rc = errno;
    return rc == 0 || rc == ENOENT ? 0 : file_op_fail(rc, args[0]);
}

/* Like alphasort(), but without a locale, which would link the C library's collation code. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int list_dir(const char *path, int64_t depth, int *left)
{
    struct dirent **names;
    int n = scandir(path, &names, NULL, by_name), rc = 0;

    if (n < 0)
        return file_op_fail(errno, path);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char full[PATH_MAX];
        struct stat st;
        int len = snprintf(full, sizeof full, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);

        if (rc == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            len < (int)sizeof full && lstat(full, &st) == 0) {
            rc = --*left < 0 ? file_op_fail(EFBIG, path) : show(full);
            if (rc == 0 && depth > 1 && S_ISDIR(st.st_mode) && access(full, R_OK | X_OK) == 0)
                rc = list_dir(full, depth - 1, left);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

static int op_list(char **args)
{
    int64_t depth = 1;
    int left = LIMIT_FILE_LIST;

    if (!text_to_i64(args[1], 1, LIMIT_FILE_DEPTH, &depth))
        return file_op_fail(EINVAL, args[0]);
    return list_dir(args[0], depth, &left);
}

static int op_stat(char **args)
{
    return show(args[0]);
}

static int copy(int from, int to, const char *path)
{
    static char block[COPY_BYTES];

    for (;;) {
        ssize_t n = hf_read(from, block, sizeof block);

        if (n < 0)
            return file_op_fail((int)-n, path);
        if (n == 0)
            return 0;
        n = io_write_all(to, block, (size_t)n);
        if (n < 0)
            return file_op_fail((int)-n, path);
    }
}

/* The entry comes first, so that the reader knows that bytes follow. */
static int op_read(char **args)
{
    hf_autoclose int fd = open(args[0], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return file_op_fail(errno, args[0]);
    if (!S_ISREG(st.st_mode))
        return file_op_fail(S_ISDIR(st.st_mode) ? EISDIR : EINVAL, args[0]);
    if (show(args[0]) != 0)
        return 1;
    fflush(stdout);
    return copy(fd, STDOUT_FILENO, args[0]);
}

static int op_write(char **args)
{
    hf_autoclose int fd = -1;
    int rc = file_op_make_parent(args[0]);

    if (rc < 0)
        return file_op_fail(-rc, args[0]);
    fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return file_op_fail(errno, args[0]);
    rc = copy(STDIN_FILENO, fd, args[0]);
    return rc == 0 ? show(args[0]) : rc;
}

/* Prints why a process could not be started, for platforms whose clients expect it as output. */
static int op_fail(char **args)
{
    int64_t status = 1;

    fprintf(stderr, "%s\n", args[0]);
    return text_to_i64(args[1], 0, 255, &status) ? (int)status : 1;
}

static const struct {
    const char *name;
    int args;
    int (*run)(char **args);
} ops[] = {
    {"stat", 1, op_stat},   {"list", 2, op_list},        {"mkdir", 1, op_mkdir},
    {"move", 2, op_move},   {"remove", 1, op_remove},    {"read", 1, op_read},
    {"write", 1, op_write}, {"untar", 1, file_op_untar}, {"fail", 2, op_fail},
};

int file_op_main(int argc, char **argv)
{
    umask(022);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (argc >= 3 && strcmp(ops[i].name, argv[2]) == 0 && argc == 3 + ops[i].args)
            return ops[i].run(argv + 3);
    fprintf(stderr, "EINVAL this command is for internal use by the daemon\n");
    return 2;
}
