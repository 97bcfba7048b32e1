/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit_send.c - messages to the vault, and what the keeper does when it does not read them.
 * Layer: keeper.
 */
#include "keeper/deposit_own.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/limits.h"
#include "base/log.h"
#include "keeper/keeper_own.h"

void deposit_vault_lost(struct keeper *k, int rc)
{
    log_error("the vault is lost (%s): processes keep running, but are lost if the keeper dies",
              strerror(-rc));
    channel_close(&k->deposit.channel);
    k->deposit.ends.channel_fd = -1;
}

static bool is_transient(int rc)
{
    return rc == -EAGAIN || fd_message_is_shortage(rc);
}

/* Nothing is sent any more until catch_up() has sent everything. */
static void fall_behind(struct keeper *k, int rc)
{
    if (!k->deposit.catching_up)
        log_error("the vault is not reading (%s): processes that start now are lost if the "
                  "keeper dies before it reads again",
                  strerror(-rc));
    k->deposit.behind = true;
    k->deposit.retry_at_ms = clock_mono_ms() + DEPOSIT_CATCH_UP_MS;
}

/* A shortage of the kernel may last, for example if the user has too many descriptors in flight.
 * A keeper that starts or tries again must not let clients wait for that. */
static uint64_t patience_ms(const struct deposit *d, int rc)
{
    bool clients_wait = !d->well_sent || d->catching_up;

    return fd_message_is_shortage(rc) && clients_wait ? LIMIT_VAULT_SHORTAGE_MS
                                                      : LIMIT_VAULT_SEND_MS;
}

/*
 * Waits for the vault if necessary: a row may say that a process runs only after the vault has its
 * descriptors, and a queue in our own memory would die with us. The vault always reads at once,
 * unless someone has stopped it. False: not sent.
 */
bool deposit_send(struct keeper *k, const struct v_message *m, const int *fds)
{
    struct pollfd p = {.fd = k->deposit.channel.fd, .events = POLLOUT};
    uint64_t began = 0;
    int rc;

    if (p.fd < 0 || k->deposit.behind)
        return false;
    while (is_transient(rc = vault_send(p.fd, m, fds))) {
        if (began == 0)
            began = clock_mono_ms();
        if (clock_mono_ms() >= began + patience_ms(&k->deposit, rc))
            break;
        (void)poll(&p, rc == -EAGAIN ? 1 : 0, rc == -EAGAIN ? LIMIT_VAULT_SEND_MS : 1);
    }
    if (is_transient(rc))
        fall_behind(k, rc);
    else if (rc < 0)
        deposit_vault_lost(k, rc);
    return rc == 0;
}

void deposit_put(struct keeper *k, uint32_t key, int fd)
{
    struct v_message m = {.type = V_PUT, .count = 1, .keys = {key}};

    if (fd >= 0)
        (void)deposit_send(k, &m, &fd);
}

void deposit_drop(struct keeper *k, uint32_t key, uint32_t count)
{
    struct v_message m = {.type = V_DROP, .count = count, .keys = {key}};

    (void)deposit_send(k, &m, NULL);
}

bool deposit_notify(struct keeper *k, uint32_t type, int32_t status)
{
    struct v_message m = {.type = type, .status = status};

    return deposit_send(k, &m, NULL);
}
