/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_page.c - GET /: logs a browser in by its ticket or link, and serves the page; and POST
 * /v1/tickets
 *
 * web/ builds one compressed file, and the policy that names the hashes of its script and its style
 * sheet, so that a browser runs nothing else. A binary that was built without npm has neither: the
 * symbols are weak, and a page of a few lines replaces them. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/embed.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/page/packed_file.h"
#include "transport/auth.h"

#define GZIP_TRAILER_BYTES 8

static const char page_type[] = "text/html; charset=utf-8";

static const char no_page[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>holdfast</title>\n"
    "</head>\n"
    "<body>\n"
    "<h1>holdfast</h1>\n"
    "<p>This is the process and terminal daemon of this machine. It serves an API; the page "
    "for browsers is not in this binary, because npm was not available when it was built. "
    "To build it, run <code>scripts/setup start</code>, then <code>make</code>.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">openapi.json</a>: every call and its replies</li>\n"
    "<li><a href=\"/v1/processes\">processes</a></li>\n"
    "<li><a href=\"/v1/info\">version, limits and features</a></li>\n"
    "<li><a href=\"/metrics\">metrics</a></li>\n"
    "</ul>\n"
    "<p>All of them require a token, or the cookie that a one-time link sets "
    "(<code>POST /v1/tickets</code>).</p>\n"
    "</body>\n"
    "</html>\n";

/* Size of the compressed page; 0: not in this binary. */
static size_t page_bytes(void)
{
    uintptr_t start = (uintptr_t)embed_page_html_gz_start;
    size_t len = (size_t)((uintptr_t)embed_page_html_gz_end - start);

    return start != 0 && len > GZIP_TRAILER_BYTES ? len : 0;
}

bool native_has_page(void)
{
    return page_bytes() > 0;
}

static void page_send(struct http_request *rq, int status)
{
    static struct packed_file page;
    size_t len = page_bytes();

    http_add_header(rq, "Content-Security-Policy",
                    len > 0 ? embed_page_csp_start
                            : "default-src 'none'; base-uri 'none'; form-action 'none'; "
                              "frame-ancestors 'none'");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    if (len == 0) {
        http_reply_lent(rq, status, page_type, no_page, sizeof no_page - 1);
        return;
    }
    packed_file_reply(rq, status, page_type, &page, embed_page_html_gz_start,
                      embed_page_html_gz_start + len);
}

/* --- tickets ------------------------------------------------------------------------------ */

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

/* --- logging in --------------------------------------------------------------------------- */

/*
 * A browser gets the page, which finds the secret still in its address and explains that the link
 * is no longer valid; a program gets the problem document.
 */
static void page_refuse(struct http_request *rq, const char *detail)
{
    struct hf_error err;

    if (native_has_page() && http_wants(rq, "text/html")) {
        http_add_header(rq, "Cache-Control", "no-store");
        page_send(rq, 401);
        return;
    }
    hf_fail(&err, HF_E_unauthorized, "%s", detail);
    http_reply_error(rq, &err);
}

static void page_redirect(struct http_request *rq, const char *cookie, const char *where)
{
    http_add_header(rq, "Set-Cookie", cookie);
    http_add_header(rq, "Location", where);
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    http_reply_empty(rq, 303);
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
    page_redirect(rq, cookie, "/");
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
    page_redirect(rq, cookie, where);
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
    page_send(rq, 200);
}
