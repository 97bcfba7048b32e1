/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickup.c - `holdfast serve` continues with the processes of an earlier daemon. Layer: cli.
 */
#include "cli/pickup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/optparse.h"

static int fail(const char *what, int rc)
{
    return cli_complain("serve", 1, "%s: %s", what, strerror(-rc));
}

/* --- finding it ------------------------------------------------------------------------ */

/* PID 1 of a container has no launcher; there the user started the vault. */
static int32_t owner_pid(const struct vault_client *c)
{
    if (c->status.launcher > 0)
        return c->status.launcher;
    if (c->ledger != NULL &&
        atomic_load(&c->ledger->main_pid) == atomic_load(&c->ledger->vault_pid))
        return atomic_load(&c->ledger->vault_pid);
    return 0;
}

static bool is_leaving(const struct vault_client *c)
{
    return c->status.phase == V_LEAVING || c->status.phase == V_HOLDING;
}

static int refuse(struct pickup *p, const char *name)
{
    int32_t pid = owner_pid(&p->vault);

    if (p->vault.ledger == NULL)
        cli_complain(
            "serve", 1,
            "a daemon of another version is running at %s; \"holdfast stop --listen %s\" stops it",
            name, name);
    else if (p->vault.status.phase == V_ENDING || p->vault.status.phase == V_ENDED)
        cli_complain("serve", 1, "the daemon at %s is shutting down; try again once it has exited",
                     name);
    else if (pid > 0 && !is_leaving(&p->vault))
        cli_complain("serve", 1,
                     "already running at %s (pid %d); \"holdfast restart --listen %s\" switches to "
                     "a new binary, \"holdfast stop --listen %s\" stops it",
                     name, (int)pid, name, name);
    else
        return 0;
    pickup_fini(p);
    return 1;
}

static void remember(struct pickup *p)
{
    const struct ledger *l = p->vault.ledger;

    p->before = hf_xalloc((ledger_count(l, ROW_RUNNING) + 1) * sizeof *p->before);
    for (uint32_t i = 0; i < l->rows_used && i < LEDGER_ROWS; i++) {
        if (row_state(&l->rows[i]) == ROW_RUNNING)
            p->before[p->before_count++] = l->rows[i];
    }
}

int pickup_find(struct pickup *p, const char *name)
{
    int rc;

    *p = (struct pickup){.vault = {.fd = -1}};
    rc = vault_client_open(&p->vault, name);
    if (rc == -ETIMEDOUT)
        return fail("the vault of an earlier daemon does not respond", rc);
    return rc < 0 ? 0 : refuse(p, name);
}

int pickup_settle(struct pickup *p)
{
    int rc = p->vault.status.phase == V_HOLDING ? 0 : vault_client_send(&p->vault, V_LEAVE);

    if (rc == 0)
        rc = vault_client_wait_phase(&p->vault, V_HOLDING, NULL, VAULT_LEAVE_MS);
    if (rc <= 0)
        return fail("cannot pick up the processes of the earlier daemon",
                    rc == 0 ? -ETIMEDOUT : rc);
    remember(p);
    return 0;
}

/* --- taking it -------------------------------------------------------------------------------- */

/* Closes the descriptor, which may be -errno. */
static int put_own(const struct vault_client *c, uint32_t key, int fd)
{
    int rc = fd < 0 ? fd : vault_client_put(c, key, fd);

    if (fd >= 0)
        close(fd);
    return rc;
}

static int open_path(const char *path, int flags)
{
    int fd = open(path, O_PATH | O_CLOEXEC | flags);

    return fd < 0 ? -errno : fd;
}

/* By its path where there is no /proc. */
static int open_exe(const char *path)
{
    int fd = open_path("/proc/self/exe", 0);

    return fd < 0 ? open_path(path, 0) : fd;
}

static int put_listeners(const struct vault_client *c, const struct keeper_carry *carry)
{
    struct v_message m = {.type = V_DROP, .count = V_LISTENERS, .keys = {V_KEY_LISTENER}};
    int rc = vault_send(c->fd, &m, NULL);

    for (size_t i = 0; rc == 0 && i < carry->fd_count; i++)
        rc = vault_client_put(c, V_KEY_LISTENER + (uint32_t)i, carry->fds[i]);
    return rc;
}

static int put_all(const struct vault_client *c, const struct keeper_options *k)
{
    int rc = put_listeners(c, &k->carry);

    if (rc == 0)
        rc = put_own(c, V_KEY_CARRY, keeper_save_carry(k));
    if (rc == 0)
        rc = put_own(c, V_KEY_ARGS, vault_args_save(k->argv));
    if (rc == 0)
        rc = put_own(c, V_KEY_EXE, open_exe(k->exe_path));
    if (rc == 0)
        rc = put_own(c, V_KEY_CWD, open_path(".", O_DIRECTORY));
    if (rc == 0)
        rc = vault_client_put(c, V_KEY_OUTPUT, STDOUT_FILENO);
    if (rc == 0)
        rc = vault_client_put(c, V_KEY_ERRORS, STDERR_FILENO);
    return rc;
}

int pickup_start(struct pickup *p, const struct keeper_options *k)
{
    struct ledger *l = p->vault.ledger;
    int rc = put_all(&p->vault, k);

    if (rc == 0) {
        snprintf(l->exe_path, sizeof l->exe_path, "%s", k->exe_path);
        atomic_store(&l->main_pid, getpid());
        rc = vault_client_send(&p->vault, V_OWN);
    }
    if (rc == 0)
        rc = vault_client_send(&p->vault, V_START);
    return rc < 0 ? fail("cannot pick up the processes of the earlier daemon", rc) : 0;
}

/* --- the result ------------------------------------------------------------------------------- */

static bool is_known(const struct ledger *l, const struct ledger_row *before)
{
    for (uint32_t i = 0; i < l->rows_used && i < LEDGER_ROWS; i++) {
        enum ledger_state state = row_state(&l->rows[i]);

        if (l->rows[i].entry == before->entry && (state == ROW_RUNNING || state == ROW_EXITED))
            return true;
    }
    return false;
}

void pickup_report(struct pickup *p)
{
    size_t missing = 0;

    for (size_t i = 0; i < p->before_count; i++) {
        const struct ledger_row *r = &p->before[i];

        if (is_known(p->vault.ledger, r))
            continue;
        missing++;
        cli_complain("serve", 1, "process %d (%.*s) cannot be picked up", r->pid, LEDGER_ID_BYTES,
                     r->id);
    }
    fprintf(stderr, "picked up %zu process%s\n", p->before_count - missing,
            p->before_count - missing == 1 ? "" : "es");
    free(p->before);
    p->before = NULL;
    p->before_count = 0;
}

void pickup_fini(struct pickup *p)
{
    vault_client_close(&p->vault);
    free(p->before);
    p->before = NULL;
}
