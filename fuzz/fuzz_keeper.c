/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_keeper.c - what a broken worker could send to the keeper, and the
 * texts and the state that the keeper reads
 *
 * The first byte chooses the parser. For messages the second is the number of
 * descriptors that came along.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/cgroup.h"
#include "keeper/procfs.h"
#include "keeper/request_check.h"
#include "keeper/spawn.h"
#include "keeper/tty_probe.h"
#include "keeper/upgrade_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t seen; /* so that nothing is optimised away */

/* Every string of the plan is read to its end, as the kernel would. */
static void walk(char **list)
{
    for (; *list != NULL; list++)
        seen += strlen(*list);
}

static void fuzz_spawn(const struct k_spawn *m, size_t fd_count)
{
    struct spawn *s;

    if (fd_count != 1 || spawn_new(m, (const char *)(m + 1), -1, &s) < 0)
        return;
    for (uint32_t i = 0; i < s->plan.path_count; i++)
        seen += strlen(s->plan.paths[i]);
    if (s->plan.cwd != NULL)
        seen += strlen(s->plan.cwd);
    walk(s->plan.argv);
    walk(s->plan.envp);
    spawn_free(s);
}

/* In memory of exactly that size, aligned as the receive buffer is. */
static void fuzz_message(const uint8_t *data, size_t size)
{
    size_t fd_count = size > 0 ? data[0] % 5 : 0;
    void *copy;
    uint32_t type;

    if (size < 1 || size - 1 > MESSAGE_MAX)
        return;
    size--;
    copy = malloc(size + 1);
    assert(copy != NULL);
    memcpy(copy, data + 1, size);
    if (request_check_fault(copy, size, fd_count) == NULL) {
        memcpy(&type, copy, sizeof type);
        if (type == K_SPAWN)
            fuzz_spawn(copy, fd_count);
    }
    free(copy);
}

/* What /proc tells of a process: three files, one parser each. */
static void fuzz_proc(const char *text, size_t len)
{
    struct tty_probe_call call;
    struct proc p;
    int fds[4];

    if (procfs_parse_stat(text, len, &p))
        seen += strlen(p.comm);
    if (tty_probe_parse_syscall(text, &call))
        seen += (size_t)call.nr + call.args[5];
    assert(tty_probe_parse_epoll(text, fds, 4) <= 4);
}

static void fuzz_cgroup(const char *text)
{
    const char *half = strchr(text, '\t');
    char out[256];

    if (half == NULL)
        return;
    seen += cgroup_find(text, half + 1, out, sizeof out) ? strlen(out) : 0;
}

static void fuzz_state(const uint8_t *data, size_t size)
{
    void *copy = malloc(size + 1);

    assert(copy != NULL);
    memcpy(copy, data, size);
    seen += state_fault(copy, size) == NULL;
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size < 1)
        return 0;
    text = malloc(size);
    assert(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 5) {
    case 0: fuzz_message(data + 1, size - 1); break;
    case 1: fuzz_proc(text, size - 1); break;
    case 2: seen += (size_t)procfs_find_env(text, size - 1, SPAWN_MARK, "proc_a"); break;
    case 3: fuzz_cgroup(text); break;
    default: fuzz_state(data + 1, size - 1);
    }
    free(text);
    return 0;
}
