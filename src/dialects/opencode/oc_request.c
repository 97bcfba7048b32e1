/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_request.c - decodes requests, and writes replies and errors in the formats of both surfaces
 *
 * Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/opencode/opencode.h"
#include "transport/url_query.h"

bool oc_is_api(const struct http_request *rq)
{
    const char *path = http_path(rq), *prefix = dialect_base_of(rq)->table.prefix;
    size_t len = strlen(prefix);

    if (strncmp(path, prefix, len) == 0)
        path += len;
    return strncmp(path, "/api/", 5) == 0;
}

/* --- replies ------------------------------------------------------------------------ */

struct json_out oc_reply_open(struct http_request *rq)
{
    struct json_out o;

    buf_clear(&dialect_base_of(rq)->scratch);
    json_out_init(&o, &dialect_base_of(rq)->scratch);
    return o;
}

void oc_send_json(struct http_request *rq, const char *json)
{
    http_reply(rq, 200, "application/json", json, strlen(json));
}

/* --- errors ------------------------------------------------------------------------- */

void oc_named(struct http_request *rq, int status, const char *name, const char *message,
              const char *kind)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "name", name);
    json_kopen(&o, "data", '{');
    json_kstr(&o, "message", message);
    if (kind != NULL)
        json_kstr(&o, "kind", kind);
    json_close(&o, '}');
    dialect_reply_send(rq, status, &o);
}

void oc_tagged(struct http_request *rq, int status, const char *tag, const char *key,
               const char *value, const char *message)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "_tag", tag);
    if (key != NULL)
        json_kstr(&o, key, value);
    json_kstr(&o, "message", message);
    dialect_reply_send(rq, status, &o);
}

void oc_invalid(struct http_request *rq, int status, const char *kind, const char *message)
{
    if (oc_is_api(rq))
        oc_tagged(rq, status, "InvalidRequestError", "kind", kind, message);
    else
        oc_named(rq, status, "BadRequest", message, kind);
}

static bool is_connect(const struct http_request *rq)
{
    const char *last = strrchr(http_path(rq), '/');

    return http_is_websocket(rq) || (last != NULL && strcmp(last, "/connect") == 0);
}

static void unknown_pty(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    char text[200];

    if (is_connect(rq)) {
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
    oc_named(rq, 404, "NotFoundError", text, NULL);
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
    case HF_E_bad_query: oc_invalid(rq, 400, "Query", err->detail); return;
    case HF_E_spawn_failed:
    case HF_E_user_unknown: oc_invalid(rq, 400, "Payload", err->detail); return;
    default: break;
    }
    if (http_is_websocket(rq))
        http_reply_empty(rq, status);
    else if (status == 404)
        oc_named(rq, 404, "NotFoundError", err->detail, NULL);
    else if (status == 400 || status == 413)
        oc_invalid(rq, status, "Payload", err->detail);
    else
        oc_named(rq, status, status < 500 ? hf_code_name(err->code) : "UnknownError", err->detail,
                 NULL);
}

/* --- bodies and numbers --------------------------------------------------------------- */

json_t *oc_body(struct http_request *rq, bool may_be_absent)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len == 0 && may_be_absent ? json_object() : json_parse(text, len, &err);

    if (json_is_object(body))
        return body;
    oc_invalid(rq, 400, "Payload",
               body != NULL ? "Expected object"
               : len == 0   ? "Expected object, got undefined"
                            : err.detail);
    json_decref(body);
    return NULL;
}

bool oc_limit(struct http_request *rq, int64_t *out)
{
    const char *text = http_query(rq, "limit");

    if (text == NULL || text_to_i64(text, 0, INT32_MAX, out))
        return true;
    oc_invalid(rq, 400, "Query", "Expected a number\n  at [\"limit\"]");
    return false;
}

/* --- the directory ----------------------------------------------------------------- */

/* Some clients send it percent-encoded in a header, others in the query. */
static const char *requested_directory(const struct http_request *rq, char out[PATH_MAX])
{
    const char *text = oc_is_api(rq) ? http_query(rq, "location[directory]") : NULL;
    ssize_t n = -1;

    if (text == NULL)
        text = http_query(rq, "directory");
    if (text != NULL)
        return text;
    text = http_header(rq, "x-opencode-directory");
    if (text != NULL && strlen(text) < PATH_MAX)
        n = url_percent_decode(text, strlen(text), false, out);
    return n >= 0 ? out : text;
}

bool oc_names_directory(const struct http_request *rq)
{
    char out[PATH_MAX];
    const char *text = requested_directory(rq, out);

    return text != NULL && text[0] != '\0';
}

const char *oc_directory(const struct http_request *rq, char out[PATH_MAX])
{
    const char *text = requested_directory(rq, out);
    size_t len;

    if (text == NULL || text[0] == '\0')
        text = oc_of(rq)->cwd;
    len = strnlen(text, PATH_MAX - 1);
    memmove(out, text, len);
    while (len > 1 && out[len - 1] == '/')
        len--;
    out[len] = '\0';
    return out;
}

const char *oc_workspace(const struct http_request *rq)
{
    const char *text = oc_is_api(rq) ? http_query(rq, "location[workspace]") : NULL;

    if (text == NULL)
        text = http_query(rq, "workspace");
    if (text == NULL)
        text = http_header(rq, "x-opencode-workspace");
    return text != NULL ? text : "";
}

/* --- replies of both surfaces ----------------------------------------------------------- */

void oc_data_open(struct http_request *rq, struct json_out *o)
{
    char directory[PATH_MAX];

    if (!oc_is_api(rq))
        return;
    json_open(o, '{');
    json_kopen(o, "location", '{');
    json_kstr(o, "directory", oc_directory(rq, directory));
    json_kopen(o, "project", '{');
    json_kstr(o, "id", "global");
    json_kstr(o, "directory", "/");
    json_close(o, '}');
    json_close(o, '}');
    json_key(o, "data");
}

void oc_data_send(struct http_request *rq, struct json_out *o)
{
    if (oc_is_api(rq))
        json_close(o, '}');
    oc_send(rq, o);
}

/* --- PTYs and sessions -------------------------------------------------------------- */

/* By the platform's id or by one of ours: references of other dialects work here too. */
static struct process *find(struct oc *oc, const char *id)
{
    char own[64];

    if (strncmp(id, "pty_000000", 10) != 0)
        return engine_find(oc->base.engine, id, NULL);
    snprintf(own, sizeof own, "proc_%.40s", id + 10);
    return engine_find(oc->base.engine, own, NULL);
}

static bool is_ours(const char *id)
{
    return strncmp(id, "proc_", 5) == 0 || strncmp(id, "tag:", 4) == 0 ||
           strncmp(id, "pid:", 4) == 0;
}

/* On the older surface an exited PTY does not exist: that is how its clients detect the exit. */
struct process *oc_process(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    char directory[PATH_MAX], message[200];
    struct process_view v;
    struct process *p;

    if (strncmp(id, "pty", 3) != 0 && !is_ours(id)) {
        snprintf(message, sizeof message,
                 "Expected a string starting with \"pty\", got \"%.60s\"\n  at [\"ptyID\"]", id);
        oc_invalid(rq, 400, "Params", message);
        return NULL;
    }
    p = find(oc_of(rq), id);
    if (p != NULL) {
        process_view(p, &v);
        if (oc_is_visible(&v, oc_directory(rq, directory)) && (v.running || oc_is_api(rq)))
            return p;
    }
    dialect_fail(rq, HF_E_no_such_process, "there is no such PTY");
    return NULL;
}

struct session *oc_session(struct http_request *rq)
{
    struct hf_error err;
    struct session *s = session_find(oc_of(rq)->base.engine, http_param(rq, "id"), &err);

    if (s == NULL)
        http_reply_error(rq, &err);
    return s;
}
