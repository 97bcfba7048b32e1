/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_ticket.c - single-use tickets: authenticate a browser's WebSocket without a password
 *
 * A ticket is bound to a PTY, a directory and a workspace; used for anything else it is refused,
 * and not consumed. Tickets live a minute and end with the worker: a client that is refused
 * requests another. Layer: dialects.
 */
#include "dialects/opencode/opencode.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "dialects/opencode/opencode_limits.h"

struct oc_ticket {
    struct list link;
    char text[37];
    char *process, *directory, *workspace;
    enum role role;
    uint32_t token; /* that requested it; auth.h */
    uint64_t until_ms;
};

static void ticket_free(struct oc *oc, struct oc_ticket *t)
{
    list_remove(&t->link);
    oc->ticket_count--;
    free(t->process);
    free(t->directory);
    free(t->workspace);
    free(t);
}

void oc_tickets_free(struct oc *oc)
{
    while (!list_is_empty(&oc->tickets))
        ticket_free(oc, list_entry(oc->tickets.next, struct oc_ticket, link));
}

/* They are ordered by expiry. */
static void drop_old(struct oc *oc)
{
    uint64_t now = clock_mono_ms();

    while (!list_is_empty(&oc->tickets)) {
        struct oc_ticket *t = list_entry(oc->tickets.next, struct oc_ticket, link);

        if (t->until_ms > now && oc->ticket_count < LIMIT_OC_TICKETS)
            return;
        ticket_free(oc, t);
    }
}

void oc_ticket_new(struct http_request *rq, const char *process, char out[37])
{
    struct oc *oc = oc_of(rq);
    struct oc_ticket *t = hf_xalloc(sizeof *t);
    char directory[PATH_MAX];

    drop_old(oc);
    oc_uuid(t->text);
    memcpy(out, t->text, sizeof t->text);
    t->process = hf_xstrdup(process);
    t->directory = hf_xstrdup(oc_directory(rq, directory));
    t->workspace = hf_xstrdup(oc_workspace(rq));
    t->role = http_role(rq);
    t->token = http_token(rq);
    t->until_ms = clock_mono_ms() + OC_TICKET_MS;
    list_append(&oc->tickets, &t->link);
    oc->ticket_count++;
}

static struct oc_ticket *find(struct oc *oc, const char *text)
{
    struct list *it, *tmp;

    if (text == NULL || strlen(text) != 36)
        return NULL;
    list_for_each (it, tmp, &oc->tickets) {
        struct oc_ticket *t = list_entry(it, struct oc_ticket, link);

        if (crypto_equal(t->text, text, 36))
            return t->until_ms > clock_mono_ms() ? t : NULL;
    }
    return NULL;
}

/* Valid for the connect call only; that call checks whether it matches the PTY. */
enum role oc_ticket_role(const struct http_request *rq, struct auth_grant *g)
{
    const char *path = http_path(rq);
    size_t len = strlen(path);
    const struct oc_ticket *t;

    if (len < 8 || strcmp(path + len - 8, "/connect") != 0)
        return ROLE_NONE;
    t = find(oc_of(rq), http_query(rq, "ticket"));
    g->token = t != NULL ? t->token : 0;
    return t != NULL ? t->role : ROLE_NONE;
}

bool oc_ticket_spend(const struct http_request *rq, const char *process)
{
    struct oc *oc = oc_of(rq);
    struct oc_ticket *t = find(oc, http_query(rq, "ticket"));
    char directory[PATH_MAX];

    if (t == NULL || strcmp(t->process, process) != 0 ||
        strcmp(t->directory, oc_directory(rq, directory)) != 0 ||
        strcmp(t->workspace, oc_workspace(rq)) != 0)
        return false;
    ticket_free(oc, t);
    return true;
}
