/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_confine.c - confines the gateway's workers
 *
 * A worker rereads a file of sandboxes and a Kubernetes API token while it serves, and only root
 * may be able to read them. Such a worker keeps the capability to read files, which Landlock limits
 * to their directories. Only root can connect to Docker's unix socket, so a worker that uses it
 * stays root. The parent stays root, too: it rereads the token files on SIGHUP, and has no
 * connections. Layer: cli.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/gateway_command.h"
#include "gateway/kube_config.h"

#define DIRS_MAX 3

struct read_dirs {
    char names[DIRS_MAX][PATH_MAX];
    const char *list[DIRS_MAX + 1];
    size_t count;
};

static void add_dir(struct read_dirs *d, const char *dir)
{
    snprintf(d->names[d->count], PATH_MAX, "%s", dir);
    d->list[d->count] = d->names[d->count];
    d->count++;
}

/* The directory of a file, and that of the file it links to. */
static void add_dirs_of(struct read_dirs *d, const char *file, size_t len)
{
    char path[PATH_MAX], real[PATH_MAX], *slash;

    snprintf(path, sizeof path, "%.*s", (int)len, file);
    if (realpath(path, real) != NULL && (slash = strrchr(real, '/')) != NULL) {
        *slash = '\0';
        add_dir(d, slash == real ? "/" : real);
    }
    slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
    add_dir(d, slash == NULL ? "." : slash == path ? "/" : path);
}

static void find_read_dirs(const char *resolver, struct read_dirs *d)
{
    const char *token = strstr(resolver, "token_file=");

    if (strncmp(resolver, "file:", 5) == 0)
        add_dirs_of(d, resolver + 5, strlen(resolver + 5));
    if (strncmp(resolver, "kubernetes:", 11) != 0)
        return;
    add_dir(d, KUBE_SECRETS);
    if (token != NULL)
        add_dirs_of(d, token + 11, strcspn(token + 11, "&"));
}

static bool is_unix(const char *url)
{
    return url != NULL && strstr(url, "unix:") != NULL;
}

static bool needs_root(const struct gateway_cli *cli)
{
    bool docker =
        strncmp(cli->to.resolver, "docker:", 7) == 0 && strstr(cli->to.resolver, "://") == NULL;

    return docker || is_unix(cli->to.resolver) || is_unix(cli->to.auth_hook);
}

static int find_user(struct gateway_run *run)
{
    const struct gateway_cli *cli = &run->cli;
    const char *name = cli->worker_user != NULL ? cli->worker_user
                       : needs_root(cli)        ? "root"
                                                : CONFINE_UID;
    struct hf_error err = {0};
    int rc = opt_worker_ids(name, &run->worker_uid, &run->worker_gid, &err);

    return rc < 0 ? -cli_complain("gateway", EINVAL, "%s", err.detail) : 0;
}

static struct confine_plan plan_of(const struct gateway_run *run, struct read_dirs *d)
{
    find_read_dirs(run->cli.to.resolver, d);
    return (struct confine_plan){
        .role = CONFINE_GATEWAY,
        .off = run->cli.confine_off,
        .uid = run->worker_uid,
        .gid = run->worker_gid,
        .read_files = d->count > 0,
        .read_paths = d->list,
    };
}

int gateway_confine(const struct gateway_run *run, bool report)
{
    struct read_dirs dirs = {.count = 0};
    struct confine_plan plan = plan_of(run, &dirs);

    return confine_self(&plan, report);
}

int gateway_confine_check(struct gateway_run *run)
{
    struct read_dirs dirs = {.count = 0};
    struct confine_plan plan;
    int rc = find_user(run);

    if (rc < 0)
        return rc;
    plan = plan_of(run, &dirs);
    return confine_check(&plan);
}
