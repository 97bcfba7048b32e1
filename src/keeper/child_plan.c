/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_plan.c - lays out everything a child needs in one block of memory
 *
 * The pointer arrays follow the struct, then the strings they point into. Layer: keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper/request_check.h"
#include "keeper/spawn.h"

/* cwd, paths, args and env as received; argv's NULL; envp with mark and NULL. */
static size_t plan_pointers(const struct k_spawn *m)
{
    return request_check_string_count(m) + 1 + 2;
}

/* Only memory files can be read without blocking. */
static bool plan_read_strings(int fd, char *to, size_t len)
{
    size_t got = 0;

    if (fcntl(fd, F_GET_SEALS) < 0)
        return false;
    while (got < len) {
        ssize_t n = pread(fd, to + got, len - got, (off_t)got);

        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/*
 * The arrays follow one another in the order of the strings, so envp moves up by one to make room
 * for argv's NULL.
 */
static void plan_arrays(struct spawn *s, const struct k_spawn *m)
{
    char **at = s->pointers;
    struct child_plan *p = &s->plan;

    p->cwd = at[0][0] == '\0' ? NULL : at[0];
    p->paths = at + 1;
    p->path_count = m->path_count;
    p->argv = p->paths + m->path_count;
    memmove(p->argv + m->arg_count + 1, p->argv + m->arg_count, m->env_count * sizeof *at);
    p->argv[m->arg_count] = NULL;
    p->envp = p->argv + m->arg_count + 1;
}

/* This variable identifies orphans; one inherited from another process is replaced. */
static void plan_mark(struct spawn *s, const struct k_spawn *m)
{
    char **envp = s->plan.envp;
    size_t n = 0;

    snprintf(s->mark, sizeof s->mark, "%s%s", SPAWN_MARK, m->id);
    for (size_t i = 0; i < m->env_count; i++) {
        if (strncmp(envp[i], SPAWN_MARK, strlen(SPAWN_MARK)) != 0)
            envp[n++] = envp[i];
    }
    envp[n++] = s->mark;
    envp[n] = NULL;
}

/* Only root may set groups, and a process that keeps its user needs no change. */
static bool plan_changes_user(const struct k_spawn *m)
{
    return m->set_user && (m->uid == 0 || m->uid != geteuid() || m->gid != getegid());
}

static void plan_identity(struct spawn *s, const struct k_spawn *m)
{
    struct child_plan *p = &s->plan;

    p->tty = m->pty;
    p->set_user = plan_changes_user(m);
    p->uid = m->uid;
    p->gid = m->gid;
    p->group_count = m->group_count;
    p->groups = s->groups;
    memcpy(s->groups, m->groups, m->group_count * sizeof m->groups[0]);
    p->set_nice = m->set_nice;
    p->nice = m->nice;
    p->set_oom = p->own_memory = m->set_oom;
    snprintf(p->oom_score_adj, sizeof p->oom_score_adj, "%d", m->oom_score_adj);
}

int spawn_new(const struct k_spawn *m, const char *strings, int strings_fd, struct spawn **out)
{
    size_t pointers = plan_pointers(m) * sizeof(char *);
    struct spawn *s;
    bool sound = true;
    char *copy;

    if (request_check_string_count(m) > SPAWN_STRINGS_MAX)
        return -E2BIG;
    s = malloc(sizeof *s + pointers + m->strings_len);
    if (s == NULL)
        return -ENOMEM;
    memset(s, 0, sizeof *s);
    list_init(&s->link);
    s->req = m->req;
    s->report_fd = -1;
    memset(s->lent, -1, sizeof s->lent);
    copy = (char *)s->pointers + pointers;
    if (strings != NULL)
        memcpy(copy, strings, m->strings_len);
    else
        sound = plan_read_strings(strings_fd, copy, m->strings_len);
    if (!sound ||
        !request_check_split(copy, m->strings_len, s->pointers, request_check_string_count(m))) {
        free(s);
        return -EBADMSG;
    }
    plan_arrays(s, m);
    plan_mark(s, m);
    plan_identity(s, m);
    *out = s;
    return 0;
}

void spawn_free(struct spawn *s)
{
    free(s);
}
