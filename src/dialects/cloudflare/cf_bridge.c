/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge.c - the bridge's sandboxes and sessions, and their terminals. Layer: dialects.
 */
#include "dialects/cloudflare/cf_bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_pty.h"
#include "dialects/common/call.h"

#define SANDBOX_ID_BYTES 10 /* random bytes: 16 characters */

/* --- errors and decoding ---------------------------------------------------------------------- */

void bridge_error(struct http_request *rq, int status, const char *code, const char *message)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "error", message);
    json_kstr(&o, "code", code);
    dialect_reply_send(rq, status, &o);
}

void bridge_fail(struct http_request *rq, const struct hf_error *err)
{
    int status = hf_code_status(err->code);
    const char *code = hf_code_name(err->code);

    if (err->code == HF_E_spawn_failed || err->code == HF_E_no_pty)
        status = 502, code = "exec_transport_error";
    bridge_error(rq, status, code, err->detail);
}

static bool is_name(const char *text, const char *letters)
{
    size_t len = strlen(text);

    return len >= 1 && len <= BRIDGE_NAME_MAX && strspn(text, letters) == len;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* The real bridge accepts base32 only; the clients accept a little more. */
const char *bridge_sandbox(struct http_request *rq)
{
    const char *id = http_param(rq, "id");

    if (is_name(id, LETTERS))
        return id;
    bridge_error(rq, 400, "invalid_request", "not a valid sandbox id");
    return NULL;
}

const char *bridge_session(struct http_request *rq, const char *sandbox, const char *name,
                           char out[BRIDGE_ID_BYTES])
{
    if (!is_name(name, LETTERS ".") || strstr(name, "..") != NULL ||
        strlen(sandbox) + strlen(name) + 1 > BRIDGE_NAME_MAX) {
        bridge_error(rq, 400, "invalid_request", "not a valid session id");
        return NULL;
    }
    snprintf(out, BRIDGE_ID_BYTES, "%s.%s", sandbox, name);
    return out;
}

json_t *bridge_body(struct http_request *rq)
{
    struct hf_error err;
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len > 0 ? json_parse(text, len, &err) : json_object();

    if (json_is_object(body))
        return body;
    json_decref(body);
    bridge_error(rq, 400, "invalid_request", "the body must be a JSON object");
    return NULL;
}

/* --- create sandboxes and sessions ------------------------------------------------------------ */

struct cf_bridge_creation {
    struct call call;
    struct cf_want want;
    char *id; /* the name that the client knows */
};

static void creation_release(struct call *c)
{
    struct cf_bridge_creation *m = (struct cf_bridge_creation *)c;

    cf_want_cancel(&m->want);
    free(m->id);
}

static const struct call_kind creation_kind = {.release = creation_release};

static void creation_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_bridge_creation *m = arg;
    struct json_out o;

    if (s == NULL) {
        bridge_fail(call_end(&m->call), err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(m->call.rq));
    json_kstr(&o, "id", m->id);
    call_send(&m->call, 200, &o);
}

static void creation_begin(struct http_request *rq, const struct cf_session_request *request,
                           const char *id)
{
    struct cf_bridge_creation *m = call_begin(rq, &creation_kind, sizeof *m);

    m->id = hf_xstrdup(id);
    m->want = (struct cf_want){.fn = creation_done, .arg = m};
    cf_session_make(cf_of(rq), request, &m->want);
}

static void random_id(char out[2 * SANDBOX_ID_BYTES])
{
    uint8_t raw[SANDBOX_ID_BYTES];

    crypto_random(raw, sizeof raw);
    base32_encode(out, raw, sizeof raw);
}

void cf_bridge_create(struct http_request *rq)
{
    json_auto_t *body = bridge_body(rq);
    char id[2 * SANDBOX_ID_BYTES];
    const struct cf_session_request request = {.id = id};

    if (body == NULL)
        return;
    random_id(id);
    creation_begin(rq, &request, id);
}

/* If present, it must be a string or null. */
static bool is_text(const json_t *v)
{
    return v == NULL || json_is_null(v) ||
           (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v));
}

void cf_bridge_session_create(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq), *name;
    json_auto_t *body = sandbox == NULL ? NULL : bridge_body(rq);
    const json_t *requested = json_object_get(body, "id"), *cwd = json_object_get(body, "cwd");
    char made[2 * SANDBOX_ID_BYTES], id[BRIDGE_ID_BYTES];
    struct cf_session_request request = {.cwd = json_string_value(cwd)};

    if (body == NULL)
        return;
    request.env = json_object_get(body, "env");
    if (json_is_null(request.env))
        request.env = NULL;
    if (!is_text(requested) || !is_text(cwd) ||
        (request.env != NULL && !json_is_object(request.env))) {
        bridge_error(rq, 400, "invalid_request",
                     "id and cwd must be strings, env an object of strings");
        return;
    }
    random_id(made);
    name = json_is_string(requested) ? json_string_value(requested) : made;
    request.id = bridge_session(rq, sandbox, name, id);
    if (request.id != NULL)
        creation_begin(rq, &request, name);
}

/* --- delete sandboxes and sessions ------------------------------------------------------------ */

struct cf_bridge_deletion {
    struct pending pending;  /* in cf.works: the engine calls back for each session */
    struct http_request *rq; /* NULL: the client has disconnected */
    size_t open;
    int status;
};

static void deletion_free(struct pending *p)
{
    pending_fini(p);
    free(list_entry(p, struct cf_bridge_deletion, pending));
}

static const struct pending_kind deletion_kind = {.drain = NULL, .free = deletion_free};

static void deletion_on_disconnect(void *user)
{
    ((struct cf_bridge_deletion *)user)->rq = NULL;
}

static void deletion_on_one(void *arg, const struct survivors *v, size_t ended)
{
    struct cf_bridge_deletion *d = arg;

    (void)v, (void)ended;
    if (--d->open > 0)
        return;
    if (d->rq != NULL)
        http_reply_empty(d->rq, d->status);
    deletion_free(&d->pending);
}

static struct cf_bridge_deletion *deletion_new(struct http_request *rq)
{
    struct cf_bridge_deletion *d = hf_xalloc(sizeof *d);

    d->rq = rq;
    d->status = 204;
    d->open = 1; /* so that it does not finish while it is being filled */
    pending_init(&d->pending, &cf_of(rq)->works, &deletion_kind);
    http_set_user(rq, d, deletion_on_disconnect);
    return d;
}

static bool is_of(const char *session, const char *sandbox)
{
    size_t len = strlen(sandbox);

    return strncmp(session, sandbox, len) == 0 && (session[len] == '\0' || session[len] == '.');
}

void cf_bridge_delete(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq);
    struct cf *cf = cf_of(rq);
    struct session *s = NULL;
    struct cf_bridge_deletion *d;

    if (sandbox == NULL)
        return;
    d = deletion_new(rq);
    for (s = session_next(cf->base.engine, NULL); s != NULL;) {
        struct session *next = session_next(cf->base.engine, s);

        if (is_of(session_id(s), sandbox)) {
            d->open++;
            session_delete(s, -1, deletion_on_one, d);
        }
        s = next;
    }
    deletion_on_one(d, NULL, 0);
}

void cf_bridge_session_delete(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq);
    char id[BRIDGE_ID_BYTES];
    struct cf_bridge_deletion *d;
    struct session *s;

    if (sandbox == NULL || bridge_session(rq, sandbox, http_param(rq, "session"), id) == NULL)
        return;
    s = session_find(cf_of(rq)->base.engine, id, NULL);
    if (s == NULL) {
        bridge_error(rq, 404, "session_not_found", "no such session");
        return;
    }
    d = deletion_new(rq);
    session_delete(s, -1, deletion_on_one, d);
}

/* --- running, terminals ----------------------------------------------------------------------- */

void cf_bridge_running(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq);
    struct json_out o;

    if (sandbox == NULL)
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kbool(&o, "running", session_find(cf_of(rq)->base.engine, sandbox, NULL) != NULL);
    dialect_reply_send(rq, 200, &o);
}

/*
 * The original shares one shell among all connections without a session, so that several commands
 * of an agent type into each other. Here each connection has its own.
 */
void cf_bridge_pty(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq), *name = http_query(rq, "session");
    char id[BRIDGE_ID_BYTES];

    if (sandbox == NULL)
        return;
    if (name == NULL)
        name = http_header(rq, "Session-Id");
    if (name == NULL)
        cf_pty_alone(rq, sandbox);
    else if (bridge_session(rq, sandbox, name, id) != NULL)
        cf_pty_session(rq, id);
}
