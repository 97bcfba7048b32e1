/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_slot.c - the contents of one slot: members, limits and kills. Layer: keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "keeper/cgroup.h"

/* Writes a whole small value: 0 or -errno. */
static int slot_write(const struct cgroup *c, const struct cgroup_slot *slot, const char *file,
                      const char *value)
{
    hf_autoclose int fd = cgroup_open(c, slot, file, O_WRONLY);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = hf_write(fd, value, strlen(value));
    return n < 0 ? (int)n : 0;
}

static int slot_write_number(const struct cgroup *c, const struct cgroup_slot *slot,
                             const char *file, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return slot_write(c, slot, file, text);
}

int cgroup_limit(struct cgroup *c, struct cgroup_slot *slot, uint64_t memory_bytes,
                 uint64_t processes)
{
    int rc = 0;

    if (memory_bytes != UINT64_MAX && c->has_memory) {
        slot->used_up = true;
        rc = slot_write_number(c, slot, "memory.max", memory_bytes);
    }
    if (rc == 0 && processes != UINT64_MAX && c->has_pids) {
        slot->used_up = true;
        rc = slot_write_number(c, slot, "pids.max", processes);
    }
    return rc;
}

/* The beginning of a file, "" if it cannot be read. */
static void slot_read(const struct cgroup *c, const struct cgroup_slot *slot, const char *file,
                      char *text, size_t size)
{
    hf_autoclose int fd = cgroup_open(c, slot, file, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : hf_read(fd, text, size - 1);

    text[n < 0 ? 0 : n] = '\0';
}

/* A slot that cannot be read does not count as empty, so that no slot in use is reused. */
bool cgroup_is_empty(const struct cgroup *c, const struct cgroup_slot *slot)
{
    char text[128];

    slot_read(c, slot, "cgroup.events", text, sizeof text);
    return strstr(text, "populated 0") != NULL;
}

static uint64_t slot_oom_kills(const struct cgroup *c, const struct cgroup_slot *slot)
{
    char text[512];
    const char *at;

    slot_read(c, slot, "memory.events", text, sizeof text);
    at = strstr(text, "oom_kill ");
    return at == NULL ? 0 : strtoull(at + strlen("oom_kill "), NULL, 10);
}

bool cgroup_had_oom(const struct cgroup *c, const struct cgroup_slot *slot)
{
    return c->has_memory && slot_oom_kills(c, slot) > 0;
}

/*
 * Some kernels count the kills of a cgroup and, when clone3(2) starts a child in it, compare that
 * count with the one of the parent's cgroup: a child started in a cgroup that was killed once is
 * killed too. So the slot is used up.
 */
int cgroup_kill(const struct cgroup *c, struct cgroup_slot *slot)
{
    slot->used_up = true;
    return slot_write(c, slot, "cgroup.kill", "1");
}

/* The file grows with the tree, which may be a fork bomb, so we read a bounded part. */
#define MEMBERS_MAX 65536

/* Pids of one chunk of text, which may end inside a line; returns the new count. */
static size_t members_parse(const char *text, size_t len, pid_t *open, pid_t *pids, size_t count)
{
    for (size_t i = 0; i < len && count < MEMBERS_MAX; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            *open = *open * 10 + (text[i] - '0');
            continue;
        }
        /* 0 is a process of another pid namespace, which has no pid here. */
        if (*open > 0)
            pids[count++] = *open;
        *open = 0;
    }
    return count;
}

pid_t *cgroup_members(const struct cgroup *c, const struct cgroup_slot *slot, size_t *count)
{
    hf_autoclose int fd = cgroup_open(c, slot, "cgroup.procs", O_RDONLY);
    pid_t *pids = NULL, open_pid = 0;
    char text[4096];
    size_t n = 0;
    ssize_t len;

    while (fd >= 0 && n < MEMBERS_MAX && (len = hf_read(fd, text, sizeof text)) > 0) {
        /* Every second byte at most ends a number. */
        pid_t *more = realloc(pids, (n + (size_t)len / 2 + 1) * sizeof *pids);

        if (more == NULL)
            break;
        pids = more;
        n = members_parse(text, (size_t)len, &open_pid, pids, n);
    }
    *count = n;
    return pids;
}
