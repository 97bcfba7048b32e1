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
#include "cli/dialects_built_in.h"
#include "dialects/common/dialect_base.h"

#define DECLARE(name) extern const struct dialect name##_dialect;
DIALECTS_BUILT_IN(DECLARE)

#define ENTRY(name) &name##_dialect,
const struct dialect *const dialects_all[] = {DIALECTS_BUILT_IN(ENTRY) NULL};

static const char *const left_out[] = {DIALECTS_LEFT_OUT NULL};

_Static_assert(sizeof dialects_all / sizeof *dialects_all <= DIALECTS_MAX + 1,
               "DIALECTS_MAX is too small");

struct dialects {
    struct dialect_base *self[DIALECTS_MAX]; /* NULL: not enabled */
};

int dialect_find(const char *name, size_t len)
{
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (strlen(dialects_all[i]->name) == len && memcmp(dialects_all[i]->name, name, len) == 0)
            return i;
    return -1;
}

void dialects_print_names(char *out, size_t size, bool with_port)
{
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; dialects_all[i] != NULL && len < size; i++)
        if (!with_port || dialects_all[i]->port != 0)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? ", " : "",
                                    dialects_all[i]->name);
}

static bool is_left_out(const char *name, size_t len)
{
    for (int i = 0; left_out[i] != NULL; i++)
        if (strlen(left_out[i]) == len && memcmp(left_out[i], name, len) == 0)
            return true;
    return false;
}

static int unknown(const char *text, size_t len, struct hf_error *err)
{
    char names[DIALECTS_NAMES_BYTES];
    const char *why = is_left_out(text, len) ? "this dialect is not built in" : "unknown dialect";

    dialects_print_names(names, sizeof names, true);
    return hf_fail(err, HF_E_bad_value, "--dialect %.100s: %s; available: %s", text, why,
                   names[0] != '\0' ? names : "none in this build");
}

static int no_listener(const struct dialect *d, const char *text, struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_value,
                   "--dialect %.100s: this dialect has no address of its own; it is always served "
                   "at %s",
                   text, d->prefix);
}

int dialect_parse(const char *text, int *which, char *address, struct hf_error *err)
{
    size_t len = strcspn(text, "=");
    int found = dialect_find(text, len);

    if (found < 0)
        return unknown(text, len, err);
    if (dialects_all[found]->port == 0)
        return no_listener(dialects_all[found], text, err);
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
        http_server_mount(server, &d->self[i]->table);
    }
    return d;
}

const struct route_table *dialects_routes(const struct dialects *d, int which)
{
    return &d->self[which]->table;
}

void dialects_refuse_new(struct dialects *d)
{
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (d->self[i] != NULL)
            d->self[i]->closed = true;
}

void dialects_drain(struct dialects *d)
{
    for (int i = 0; dialects_all[i] != NULL; i++)
        if (d->self[i] != NULL)
            dialect_drain(d->self[i]);
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
