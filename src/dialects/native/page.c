/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - GET /: lets a browser in by its ticket, and says what this is. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/native/context.h"
#include "dialects/native/handlers.h"
#include "transport/auth.h"

static const char page[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>holdfast</title>\n"
    "</head>\n"
    "<body>\n"
    "<h1>holdfast</h1>\n"
    "<p>This is the process and terminal daemon of this machine. It serves an API; "
    "a page to use it from a browser is not part of this version.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">openapi.json</a>: every call and its answers</li>\n"
    "<li><a href=\"/v1/processes\">processes</a></li>\n"
    "<li><a href=\"/v1/info\">version, limits and features</a></li>\n"
    "<li><a href=\"/metrics\">metrics</a></li>\n"
    "</ul>\n"
    "<p>All of them ask for a token, or for the cookie that a one-time link sets "
    "(<code>POST /v1/tickets</code>).</p>\n"
    "</body>\n"
    "</html>\n";

static void add_page_headers(struct http_request *rq)
{
    http_add_header(rq, "Content-Security-Policy",
                    "default-src 'none'; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
}

/* The answer leads to the page without the ticket, so that it stays in no history. */
static void page_enter(struct http_request *rq, const char *ticket)
{
    struct native *n = native_of(rq);
    enum role role = auth_ticket_spend(n->auth, ticket);
    char cookie[256];
    struct hf_error err;

    if (role == ROLE_NONE) {
        hf_fail(&err, HF_E_unauthorized,
                "this link was used already or is too old; ask for a new one");
        http_reply_error(rq, &err);
        return;
    }
    auth_cookie(n->auth, role, http_is_tls(rq) || n->info.secure_cookie, cookie);
    http_add_header(rq, "Set-Cookie", cookie);
    http_add_header(rq, "Location", "/");
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    http_reply_empty(rq, 303);
    hf_wipe(cookie, sizeof cookie);
}

/* A link may be opened again, and the page behind it is that of one process. */
static void page_follow_link(struct http_request *rq, const char *secret)
{
    struct native *n = native_of(rq);
    char cookie[AUTH_LINK_COOKIE_MAX], grant[AUTH_GRANT_MAX + 1], where[64];
    bool secure = http_is_tls(rq) || n->info.secure_cookie;
    struct hf_error err;

    if (auth_link_open(n->auth, secret, secure, cookie, grant) == ROLE_NONE) {
        hf_fail(&err, HF_E_unauthorized,
                "this link was revoked, has ended or is used up; ask for a new one");
        http_reply_error(rq, &err);
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

    /* A HEAD, as some programs send before they open a link, does not use it up. */
    if (ticket != NULL && http_method(rq) == HTTP_GET_M) {
        page_enter(rq, ticket);
        return;
    }
    if (link != NULL && http_method(rq) == HTTP_GET_M) {
        page_follow_link(rq, link);
        return;
    }
    add_page_headers(rq);
    http_reply(rq, 200, "text/html; charset=utf-8", page, sizeof page - 1);
}
