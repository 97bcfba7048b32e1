/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.c - `holdfast stop` and `holdfast restart`. Layer: cli.
 */
#include "cli/builtin_commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "cli/options.h"
#include "cli/optparse.h"
#include "cli/vault_client.h"

/* A trial, a worker that leaves, and a binary that fails to start, with some margin. */
#define RESTART_MS (LIMIT_UPGRADE_CHECK_MS + VAULT_LEAVE_MS + VAULT_WELL_MS)
#define NAMES_MAX 32 /* vaults of one user to list when --listen is missing */

struct stop_cli {
    const char *listen;
    bool keep;
};

#define OPT_ARGS struct stop_cli
#define LISTEN_ROW                                                                                 \
    OPT_TEXT("--listen", 0, listen, "ADDRESS",                                                     \
             "the first address of the daemon (" SERVE_LISTEN_DEFAULT                              \
             ", else the only daemon that is running)")

static const struct opt stop_rows[] = {
    LISTEN_ROW,
    OPT_FLAG("--keep", 0, keep,
             "stop the daemon but keep its processes; the next holdfast serve picks them up"),
};
static const struct opt restart_rows[] = {LISTEN_ROW};

static const struct opt_table stop_table = {
    .command = "stop",
    OPT_ROWS(stop_rows),
    .usage = "[OPTION...]",
    .about = "Stops this user's daemon and terminates all its processes, or with --keep stops\n"
             "only the daemon.\n",
};
static const struct opt_table restart_table = {
    .command = "restart",
    OPT_ROWS(restart_rows),
    .usage = "[OPTION...]",
    .about = "Restarts the daemon with the binary that is now at its path. Its processes keep "
             "running.\n",
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "es";
}

/* --- which daemon ----------------------------------------------------------------------------- */

/* No daemon listens at the default address: uses the only other one, or prints an error. */
static int choose(const struct opt_table *t, char name[LISTEN_NAME_BYTES])
{
    char names[NAMES_MAX][LISTEN_NAME_BYTES];
    size_t count = vault_client_names(names, NAMES_MAX);

    if (count == 1) {
        memcpy(name, names[0], LISTEN_NAME_BYTES);
        return 0;
    }
    if (count == 0)
        return cli_complain(t->command, 1, "no daemon of this user is running");
    cli_complain(t->command, 1, "several daemons are running; choose one with --listen ADDRESS:");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  %s\n", names[i]);
    return 1;
}

static int connect_failed(const struct opt_table *t, const char *name, int rc)
{
    if (rc == -ECONNREFUSED)
        return cli_complain(t->command, 1, "no daemon of this user is running at %s", name);
    if (rc == -EPIPE || rc == -ECONNRESET)
        return cli_complain(
            t->command, 1,
            "the daemon at %s closed the connection; processes that it runs are not "
            "allowed to control it",
            name);
    return cli_complain(t->command, 1, "cannot reach the daemon at %s: %s", name, strerror(-rc));
}

/* 0 or an exit code. */
static int find(const struct opt_table *t, const struct stop_cli *o, struct vault_client *out,
                char name[LISTEN_NAME_BYTES])
{
    int rc = listen_name(o->listen != NULL ? o->listen : SERVE_LISTEN_DEFAULT, name);

    if (rc < 0)
        return optparse_complain(t->command, "not the address of a daemon:", o->listen);
    rc = vault_client_open(out, name);
    if (rc == -ECONNREFUSED && o->listen == NULL) {
        if (choose(t, name) != 0)
            return 1;
        rc = vault_client_open(out, name);
    }
    return rc < 0 ? connect_failed(t, name, rc) : 0;
}

/* What a command does with the daemon that it has found; returns the exit code. */
typedef int stop_fn(const struct stop_cli *o, struct vault_client *c, const char *name);

static int run(const struct opt_table *t, int argc, char **argv, stop_fn *fn)
{
    char name[LISTEN_NAME_BYTES];
    struct stop_cli o = {0};
    struct vault_client c = {.fd = -1};
    int rc = opt_table_parse(t, argc, argv, &o);

    if (rc >= 0)
        return rc;
    rc = find(t, &o, &c, name);
    if (rc == 0)
        rc = fn(&o, &c, name);
    vault_client_close(&c);
    return rc;
}

/* --- stop ------------------------------------------------------------------------------------- */

static int daemon_failed(const struct opt_table *t, const char *name, const char *what)
{
    return cli_complain(t->command, 1, "the daemon at %s %s", name, what);
}

static int print_held(size_t count)
{
    if (count == 0)
        puts("stopped; no process was running");
    else
        printf("stopped; %zu process%s still running; \"holdfast serve\" picks %s up, "
               "\"holdfast stop\" terminates %s\n",
               count, plural(count), count == 1 ? "it" : "them", count == 1 ? "it" : "them");
    return fflush(stdout) == 0 ? 0 : 1;
}

static int stop_keep(struct vault_client *c, const char *name)
{
    int rc;

    if (c->status.phase == V_ENDING)
        return daemon_failed(&stop_table, name, "is already shutting down");
    rc = c->status.phase == V_HOLDING ? 0 : vault_client_send(c, V_LEAVE);
    if (rc == 0)
        rc = vault_client_wait_phase(c, V_HOLDING, NULL, VAULT_LEAVE_MS);
    if (rc < 0)
        return daemon_failed(&stop_table, name, "ended unexpectedly");
    if (rc == 0)
        return daemon_failed(&stop_table, name, "did not stop in time");
    return print_held(vault_client_running(c));
}

/* The daemon's --grace-ms says how long processes have. */
static int stop_all(struct vault_client *c, const char *name)
{
    size_t count = vault_client_running(c);
    int rc = vault_client_send(c, V_STOP);

    if (rc == 0)
        rc = vault_client_wait_phase(c, V_ENDED, NULL, -1);
    if (rc < 0)
        return daemon_failed(&stop_table, name, "ended unexpectedly");
    if (c->status.status != 0)
        return cli_complain(stop_table.command, 1,
                            "the daemon at %s ended with code %d; see its log", name,
                            c->status.status);
    printf("stopped; %zu process%s terminated\n", count, plural(count));
    return fflush(stdout) == 0 ? 0 : 1;
}

static int stop(const struct stop_cli *o, struct vault_client *c, const char *name)
{
    return o->keep ? stop_keep(c, name) : stop_all(c, name);
}

int stop_main(int argc, char **argv)
{
    return run(&stop_table, argc, argv, stop);
}

/* --- restart ---------------------------------------------------------------------------------- */

static int restart(const struct stop_cli *o, struct vault_client *c, const char *name)
{
    struct v_message before;
    size_t count;
    int rc;

    (void)o;
    if (c->status.phase == V_HOLDING || c->status.phase == V_LEAVING)
        return daemon_failed(
            &restart_table, name,
            "is stopped, and its processes keep running; start it with holdfast serve");
    if (c->status.phase == V_ENDING)
        return daemon_failed(&restart_table, name, "is shutting down");
    rc = vault_client_wait_phase(c, V_SERVING, NULL, RESTART_MS);
    before = c->status;
    count = vault_client_running(c);
    if (rc > 0)
        rc = vault_client_send(c, V_UPGRADE);
    if (rc == 0)
        rc = vault_client_wait_phase(c, V_SERVING, &before, RESTART_MS);
    if (rc < 0)
        return daemon_failed(&restart_table, name, "ended unexpectedly");
    if (rc == 0)
        return daemon_failed(&restart_table, name, "did not restart in time; see its log");
    if (c->status.upgrades == before.upgrades && c->status.late != before.late)
        return daemon_failed(&restart_table, name,
                             "keeps running the old binary: the one at its path did not serve in "
                             "time; try again, or see its log");
    if (c->status.upgrades == before.upgrades)
        return daemon_failed(&restart_table, name,
                             "keeps running the old binary: the one at its path cannot "
                             "take over; see its log");
    printf("restarted; %zu process%s kept running\n", count, plural(count));
    return fflush(stdout) == 0 ? 0 : 1;
}

int stop_restart_main(int argc, char **argv)
{
    return run(&restart_table, argc, argv, restart);
}
