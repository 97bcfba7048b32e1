/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_setting.c - whose files an operation makes, and the attributes that it reports
 *
 * Both hold for the whole process, as the umask does: it carries out one operation. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"
#include "files/files.h"

#define NAMES_BYTES (64 * 1024)
#define VALUE_BYTES (64 * 1024)
#define NAME_BYTES 255 /* the longest name of an attribute that the kernel takes */

static struct {
    bool given;
    int64_t uid, gid;
    const char *prefix; /* of the attributes; NULL: none are reported */
} setting;

bool files_settings(char **options)
{
    setting.uid = setting.gid = -1;
    setting.prefix = files_option(options, "attributes");
    if (!files_number(options, "uid", 0, UINT32_MAX - 1, &setting.uid) ||
        !files_number(options, "gid", 0, UINT32_MAX - 1, &setting.gid))
        return false;
    setting.given = setting.uid >= 0 && setting.gid >= 0;
    return true;
}

/* --- the owner ------------------------------------------------------------------------------- */

int files_give_directory(int fd)
{
    if (!setting.given)
        return 0;
    return fchownat(fd, "", (uid_t)setting.uid, (gid_t)setting.gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int files_give_open(int fd)
{
    if (!setting.given)
        return 0;
    return fchown(fd, (uid_t)setting.uid, (gid_t)setting.gid) < 0 ? -errno : 0;
}

void files_owner(uint32_t *uid, uint32_t *gid)
{
    if (!setting.given)
        return;
    *uid = (uint32_t)setting.uid;
    *gid = (uint32_t)setting.gid;
}

/* --- attributes ------------------------------------------------------------------------------ */

static bool is_ours(const char *name)
{
    return strncmp(name, setting.prefix, strlen(setting.prefix)) == 0;
}

/* JSON has no bytes that are not UTF-8: such an attribute was not set by a client. */
static void put_attribute(struct json_out *o, const char *path, const char *name)
{
    static char value[VALUE_BYTES];
    const char *key = name + strlen(setting.prefix);
    ssize_t n = getxattr(path, name, value, sizeof value);

    if (n < 0 || !utf8_is_valid(value, (size_t)n) || !utf8_is_valid(key, strlen(key)))
        return;
    json_key(o, key);
    json_strn(o, value, (size_t)n);
}

void files_put_attributes(struct json_out *o, const char *path)
{
    static char names[NAMES_BYTES];
    bool any = false;
    ssize_t len;

    if (setting.prefix == NULL || (len = listxattr(path, names, sizeof names)) <= 0)
        return;
    for (const char *at = names; at < names + len; at += strlen(at) + 1) {
        if (!is_ours(at))
            continue;
        if (!any)
            json_kopen(o, "attributes", '{');
        any = true;
        put_attribute(o, path, at);
    }
    if (any)
        json_close(o, '}');
}

static int remove_others(int fd, const json_t *wanted)
{
    static char names[NAMES_BYTES];
    ssize_t len = flistxattr(fd, names, sizeof names);

    if (len < 0)
        return -errno;
    for (const char *at = names; at < names + len; at += strlen(at) + 1)
        if (is_ours(at) && json_object_get(wanted, at + strlen(setting.prefix)) == NULL &&
            fremovexattr(fd, at) < 0 && errno != ENODATA)
            return -errno;
    return 0;
}

static int set_all(int fd, const json_t *wanted)
{
    char name[NAME_BYTES + 1];
    const char *key;
    json_t *v;

    json_object_foreach ((json_t *)(uintptr_t)wanted, key, v) {
        int n = snprintf(name, sizeof name, "%s%s", setting.prefix, key);

        if (n >= (int)sizeof name || !json_is_string(v))
            return -EINVAL;
        if (fsetxattr(fd, name, json_string_value(v), json_string_length(v), 0) < 0)
            return -errno;
    }
    return 0;
}

/* A file system without attributes, such as /proc, takes the file all the same. */
int files_set_attributes(int fd, char **options)
{
    const char *text = files_option(options, "set");
    json_auto_t *wanted = NULL;
    int rc;

    if (setting.prefix == NULL)
        return 0;
    wanted = text != NULL ? json_parse(text, strlen(text), NULL) : json_object();
    if (!json_is_object(wanted))
        return -EINVAL;
    rc = remove_others(fd, wanted);
    if (rc == 0)
        rc = set_all(fd, wanted);
    return rc == -ENOTSUP ? 0 : rc;
}
