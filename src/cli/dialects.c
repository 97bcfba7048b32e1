/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialects.c - the list of dialects, and how they are created and mounted. Layer: cli.
 */
#include "cli/dialects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf.h"
#include "dialects/common/dialect_base.h"
#include "dialects/daytona/daytona.h"
#include "dialects/docker/docker.h"
#include "dialects/e2b/e2b.h"
#include "dialects/fly/fly.h"
#include "dialects/gitpod/gitpod.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/sandbox-agent/agent.h"
#include "dialects/vercel/vercel.h"

/* In the order of /v1/info. */
/* clang-format off */
const struct dialect *const dialects_all[] = {
    &sandbox_agent_dialect,
    &hyperbrowser_dialect,
    &opencode_dialect,
    &e2b_dialect,
    &opensandbox_dialect,
    &cloudflare_dialect,
    &daytona_dialect,
    &docker_dialect,
    &kubernetes_dialect,
    &gitpod_dialect,
    &fly_dialect,
    &vercel_dialect,
    NULL,
};
/* clang-format on */

struct dialects {
    void *self[DIALECTS_MAX]; /* NULL: not enabled */
};

int dialect_find(const char *name, size_t len)
{
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (strlen(dialects_all[i]->name) == len && memcmp(dialects_all[i]->name, name, len) == 0)
            return i;
    return -1;
}

static int unknown(const char *text, struct hf_error *err)
{
    char names[256] = "";
    size_t len = 0;

    for (int i = 0; dialects_all[i] != NULL && len < sizeof names; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : "",
                                dialects_all[i]->name);
    return hf_fail(err, HF_E_bad_value, "--dialect %.100s: unknown dialect; available: %s", text,
                   names[0] != '\0' ? names : "none in this build");
}

int dialect_parse(const char *text, int *which, char *address, struct hf_error *err)
{
    size_t len = strcspn(text, "=");
    int found = dialect_find(text, len);

    if (found < 0)
        return unknown(text, err);
    if (text[len] == '=' &&
        (text[len + 1] == '\0' || strlen(text + len + 1) >= DIALECT_ADDRESS_BYTES))
        return hf_fail(err, HF_E_bad_value, "--dialect %.100s: the address after '=' is missing",
                       text);
    if (text[len] == '=')
        snprintf(address, DIALECT_ADDRESS_BYTES, "%s", text + len + 1);
    else
        snprintf(address, DIALECT_ADDRESS_BYTES, "127.0.0.1:%u", dialects_all[found]->port);
    *which = found;
    return 0;
}

struct dialects *dialects_new(const struct dialect_host *host, struct http_server *server,
                              const bool *wanted)
{
    struct dialects *d = hf_xalloc(sizeof *d);

    for (int i = 0; dialects_all[i] != NULL; i++) {
        if (!wanted[i])
            continue;
        d->self[i] = dialect_make(dialects_all[i], host);
        http_server_mount(server, dialect_routes(dialects_all[i], d->self[i]));
    }
    return d;
}

const struct route_table *dialects_routes(const struct dialects *d, int which)
{
    return dialect_routes(dialects_all[which], d->self[which]);
}

void dialects_drain(struct dialects *d)
{
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (d->self[i] != NULL)
            dialect_drain(dialects_all[i], d->self[i]);
}

void dialects_free(struct dialects *d)
{
    if (d == NULL)
        return;
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (d->self[i] != NULL)
            dialect_free(dialects_all[i], d->self[i]);
    free(d);
}
