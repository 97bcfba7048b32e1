/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_ticket.c - POST /v1/tickets: a link that logs a browser in, once. Layer: dialects.
 */
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "transport/auth.h"

struct create_ticket_body {
    const char *role;
};

static const struct json_field body_fields[] = {JSON_FIELD(STR, struct create_ticket_body, role)};

/* No body means a ticket with all rights of the caller. */
static int tickets_decode(struct http_request *rq, enum role *role, struct hf_error *err)
{
    static const char *const roles[] = {"own", "type", "watch", NULL}; /* from ROLE_OWN down */
    json_auto_t *tree = NULL;
    struct create_ticket_body b = {0};
    size_t len;
    int i;

    *role = http_role(rq);
    http_body(rq, &len);
    if (len == 0)
        return 0;
    tree = native_decode_json(rq, err);
    if (tree == NULL || json_decode(tree, body_fields, 1, &b, err) < 0)
        return -1;
    if (b.role == NULL)
        return 0;
    i = check_word(b.role, "role", roles, err);
    *role = (enum role)(ROLE_OWN - i);
    return i < 0 ? i : 0;
}

static int tickets_make(struct http_request *rq, enum role role, char *ticket, int64_t *expires_ms,
                        struct hf_error *err)
{
    int rc = auth_ticket_new(native_of(rq)->auth, role, http_token(rq), AUTH_TICKET_MS, ticket,
                             expires_ms);

    if (rc < 0) {
        hf_fail(err, HF_E_too_many_tickets,
                "%d tickets are already open; use them or wait until they expire",
                AUTH_TICKETS_MAX);
        err->limit = "tickets";
    }
    return rc;
}

int tickets_handle(struct http_request *rq, struct hf_error *err)
{
    enum role role;
    char ticket[AUTH_TICKET_BYTES], url[64] = "/?ticket=";
    int64_t expires_ms = 0;
    struct json_out o;

    if (tickets_decode(rq, &role, err) < 0 || tickets_make(rq, role, ticket, &expires_ms, err) < 0)
        return -1;
    strncat(url, ticket, sizeof url - strlen(url) - 1);
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "ticket", ticket);
    json_kstr(&o, "url", url);
    json_kstr(&o, "role", http_role_name(role));
    json_ktime(&o, "expires_at", expires_ms);
    dialect_reply_send(rq, 201, &o);
    /* A ticket is a secret for a minute: wipe it from the scratch buffer. */
    buf_wipe(o.buf);
    hf_wipe(ticket, sizeof ticket);
    hf_wipe(url, sizeof url);
    return 0;
}
