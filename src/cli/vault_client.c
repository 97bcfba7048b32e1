/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_client.c - a connection to the vault of a daemon. Layer: cli.
 */
#include "cli/vault_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

static void take_ledger(struct vault_client *c, int fd)
{
    if (c->ledger == NULL)
        c->ledger = ledger_map(fd);
    close(fd);
}

int vault_client_read(struct vault_client *c)
{
    struct v_message m;
    struct fd_message attached;
    int rc;

    while ((rc = vault_receive(c->fd, &m, &attached)) > 0) {
        for (size_t i = 0; i < attached.fd_count; i++)
            take_ledger(c, attached.fds[i]);
        if (m.type != V_STATUS)
            continue;
        c->status = m;
        c->replied = c->replied || attached.fd_count > 0;
    }
    return rc;
}

/* Messages that arrived before the connection closed count: the last status says how the daemon
 * ended. */
int vault_client_wait(struct vault_client *c, int timeout_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    int n = poll(&p, 1, timeout_ms), rc;

    if (n < 0)
        return errno == EINTR ? 1 : -errno;
    if (n == 0)
        return 0;
    rc = vault_client_read(c);
    return rc < 0 && c->status.phase != V_ENDED ? rc : 1;
}

bool vault_client_has_changed(const struct vault_client *c, const struct v_message *before)
{
    return c->status.upgrades != before->upgrades || c->status.refusals != before->refusals ||
           c->status.starts != before->starts;
}

int vault_client_wait_phase(struct vault_client *c, enum v_phase phase,
                            const struct v_message *before, int timeout_ms)
{
    uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;

    while (c->status.phase != phase || (before != NULL && !vault_client_has_changed(c, before))) {
        uint64_t now = clock_mono_ms();
        int rc = timeout_ms >= 0 && now >= end
                     ? 0
                     : vault_client_wait(c, timeout_ms < 0 ? -1 : (int)(end - now));

        if (rc <= 0)
            return rc;
        if (c->status.phase == V_ENDED && phase != V_ENDED)
            return -EPIPE;
    }
    return 1;
}

int vault_client_send(const struct vault_client *c, enum v_type type)
{
    struct v_message m = {.type = type};

    return vault_send(c->fd, &m, NULL);
}

int vault_client_put(const struct vault_client *c, uint32_t key, int fd)
{
    struct v_message m = {.type = V_PUT, .count = 1, .keys = {key}};

    return fd < 0 ? 0 : vault_send(c->fd, &m, &fd);
}

int vault_client_open(struct vault_client *c, const char *name)
{
    int rc;

    *c = (struct vault_client){.fd = vault_connect(name)};
    if (c->fd < 0)
        return c->fd;
    rc = vault_client_send(c, V_STATUS);
    if (rc == 0)
        rc = 1;
    while (rc > 0 && !c->replied)
        rc = vault_client_wait(c, VAULT_REPLY_MS);
    if (rc > 0)
        return 0;
    vault_client_close(c);
    return rc == 0 ? -ETIMEDOUT : rc;
}

void vault_client_close(struct vault_client *c)
{
    io_close(&c->fd);
    ledger_unmap(c->ledger);
    c->ledger = NULL;
}

size_t vault_client_running(const struct vault_client *c)
{
    return c->ledger == NULL ? 0 : ledger_count(c->ledger, ROW_RUNNING);
}

/* The last field of a line is the name, with '@' for the byte 0 of an abstract one. A listening
 * socket has the SO_ACCEPTCON flag; its connections have the same name. */
size_t vault_client_names(char (*out)[LISTEN_NAME_BYTES], size_t max)
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[512], prefix[64];
    size_t count = 0;

    snprintf(prefix, sizeof prefix, " @holdfast/%u/", (unsigned)geteuid());
    while (f != NULL && count < max && fgets(line, sizeof line, f) != NULL) {
        const char *at = strstr(line, prefix);

        if (at == NULL || strstr(line, " 00010000 ") == NULL)
            continue;
        at += strlen(prefix);
        snprintf(out[count++], LISTEN_NAME_BYTES, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (f != NULL)
        fclose(f);
    return count;
}
