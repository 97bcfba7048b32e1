/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_top.c - GET …/top: the processes of a container, from the kernel's process table.
 * Layer: dialects.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_limits.h"
#include "dialects/docker/docker_top_columns.h"
#include "engine/users.h"

#define FILE_BYTES 65536
#define ARGS_BYTES 4096 /* of a command line */

struct top {
    struct top_row *rows;
    size_t count;
    uint64_t total_kib;
};

/* --- reading ------------------------------------------------------------------------- */

static int read_file(int64_t pid, const char *name, struct buf *out)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return io_read_file(path, FILE_BYTES, out);
}

static void read_args(struct top_row *r)
{
    size_t len;

    if (read_file(r->pid, "cmdline", &r->args) < 0)
        buf_fini(&r->args);
    len = r->args.len < ARGS_BYTES ? r->args.len : ARGS_BYTES;
    for (size_t i = 0; i < len; i++)
        if (buf_data(&r->args)[i] == '\0')
            buf_data(&r->args)[i] = ' ';
    while (len > 0 && buf_data(&r->args)[len - 1] == ' ')
        len--;
    r->args.len = len;
}

static void read_owner(struct top_row *r, const struct top_row *before)
{
    char path[64], uid[16];
    struct user user;
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d", (int)r->pid);
    if (stat(path, &st) < 0)
        return;
    r->uid = st.st_uid;
    if (before != NULL && before->uid == r->uid) {
        memcpy(r->user, before->user, sizeof r->user);
        return;
    }
    snprintf(uid, sizeof uid, "%u", (unsigned)r->uid);
    if (user_find(uid, &user, NULL) == 0)
        snprintf(r->user, sizeof r->user, "%s", user.name);
}

static bool read_row(struct top_row *r, pid_t pid)
{
    struct buf text = {0};
    bool ok;

    *r = (struct top_row){0};
    ok = read_file(pid, "stat", &text) == 0 &&
         top_parse_stat(r, buf_cstr(&text), sysconf(_SC_CLK_TCK), clock_mono_ms());
    buf_fini(&text);
    return ok;
}

static void read_table(struct top *t)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    int64_t pid;

    t->rows = hf_xalloc(LIMIT_DOCKER_TOP * sizeof *t->rows);
    t->total_kib = (uint64_t)sysconf(_SC_PHYS_PAGES) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
    while (dir != NULL && t->count < LIMIT_DOCKER_TOP && (entry = readdir(dir)) != NULL) {
        if (text_to_i64(entry->d_name, 1, INT32_MAX, &pid) &&
            read_row(&t->rows[t->count], (pid_t)pid))
            t->count++;
    }
    if (dir != NULL)
        closedir(dir);
}

/* --- selection ------------------------------------------------------------------------- */

static bool has_member(const struct top *t, int64_t pid)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].member && t->rows[i].pid == pid)
            return true;
    return false;
}

/*
 * The descendants of this process, and the members of its session that have lost their parent; 0:
 * all processes.
 */
static void choose_members(struct top *t, pid_t leader)
{
    bool more = true;

    for (size_t i = 0; i < t->count; i++)
        t->rows[i].member = leader == 0 || t->rows[i].pid == leader || t->rows[i].sid == leader;
    while (more) {
        more = false;
        for (size_t i = 0; i < t->count; i++) {
            if (!t->rows[i].member && has_member(t, t->rows[i].ppid))
                more = t->rows[i].member = true;
        }
    }
}

/* --- reply ------------------------------------------------------------------------------- */

static void write_row(struct json_out *o, const struct top_columns *c, const struct top_row *r)
{
    struct buf cell = {0};

    json_open(o, '[');
    for (size_t i = 0; i < c->count; i++) {
        buf_clear(&cell);
        top_cell(c, i, r, &cell);
        json_strn(o, buf_data(&cell), cell.len);
    }
    json_close(o, ']');
    buf_fini(&cell);
}

static void write_table(struct json_out *o, const struct top_columns *c, struct top *t)
{
    struct top_row *before = NULL;

    json_kopen(o, "Titles", '[');
    for (size_t i = 0; i < c->count; i++)
        json_str(o, top_title(c, i));
    json_close(o, ']');
    json_kopen(o, "Processes", '[');
    for (size_t i = 0; i < t->count; i++) {
        if (!t->rows[i].member)
            continue;
        t->rows[i].total_kib = t->total_kib;
        read_owner(&t->rows[i], before);
        read_args(&t->rows[i]);
        write_row(o, c, &t->rows[i]);
        buf_fini(&t->rows[i].args);
        before = &t->rows[i];
    }
    json_close(o, ']');
}

static void top_reply(struct http_request *rq, const struct docker_entry *b,
                      const struct top_columns *c)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct top t = {0};

    read_table(&t);
    choose_members(&t, b->v.pid);
    write_table(&o, c, &t);
    free(t.rows);
    docker_send(rq, 200, &o);
}

void docker_top(struct http_request *rq)
{
    struct top_columns c;
    struct hf_error err = {0};
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (!docker_entry_is_running(&b))
        docker_fail(rq, 409, "container %s is not running", b.id);
    else if (top_columns_parse(&c, http_query(rq, "ps_args"), &err) < 0)
        docker_error(rq, &err);
    else
        top_reply(rq, &b, &c);
}
