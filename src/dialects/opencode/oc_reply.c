/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_reply.c - replies, and errors in the formats of both surfaces. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/opencode/opencode.h"

struct json_out oc_reply_open(struct oc *oc)
{
    struct json_out o;

    buf_clear(&oc->base.scratch);
    json_out_init(&o, &oc->base.scratch);
    return o;
}

void oc_send(struct http_request *rq, int status, const struct json_out *o)
{
    http_reply_json(rq, status, o->buf);
}

void oc_send_true(struct http_request *rq)
{
    struct json_out o = oc_reply_open(oc_of(rq));

    json_bool(&o, true);
    oc_send(rq, 200, &o);
}

bool oc_is_api(const struct http_request *rq)
{
    const struct oc *oc = oc_of(rq);
    const char *path = http_path(rq);
    size_t len = strlen(oc->base.table.prefix);

    if (strncmp(path, oc->base.table.prefix, len) == 0)
        path += len;
    return strncmp(path, "/api/", 5) == 0;
}

/* --- errors ------------------------------------------------------------------------- */

static void named(struct http_request *rq, int status, const char *name, const char *message,
                  const char *kind)
{
    struct json_out o = oc_reply_open(oc_of(rq));

    json_open(&o, '{');
    json_kstr(&o, "name", name);
    json_kopen(&o, "data", '{');
    json_kstr(&o, "message", message);
    if (kind != NULL)
        json_kstr(&o, "kind", kind);
    json_close(&o, '}');
    json_close(&o, '}');
    oc_send(rq, status, &o);
}

void oc_named(struct http_request *rq, int status, const char *name, const char *message)
{
    named(rq, status, name, message, NULL);
}

void oc_tagged(struct http_request *rq, int status, const char *tag, const char *key,
               const char *value, const char *message)
{
    struct json_out o = oc_reply_open(oc_of(rq));

    json_open(&o, '{');
    json_kstr(&o, "_tag", tag);
    if (key != NULL)
        json_kstr(&o, key, value);
    json_kstr(&o, "message", message);
    json_close(&o, '}');
    oc_send(rq, status, &o);
}

static void invalid(struct http_request *rq, int status, const char *kind, const char *message)
{
    if (oc_is_api(rq))
        oc_tagged(rq, status, "InvalidRequestError", "kind", kind, message);
    else
        named(rq, status, "BadRequest", message, kind);
}

void oc_invalid(struct http_request *rq, const char *kind, const char *message)
{
    invalid(rq, 400, kind, message);
}

static void unknown_pty(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    char text[200];

    if (http_is_websocket(rq)) {
        http_reply_empty(rq, 404);
        return;
    }
    snprintf(text, sizeof text, "PTY session not found: %.100s", id != NULL ? id : "");
    oc_tagged(rq, 404, "PtyNotFoundError", "ptyID", id, text);
}

static void unknown_session(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    char text[200];

    snprintf(text, sizeof text, "Session not found: %.100s", id != NULL ? id : "");
    oc_named(rq, 404, "NotFoundError", text);
}

/* A 401 on the WebSocket makes browsers drop their password, so a bad ticket is a 403. */
static void unauthorized(struct http_request *rq)
{
    if (http_is_websocket(rq) && http_query(rq, "ticket") != NULL) {
        http_reply_empty(rq, 403);
        return;
    }
    http_add_header(rq, "WWW-Authenticate", "Basic realm=\"Secure Area\"");
    http_reply_empty(rq, 401);
}

void oc_error(struct http_request *rq, const struct hf_error *err)
{
    int status = hf_code_status(err->code);

    switch (err->code) {
    case HF_E_unauthorized: unauthorized(rq); return;
    case HF_E_no_such_process: unknown_pty(rq); return;
    case HF_E_no_such_session: unknown_session(rq); return;
    case HF_E_upgrade_required: http_reply_empty(rq, 400); return;
    case HF_E_bad_query: invalid(rq, 400, "Query", err->detail); return;
    case HF_E_spawn_failed:
    case HF_E_user_unknown: oc_invalid(rq, "Payload", err->detail); return;
    default: break;
    }
    if (http_is_websocket(rq))
        http_reply_empty(rq, status);
    else if (status == 404)
        oc_named(rq, 404, "NotFoundError", err->detail);
    else if (status == 400 || status == 413)
        invalid(rq, status, "Payload", err->detail);
    else
        oc_named(rq, status, status < 500 ? hf_code_name(err->code) : "UnknownError", err->detail);
}
