/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_reply.c - replies and errors in the platform's shape, and what requests have in common
 *
 * Clients choose the class of their error by `source` and `code`, else by the status.
 * Layer: dialects.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "dialects/daytona/daytona.h"
#include "transport/router.h"
#include "transport/ws.h"

/* --- replies ------------------------------------------------------------------------ */

struct json_out dt_reply(struct dt *dt)
{
    struct json_out o;

    buf_clear(&dt->scratch);
    json_out_init(&o, &dt->scratch);
    json_open(&o, '{');
    return o;
}

void dt_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    http_reply_json(rq, status, o->buf);
}

/* --- errors ------------------------------------------------------------------------ */

static void envelope(struct http_request *rq, int status, const char *code, const char *message)
{
    struct json_out o = dt_reply(dt_of(rq));
    char method[METHODS_TEXT_BYTES];

    router_methods_text(http_method(rq), method);
    json_kint(&o, "statusCode", status);
    json_kstr(&o, "message", message);
    json_kstr(&o, "source", "DAYTONA_DAEMON");
    json_kstr(&o, "code", code);
    json_ktime(&o, "timestamp", clock_wall_ms());
    json_kstr(&o, "path", http_path(rq));
    json_kstr(&o, "method", method);
    dt_send(rq, status, &o);
}

void dt_fail(struct http_request *rq, int status, const char *code, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    envelope(rq, status, code, text);
}

static const char *code_of_status(int status)
{
    switch (status) {
    case 400: return "BAD_REQUEST";
    case 401: return "UNAUTHORIZED";
    case 403: return "FORBIDDEN";
    case 404: return "NOT_FOUND";
    case 405: return "METHOD_NOT_ALLOWED";
    case 408: return "REQUEST_TIMEOUT";
    case 409: return "CONFLICT";
    case 410: return "GONE";
    case 413: return "PAYLOAD_TOO_LARGE";
    case 422: return "UNPROCESSABLE_ENTITY";
    case 429: return "TOO_MANY_REQUESTS";
    case 503: return "SERVICE_UNAVAILABLE";
    default: return status < 500 ? "BAD_REQUEST" : "INTERNAL_SERVER_ERROR";
    }
}

static const char *code_of(enum hf_code code)
{
    switch (code) {
    case HF_E_no_such_process:
    case HF_E_no_such_session: return "PROCESS_NOT_FOUND";
    case HF_E_bad_json:
    case HF_E_bad_type:
    case HF_E_missing_field: return "INVALID_REQUEST_BODY";
    default: return code_of_status(hf_code_status(code));
    }
}

void dt_error(struct http_request *rq, const struct hf_error *err)
{
    const char *text = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);

    envelope(rq, hf_code_status(err->code), code_of(err->code), text);
}

/* --- decoding ----------------------------------------------------------------------- */

json_t *dt_body(struct http_request *rq)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len == 0 ? json_object() : json_parse(text, len, &err);

    if (body != NULL && json_is_object(body))
        return body;
    if (body != NULL) {
        json_decref(body);
        hf_fail(&err, HF_E_bad_type, "the body must be a JSON object");
    }
    dt_error(rq, &err);
    return NULL;
}

struct session *dt_session(struct http_request *rq)
{
    const char *id = http_param(rq, "session");
    struct session *s = session_find(dt_of(rq)->engine, id, NULL);

    if (s == NULL)
        dt_fail(rq, 404, "PROCESS_NOT_FOUND", "session %.100s not found", id);
    return s;
}

/* A route that is not for upgrades only has not been checked before. */
bool dt_upgrade_ok(struct http_request *rq)
{
    if (ws_version_is_ours(rq) && ws_key_is_valid(rq))
        return true;
    http_add_header(rq, "Sec-WebSocket-Version", "13");
    dt_fail(rq, 426, "BAD_REQUEST", "connect with a WebSocket of version 13");
    return false;
}

/* Never the one that carries variables: many places log a response's head. */
const char *dt_protocol(const struct http_request *rq, char out[DT_PROTOCOL_BYTES])
{
    char version[DT_PROTOCOL_BYTES];

    if (ws_is_offered(rq, DT_EXIT_CONTROL))
        return DT_EXIT_CONTROL;
    if (dt_decode_offered_version(ws_offered(rq), version) == NULL)
        return NULL;
    snprintf(out, DT_PROTOCOL_BYTES, DT_VERSION_PROTOCOL "%.80s", version);
    return out;
}

enum dt_split dt_split_of(const struct http_request *rq)
{
    const char *version = http_header(rq, "X-Daytona-SDK-Version");
    char offered[DT_PROTOCOL_BYTES];

    if (version == NULL && http_is_websocket(rq))
        version = dt_decode_offered_version(ws_offered(rq), offered);
    return dt_split_for(version, http_header(rq, "X-Daytona-Split-Output"));
}
