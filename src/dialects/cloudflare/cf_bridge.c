/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge.c - the bridge's sandboxes and sessions, and their terminals. Layer: dialects.
 */
#include "dialects/cloudflare/cf_bridge.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"
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

json_t *bridge_decode(struct http_request *rq, const struct json_field *fields, size_t count,
                      void *target)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len > 0 ? json_parse(text, len, &err) : json_object();

    if (body != NULL && json_decode_known(body, fields, count, target, &err) == 0)
        return body;
    json_decref(body);
    bridge_error(rq, 400, "invalid_request", err.detail);
    return NULL;
}

/* --- create sandboxes and sessions ------------------------------------------------------------ */

struct cf_bridge_creation {
    struct call call;
    struct cf_want want;
};

static void creation_release(struct call *c)
{
    cf_want_cancel(&((struct cf_bridge_creation *)c)->want);
}

static const struct call_kind creation_kind = {.release = creation_release};

/* The client knows a session without its sandbox, whose name has no dot. */
static void creation_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_bridge_creation *m = arg;
    const char *dot;
    struct json_out o;

    if (s == NULL) {
        call_fail(&m->call, err);
        return;
    }
    dot = strchr(session_id(s), '.');
    o = dialect_reply_open(m->call.base);
    json_kstr(&o, "id", dot != NULL ? dot + 1 : session_id(s));
    call_send(&m->call, 200, &o);
}

static void creation_begin(struct http_request *rq, const struct cf_session_request *request)
{
    struct cf_bridge_creation *m = call_begin(rq, &creation_kind, sizeof *m);

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
    json_auto_t *body = bridge_decode(rq, NULL, 0, NULL);
    char id[2 * SANDBOX_ID_BYTES];
    const struct cf_session_request request = {.id = id};

    if (body == NULL)
        return;
    random_id(id);
    creation_begin(rq, &request);
}

#define FIELD(n, k, m) CF_FIELD(struct cf_session_request, n, k, m, )

void cf_bridge_session_create(struct http_request *rq)
{
    static const struct json_field fields[] = {FIELD("id", STR, id), FIELD("cwd", STR, cwd),
                                               FIELD("env", OBJECT, env)};
    struct cf_session_request request = {0};
    const char *sandbox = bridge_sandbox(rq), *name;
    json_auto_t *body =
        sandbox == NULL ? NULL : bridge_decode(rq, fields, CF_COUNT(fields), &request);
    char made[2 * SANDBOX_ID_BYTES], id[BRIDGE_ID_BYTES];

    if (body == NULL)
        return;
    random_id(made);
    name = request.id != NULL ? request.id : made;
    request.id = bridge_session(rq, sandbox, name, id);
    if (request.id != NULL)
        creation_begin(rq, &request);
}

/* --- delete sandboxes and sessions ------------------------------------------------------------ */

struct cf_bridge_deletion {
    struct call call;
    size_t open;
};

/* The engine calls back for each session. */
static const struct call_kind deletion_kind = {.stays = true};

static void deletion_on_one(void *arg, const struct survivors *v, size_t ended)
{
    struct cf_bridge_deletion *d = arg;

    (void)v, (void)ended;
    if (--d->open == 0)
        call_send_empty(&d->call, 204);
}

static void deletion_add(struct cf_bridge_deletion *d, struct session *s)
{
    d->open++;
    session_delete(s, -1, deletion_on_one, d);
}

static bool is_of(const char *session, const char *sandbox)
{
    size_t len = strlen(sandbox);

    return strncmp(session, sandbox, len) == 0 && (session[len] == '\0' || session[len] == '.');
}

void cf_bridge_delete(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq);
    struct engine *e = dialect_base_of(rq)->engine;
    struct session *s, *next;
    struct cf_bridge_deletion *d;

    if (sandbox == NULL)
        return;
    d = call_begin(rq, &deletion_kind, sizeof *d);
    d->open = 1; /* for this loop, so that it does not finish before */
    for (s = session_next(e, NULL); s != NULL; s = next) {
        next = session_next(e, s);
        if (is_of(session_id(s), sandbox))
            deletion_add(d, s);
    }
    deletion_on_one(d, NULL, 0);
}

void cf_bridge_session_delete(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq);
    char id[BRIDGE_ID_BYTES];
    struct session *s;

    if (sandbox == NULL || bridge_session(rq, sandbox, http_param(rq, "session"), id) == NULL)
        return;
    s = session_find(dialect_base_of(rq)->engine, id, NULL);
    if (s != NULL)
        deletion_add(call_begin(rq, &deletion_kind, sizeof(struct cf_bridge_deletion)), s);
    else
        bridge_error(rq, 404, "session_not_found", "no such session");
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
