/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.c - checks that a packet from the worker is a well-formed message. Layer: keeper.
 */
#include "keeper/request_check.h"

#include <signal.h>
#include <string.h>

#include "base/limits.h"

static bool message_id_is_valid(const char id[K_ID_LEN])
{
    size_t len = strnlen(id, K_ID_LEN);

    if (len == 0 || len == K_ID_LEN)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool ok = (id[i] >= 'a' && id[i] <= 'z') || (id[i] >= '0' && id[i] <= '9') || id[i] == '_';

        if (!ok)
            return false;
    }
    return true;
}

static bool message_size_is_valid(const struct k_spawn *m)
{
    if (!m->pty)
        return true;
    return m->rows >= 1 && m->rows <= TERMINAL_SIZE_MAX && m->cols >= 1 &&
           m->cols <= TERMINAL_SIZE_MAX;
}

size_t request_check_string_count(const struct k_spawn *m)
{
    return 1 + (size_t)m->path_count + m->arg_count + m->env_count;
}

static const char *message_spawn_counts_fault(const struct k_spawn *m)
{
    if (m->group_count > K_GROUPS_MAX)
        return "groups";
    if (m->path_count < 1)
        return "paths";
    if (m->arg_count < 1)
        return "arguments";
    /* Each string has at least its NUL. */
    if (m->strings_len < request_check_string_count(m) || m->strings_len > K_STRINGS_MAX)
        return "strings";
    return NULL;
}

static const char *message_spawn_fault(const struct k_spawn *m, size_t len, size_t fd_count)
{
    const char *fault;

    if (len < sizeof *m)
        return "length";
    fault = message_spawn_counts_fault(m);
    if (fault != NULL)
        return fault;
    if (fd_count == 1 && len != sizeof *m + m->strings_len)
        return "length";
    if (fd_count == 2 && len != sizeof *m)
        return "length";
    if (fd_count != 1 && fd_count != 2)
        return "descriptors";
    if (!message_id_is_valid(m->id))
        return "id";
    if (m->pty > 1 || m->set_user > 1 || m->set_nice > 1 || m->set_oom > 1 || m->quiet > 1 ||
        m->side > 1)
        return "flag";
    if (m->stdin_mode != K_STDIN_NULL && m->stdin_mode != K_STDIN_PIPE)
        return "stdin";
    if (!message_size_is_valid(m))
        return "size";
    return NULL;
}

static const char *message_signal_fault(const struct k_signal *m)
{
    if (m->signum < 1 || m->signum >= NSIG)
        return "signal";
    if (m->target > K_RECENT)
        return "target";
    return NULL;
}

/* The size of a type's struct, except K_SPAWN; 0: the worker may not send it. */
static size_t message_size(uint32_t type)
{
    switch (type) {
    case K_READY:
    case K_SURVEY:
    case K_FORGET:
    case K_PROBE:
    case K_UPGRADE: return sizeof(struct k_simple);
    case K_SIGNAL: return sizeof(struct k_signal);
    case K_CLOSE: return sizeof(struct k_close);
    case K_HOLDS: return sizeof(struct k_holds);
    case K_FLOOD: return sizeof(struct k_flood);
    case K_RELOAD: return sizeof(struct k_reload);
    default: return 0;
    }
}

const char *request_check_fault(const void *bytes, size_t len, size_t fd_count)
{
    uint32_t type;
    size_t want;

    if (len < sizeof type)
        return "length";
    memcpy(&type, bytes, sizeof type);
    if (type == K_SPAWN)
        return message_spawn_fault(bytes, len, fd_count);
    want = message_size(type);
    if (want == 0)
        return "type";
    if (len != want)
        return "length";
    if (fd_count != 0)
        return "descriptors";
    if (type == K_SIGNAL)
        return message_signal_fault(bytes);
    if (type == K_HOLDS) {
        const struct k_holds *m = bytes;

        if (m->count < 1 || m->count > K_HOLDS_MAX)
            return "count";
    }
    if (type == K_FLOOD && ((const struct k_flood *)bytes)->on > 1)
        return "flag";
    if (type == K_RELOAD) {
        const struct k_reload *m = bytes;

        if (m->grace_ms != K_GRACE_UNSET && m->grace_ms > LIMIT_DURATION_MS)
            return "grace";
    }
    if (type == K_CLOSE) {
        const struct k_close *m = bytes;

        if (m->which & ~(uint32_t)(K_FD_TTY | K_FD_STDIN | K_FD_STDOUT | K_FD_STDERR | K_FD_SIDE))
            return "descriptors";
    }
    return NULL;
}

bool request_check_split(char *strings, size_t len, char **at, size_t count)
{
    char *end = strings + len;

    for (size_t i = 0; i < count; i++) {
        char *nul = strings < end ? memchr(strings, '\0', (size_t)(end - strings)) : NULL;

        if (nul == NULL)
            return false;
        at[i] = strings;
        strings = nul + 1;
    }
    return strings == end;
}
