/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_entry.c - describes a file as JSON, and `stat`
 *
 * `type` and `mode` are those of what a link leads to, `kind` and `size` those of the path itself;
 * a dangling link has the type symlink. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "engine/users.h"
#include "files/files.h"

#define GROUP_FILE_BYTES (4 * 1024 * 1024)

/* --- names ----------------------------------------------------------------------------------- */

/* A listing usually has one owner, so the last name is kept. */
static const char *owner_name(uint32_t uid)
{
    static char name[64];
    static uint32_t of;
    struct user u;
    char number[16];

    if (name[0] != '\0' && of == uid)
        return name;
    of = uid;
    snprintf(number, sizeof number, "%u", uid);
    snprintf(name, sizeof name, "%s",
             user_find(number, &u, NULL) == 0 && u.name[0] != '\0' ? u.name : number);
    return name;
}

static void group_find(uint32_t gid, char *out, size_t size)
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

static const char *group_name(uint32_t gid)
{
    static char name[64];
    static uint32_t of;

    if (name[0] == '\0' || of != gid) {
        of = gid;
        group_find(gid, name, sizeof name);
    }
    return name;
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "dir" : S_ISLNK(mode) ? "symlink" : "other";
}

static const char *kind_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return "file";
    case S_IFDIR: return "directory";
    case S_IFLNK: return "symlink";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return "character_device";
    case S_IFBLK: return "block_device";
    default: return "other";
    }
}

/* --- an entry -------------------------------------------------------------------------------- */

void files_tag(const struct stat *st, char out[FILES_TAG_BYTES])
{
    snprintf(out, FILES_TAG_BYTES, "%llx-%llx-%llx", (unsigned long long)st->st_ino,
             (unsigned long long)st->st_size,
             (unsigned long long)st->st_mtim.tv_sec * 1000000000ULL +
                 (unsigned long long)st->st_mtim.tv_nsec);
}

static void put_created(struct json_out *o, int dir, const char *name)
{
    struct statx x;

    if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BTIME, &x) == 0 &&
        (x.stx_mask & STATX_BTIME) != 0)
        json_kint(o, "created_ms", x.stx_btime.tv_sec * 1000LL + x.stx_btime.tv_nsec / 1000000);
}

/* JSON has no bytes that are not UTF-8, so such a path is written a second time. */
static void put_path(struct json_out *o, const char *path)
{
    const char *base = strrchr(path, '/');

    json_kstr(o, "name", base != NULL && base[1] != '\0' ? base + 1 : path);
    json_kstr(o, "path", path);
    if (!utf8_is_valid(path, strlen(path))) {
        json_key(o, "path_base64");
        json_base64(o, path, strlen(path));
    }
}

/* Of a link that leads to nothing: what it says, as an absolute path. */
static void put_leads_to(struct json_out *o, int dir, const char *name, const char *path)
{
    char text[PATH_MAX];
    const char *base = strrchr(path, '/');
    ssize_t len = readlinkat(dir, name, text, sizeof text - 1);
    struct buf to = {0};

    if (len <= 0)
        return;
    text[len] = '\0';
    if (text[0] != '/' && base != NULL)
        buf_put(&to, path, (size_t)(base - path) + 1);
    buf_puts(&to, text);
    json_kstr(o, "leads_to", buf_cstr(&to));
    buf_fini(&to);
}

void files_put_entry(struct json_out *o, int dir, const char *name, const char *path,
                     const struct stat *st)
{
    char target[PATH_MAX], tag[FILES_TAG_BYTES];
    struct stat to = *st;

    if (S_ISLNK(st->st_mode) && fstatat(dir, name, &to, 0) < 0)
        to = *st;
    put_path(o, path);
    json_kstr(o, "type", type_name(to.st_mode));
    json_kstr(o, "kind", kind_name(st->st_mode));
    json_kint(o, "size", st->st_size);
    json_kint(o, "mode", to.st_mode & 07777);
    json_kint(o, "uid", st->st_uid);
    json_kint(o, "gid", st->st_gid);
    json_kstr(o, "owner", owner_name(st->st_uid));
    json_kstr(o, "group", group_name(st->st_gid));
    json_kint(o, "modified_ms", st->st_mtim.tv_sec * 1000LL + st->st_mtim.tv_nsec / 1000000);
    put_created(o, dir, name);
    files_tag(st, tag);
    json_kstr(o, "tag", tag);
    files_put_attributes(o, path);
    if (!S_ISLNK(st->st_mode))
        return;
    if (realpath(path, target) != NULL)
        json_kstr(o, "target", target);
    else
        put_leads_to(o, dir, name, path);
}

void files_put_line(struct buf *line)
{
    buf_putc(line, '\n');
    fwrite(buf_data(line), 1, line->len, stdout);
    buf_fini(line);
}

int files_show_at(int dir, const char *name, const char *path, const struct stat *st)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, dir, name, path, st);
    json_close(&o, '}');
    files_put_line(&line);
    return 0;
}

int files_show(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return files_fail(errno, path);
    return files_show_at(AT_FDCWD, path, path, &st);
}

int files_show_written(const char *path, bool created)
{
    struct buf line = {0};
    struct json_out o;
    struct stat st;

    if (lstat(path, &st) < 0)
        return files_fail(errno, path);
    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, AT_FDCWD, path, path, &st);
    json_kbool(&o, "created", created);
    json_close(&o, '}');
    files_put_line(&line);
    return 0;
}

bool files_show_followed(int dir, const char *name, const char *path)
{
    struct stat st;

    return fstatat(dir, name, &st, 0) == 0 && files_show_at(dir, name, path, &st) == 0;
}

int files_stat(char **args)
{
    if (!files_flag(args + 1, "follow", false))
        return files_show(args[0]);
    return files_show_followed(AT_FDCWD, args[0], args[0]) ? 0 : files_fail(errno, args[0]);
}
