/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_page.c - GET /: logs a browser in by its ticket, and serves the page. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/page/page_file.h"
#include "transport/auth.h"

/*
 * A browser gets the page, which finds the secret still in its address and explains that the link
 * is no longer valid; a program gets the problem document.
 */
static void page_refuse(struct http_request *rq, const char *detail)
{
    struct hf_error err;

    if (page_file_is_there() && http_wants(rq, "text/html")) {
        http_add_header(rq, "Cache-Control", "no-store");
        page_file_send(rq, 401);
        return;
    }
    hf_fail(&err, HF_E_unauthorized, "%s", detail);
    http_reply_error(rq, &err);
}

/* Redirects to the page without the ticket, so that it does not stay in the history. */
static void page_enter(struct http_request *rq, const char *ticket)
{
    struct native *n = native_of(rq);
    uint32_t token = 0;
    enum role role = auth_ticket_spend(n->auth, ticket, &token);
    char cookie[256];

    if (role == ROLE_NONE) {
        page_refuse(rq, "this link was already used or has expired; request a new one");
        return;
    }
    auth_cookie(n->auth, role, token, http_is_tls(rq) || n->info.secure_cookie, cookie);
    http_add_header(rq, "Set-Cookie", cookie);
    http_add_header(rq, "Location", "/");
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    http_reply_empty(rq, 303);
    hf_wipe(cookie, sizeof cookie);
}

/* A link may be opened again, and leads to the page of one process. */
static void page_follow_link(struct http_request *rq, const char *secret)
{
    struct native *n = native_of(rq);
    char cookie[AUTH_LINK_COOKIE_MAX], grant[AUTH_GRANT_MAX + 1], where[64];
    bool secure = http_is_tls(rq) || n->info.secure_cookie;

    if (auth_link_open(n->auth, secret, secure, cookie, grant) == ROLE_NONE) {
        page_refuse(rq, "this link was revoked, has expired or is used up; request a new one");
        return;
    }
    snprintf(where, sizeof where, "/#proc_%.20s", grant);
    http_add_header(rq, "Set-Cookie", cookie);
    http_add_header(rq, "Location", where);
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    http_reply_empty(rq, 303);
    hf_wipe(cookie, sizeof cookie);
}

void page_handle(struct http_request *rq)
{
    const char *ticket = http_query(rq, "ticket"), *link = http_query(rq, "link");

    /* A HEAD, which some programs send before they open a link, does not use the ticket up. */
    if (ticket != NULL && http_method(rq) == HTTP_GET_M) {
        page_enter(rq, ticket);
        return;
    }
    if (link != NULL && http_method(rq) == HTTP_GET_M) {
        page_follow_link(rq, link);
        return;
    }
    page_file_send(rq, 200);
}

bool native_has_page(void)
{
    return page_file_is_there();
}
