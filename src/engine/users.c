/* SPDX-License-Identifier: Apache-2.0 */
/*
 * users.c - parses /etc/passwd and /etc/group. Layer: engine.
 */
#include "engine/users.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/text.h"

#define ACCOUNTS_MAX_BYTES (4 * 1024 * 1024)
#define FIELDS_MAX 8

/* Splits a line at its colons, in place; returns the number of fields. */
static size_t split(char *line, char **fields)
{
    size_t n = 0;

    while (n < FIELDS_MAX) {
        fields[n++] = line;
        line = strchr(line, ':');
        if (line == NULL)
            break;
        *line++ = '\0';
    }
    return n;
}

/*
 * Calls fn for each line until it returns true. 1: it did, 0: it did not, or there is no such file.
 * -errno: the file could not be read, so what it has is unknown.
 */
static int each_line(const char *path, bool (*fn)(char **fields, size_t n, void *arg), void *arg)
{
    struct buf text = {0};
    char *line, *save = NULL, *all = NULL;
    bool found = false;
    int rc = io_read_file(path, ACCOUNTS_MAX_BYTES, &text);

    if (rc == 0 && text.len > 0 && (all = strdup(buf_cstr(&text))) == NULL)
        rc = -ENOMEM;
    for (line = all == NULL ? NULL : strtok_r(all, "\n", &save); line != NULL && !found;
         line = strtok_r(NULL, "\n", &save)) {
        char *fields[FIELDS_MAX];
        size_t n = split(line, fields);
        found = fn(fields, n, arg);
    }
    free(all);
    buf_fini(&text);
    return rc == 0 || rc == -ENOENT ? found : rc;
}

struct passwd_query {
    const char *name; /* NULL: by uid */
    uint64_t uid;
    struct user *out;
};

static bool passwd_line(char **f, size_t n, void *arg)
{
    struct passwd_query *q = arg;
    uint64_t uid, gid;

    if (n < 7 || !text_to_u64(f[2], UINT32_MAX - 1, &uid) ||
        !text_to_u64(f[3], UINT32_MAX - 1, &gid))
        return false;
    if (q->name != NULL ? strcmp(f[0], q->name) != 0 : uid != q->uid)
        return false;
    q->out->uid = (uint32_t)uid;
    q->out->gid = (uint32_t)gid;
    snprintf(q->out->name, sizeof q->out->name, "%s", f[0]);
    snprintf(q->out->home, sizeof q->out->home, "%s", f[5]);
    snprintf(q->out->shell, sizeof q->out->shell, "%s", f[6]);
    return true;
}

static bool lists_member(char *members, const char *name)
{
    char *one, *save = NULL;

    for (one = strtok_r(members, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save))
        if (strcmp(one, name) == 0)
            return true;
    return false;
}

static bool group_line(char **f, size_t n, void *arg)
{
    struct user *u = arg;
    uint64_t gid;

    if (n >= 4 && u->group_count < K_GROUPS_MAX && text_to_u64(f[2], UINT32_MAX - 1, &gid) &&
        gid != u->gid && lists_member(f[3], u->name))
        u->groups[u->group_count++] = (uint32_t)gid;
    return false;
}

/* "1000" or "1000:1000"; an entry with that uid, if it can be read, supplies the name and home. */
static bool by_number(const char *who, struct user *out)
{
    struct passwd_query q = {.out = out};
    uint64_t gid = UINT64_MAX;
    char number[16];
    const char *colon = strchr(who, ':');
    size_t len = colon != NULL ? (size_t)(colon - who) : strlen(who);

    if (len == 0 || len >= sizeof number)
        return false;
    memcpy(number, who, len);
    number[len] = '\0';
    if (!text_to_u64(number, UINT32_MAX - 1, &q.uid) ||
        (colon != NULL && !text_to_u64(colon + 1, UINT32_MAX - 1, &gid)))
        return false;
    if (each_line("/etc/passwd", passwd_line, &q) <= 0) {
        out->uid = (uint32_t)q.uid;
        out->gid = (uint32_t)q.uid;
    }
    if (gid != UINT64_MAX)
        out->gid = (uint32_t)gid;
    return true;
}

int user_find(const char *who, struct user *out, struct hf_error *err)
{
    struct passwd_query q = {.name = who, .out = out};
    int rc;

    memset(out, 0, sizeof *out);
    rc = by_number(who, out) ? 1 : each_line("/etc/passwd", passwd_line, &q);
    if (rc < 0)
        return hf_fail(err, HF_E_internal, "cannot look up user '%.64s': /etc/passwd: %s", who,
                       strerror(-rc));
    if (rc == 0)
        return hf_fail_field(
            err, HF_E_user_unknown, "user",
            "no user '%.64s' in /etc/passwd; use a numeric uid for a user without an entry", who);
    out->groups[out->group_count++] = out->gid;
    if (out->name[0] != '\0')
        each_line("/etc/group", group_line, out);
    return 0;
}
