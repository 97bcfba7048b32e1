/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_reply.c - bodies, replies and errors in execd's format
 *
 * The odd status codes are deliberate: clients distinguish "execd refused" from "execd is down" by
 * them. Every error has a body, because the SDK takes an empty one for success. Layer: dialects.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/opensandbox/osb.h"

/* --- replies ------------------------------------------------------------------ */

void osb_refuse(struct http_request *rq, int status, const char *code, const char *message)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&j, "code", code);
    json_kstr(&j, "message", message);
    dialect_reply_send(rq, status, &j);
}

void osb_call_refuse(struct call *c, int status, const char *code, const char *message)
{
    if (c->rq != NULL)
        osb_refuse(c->rq, status, code, message);
    c->rq = NULL;
    call_end(c);
}

/* execd's reply has a shape of its own; that of the control plane has not. */
static void refuse_token(struct http_request *rq)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));
    const char *path = http_path(rq);

    if (strstr(path, "/v1/sandboxes") != NULL && strstr(path, "/proxy/") == NULL) {
        json_kstr(&j, "code", "UNAUTHORIZED");
        json_kstr(&j, "message", "the API key is missing or not valid");
        dialect_reply_send(rq, 401, &j);
        return;
    }
    json_kstr(&j, "error", "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN");
    dialect_reply_send(rq, 401, &j);
}

/* After two slashes a browser reads a host name, and it treats a backslash as a slash. */
static bool names_host(const char *path)
{
    return path[0] == '/' && (path[1] == '/' || path[1] == '\\');
}

/* A path with a duplicate slash is redirected to the one without; all others are not found. */
static void refuse_path(struct http_request *rq)
{
    static const char text[] = "404 page not found";
    const char *path = http_path(rq), *query = http_query_raw(rq);
    size_t len = strlen(path);
    struct buf to = {0};

    if (len < 2 || path[len - 1] != '/' || path[len - 2] == '/' || names_host(path)) {
        http_reply(rq, 404, OSB_TEXT, text, sizeof text - 1);
        return;
    }
    buf_put(&to, path, len - 1);
    if (*query != '\0')
        buf_printf(&to, "?%s", query);
    http_add_header(rq, "Location", buf_cstr(&to));
    http_reply_empty(rq, http_method(rq) == HTTP_GET_M ? 301 : 307);
    buf_fini(&to);
}

static const char *code_of(enum hf_code code, int status)
{
    switch (code) {
    case HF_E_bad_query: return "INVALID_QUERY";
    case HF_E_no_such_process:
    case HF_E_no_such_session: return "CONTEXT_NOT_FOUND";
    case HF_E_forbidden:
    case HF_E_host_refused:
    case HF_E_origin_refused: return "FORBIDDEN";
    case HF_E_not_implemented: return "NOT_SUPPORTED";
    case HF_E_too_many_processes:
    case HF_E_too_many_sessions:
    case HF_E_too_many_commands:
    case HF_E_too_many_viewers: return "RUNTIME_ERROR";
    default: return status < 500 ? "INVALID_REQUEST_BODY" : "RUNTIME_ERROR";
    }
}

void osb_error(struct http_request *rq, const struct hf_error *err)
{
    static const char text[] = "Bad Request\n";
    int status = hf_code_status(err->code);

    switch (err->code) {
    case HF_E_unauthorized: refuse_token(rq); return;
    case HF_E_not_found:
    case HF_E_method_not_allowed: refuse_path(rq); return;
    case HF_E_upgrade_required: http_reply(rq, 400, OSB_TEXT, text, sizeof text - 1); return;
    case HF_E_spawn_failed:
    case HF_E_user_unknown: status = 500; break;
    default: break;
    }
    osb_refuse(rq, status, code_of(err->code, status), err->detail);
}

bool osb_is_open(struct http_request *rq)
{
    if (!dialect_base_of(rq)->draining)
        return true;
    osb_refuse(rq, 503, "RUNTIME_ERROR", "the daemon is shutting down; try again in a moment");
    return false;
}

/* --- decoding requests ----------------------------------------------------------- */

json_t *osb_body(struct http_request *rq)
{
    struct hf_error err;
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len == 0 ? json_object() : json_parse(text, len, &err);

    if (body == NULL) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", err.detail);
    } else if (!json_is_object(body)) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", "the body must be an object");
        json_decref(body);
        body = NULL;
    }
    return body;
}

/* --- processes ---------------------------------------------------------------------- */

struct process *osb_find(const struct http_request *rq, const char *id, struct hf_error *err)
{
    static const char *const prefixes[] = {"", "tag:", "pid:"};
    struct process *p = NULL;

    for (size_t i = 0; p == NULL && i < sizeof prefixes / sizeof *prefixes; i++) {
        char ref[LIMIT_TAG_BYTES + 8];

        if ((size_t)snprintf(ref, sizeof ref, "%s%s", prefixes[i], id) < sizeof ref)
            p = engine_find(dialect_base_of(rq)->engine, ref, err);
    }
    if (p == NULL)
        hf_fail(err, HF_E_no_such_process, "no process '%.64s'", id);
    return p;
}

struct process *osb_process(struct http_request *rq)
{
    struct hf_error err = {0};
    struct process *p = osb_find(rq, http_param(rq, "id"), &err);

    if (p == NULL)
        osb_error(rq, &err);
    return p;
}

bool osb_is(const struct process_view *v, const char *kind)
{
    json_auto_t *meta = json_parse(v->metadata_json, strlen(v->metadata_json), NULL);
    const char *is = json_string_value(json_object_get(meta, "opensandbox"));

    return is != NULL && strcmp(is, kind) == 0;
}

const char *osb_shell(void)
{
    const char *path = getenv("PATH");
    char file[4096];

    if (path == NULL)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path != '\0') {
        size_t len = strcspn(path, ":");

        if (len > 0 && len < sizeof file - 8) {
            snprintf(file, sizeof file, "%.*s/bash", (int)len, path);
            if (access(file, X_OK) == 0)
                return "bash";
        }
        path += len + (path[len] == ':');
    }
    return "sh";
}

bool osb_end_words(const struct exit_record *x, char *out)
{
    static const char *const names[] = {
        [SIGHUP] = "hangup",
        [SIGINT] = "interrupt",
        [SIGQUIT] = "quit",
        [SIGILL] = "illegal instruction",
        [SIGTRAP] = "trace/breakpoint trap",
        [SIGABRT] = "aborted",
        [SIGBUS] = "bus error",
        [SIGFPE] = "floating point exception",
        [SIGKILL] = "killed",
        [SIGUSR1] = "user defined signal 1",
        [SIGSEGV] = "segmentation fault",
        [SIGUSR2] = "user defined signal 2",
        [SIGPIPE] = "broken pipe",
        [SIGALRM] = "alarm clock",
        [SIGTERM] = "terminated",
    };
    const int known = sizeof names / sizeof *names;

    if (x->code >= 0)
        snprintf(out, OSB_END_BYTES, "exit status %d", x->code);
    else if (x->signum <= 0)
        snprintf(out, OSB_END_BYTES, "exit status unknown");
    else if (x->signum < known && names[x->signum] != NULL)
        snprintf(out, OSB_END_BYTES, "signal: %s%s", names[x->signum],
                 x->core_dumped ? " (core dumped)" : "");
    else
        snprintf(out, OSB_END_BYTES, "signal: signal %d", x->signum);
    return x->code != 0;
}
