/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_ticket.c - tickets: what a browser's WebSocket shows in place of a token, which it cannot send
 *
 * A client requests a ticket with its token and shows it once in the query, within a minute.
 * Tickets are lost with the worker: a client that is refused requests another. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"

#define RANDOM_BYTES 20
#define TEXT_BYTES 32 /* of them in base32 */

struct dt_ticket {
    struct list link;
    char text[DT_TICKET_BYTES];
    enum role role;
    uint32_t token; /* that requested it; auth.h */
    uint64_t until_ms;
};

static void ticket_free(struct dt *dt, struct dt_ticket *t)
{
    list_remove(&t->link);
    dt->ticket_count--;
    free(t);
}

void dt_tickets_free(struct dt *dt)
{
    while (!list_is_empty(&dt->tickets))
        ticket_free(dt, list_entry(dt->tickets.next, struct dt_ticket, link));
}

/* They are ordered by expiry. */
static void drop_old(struct dt *dt)
{
    uint64_t now = clock_mono_ms();

    while (!list_is_empty(&dt->tickets)) {
        struct dt_ticket *t = list_entry(dt->tickets.next, struct dt_ticket, link);

        if (t->until_ms > now && dt->ticket_count < LIMIT_DT_TICKETS)
            return;
        ticket_free(dt, t);
    }
}

void dt_ticket_new(struct http_request *rq, char out[DT_TICKET_BYTES])
{
    struct dt *dt = dt_of(rq);
    struct dt_ticket *t = hf_xalloc(sizeof *t);
    uint8_t raw[RANDOM_BYTES];

    drop_old(dt);
    crypto_random(raw, sizeof raw);
    base32_encode(t->text, raw, sizeof raw);
    memcpy(out, t->text, sizeof t->text);
    t->role = http_role(rq);
    t->token = http_token(rq);
    t->until_ms = clock_mono_ms() + DT_TICKET_MS;
    list_append(&dt->tickets, &t->link);
    dt->ticket_count++;
}

/* Called once for each request, so the ticket is spent here. */
enum role dt_ticket_role(const struct http_request *rq, struct auth_grant *g)
{
    const char *text = http_query(rq, "DAYTONA_SANDBOX_AUTH_KEY");
    struct dt *dt = dt_of(rq);
    struct list *it, *tmp;
    enum role role;

    if (text == NULL || strlen(text) != TEXT_BYTES)
        return ROLE_NONE;
    list_for_each (it, tmp, &dt->tickets) {
        struct dt_ticket *t = list_entry(it, struct dt_ticket, link);

        if (!crypto_equal(t->text, text, TEXT_BYTES))
            continue;
        role = t->until_ms > clock_mono_ms() ? t->role : ROLE_NONE;
        g->token = t->token;
        ticket_free(dt, t);
        return role;
    }
    return ROLE_NONE;
}
