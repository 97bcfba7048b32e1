/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_decode.c - decodes requests: bodies, directories, and which PTY or session. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/opencode/opencode.h"
#include "transport/url_query.h"

/* --- bodies ----------------------------------------------------------------------- */

json_t *oc_body(struct http_request *rq, bool may_be_absent)
{
    struct hf_error err;
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body;

    if (len == 0 && may_be_absent)
        return json_object();
    body = json_parse(text, len, &err);
    if (body == NULL) {
        oc_invalid(rq, "Payload", len == 0 ? "Expected object, got undefined" : err.detail);
    } else if (!json_is_object(body)) {
        oc_invalid(rq, "Payload", "Expected object");
        json_decref(body);
        body = NULL;
    }
    return body;
}

bool oc_limit(struct http_request *rq, int64_t *out)
{
    const char *text = http_query(rq, "limit");

    if (text == NULL || text_to_i64(text, 0, INT32_MAX, out))
        return true;
    oc_invalid(rq, "Query", "Expected a number\n  at [\"limit\"]");
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
    struct hf_error err;
    struct process_view v;
    struct process *p;

    if (strncmp(id, "pty", 3) != 0 && !is_ours(id)) {
        snprintf(message, sizeof message,
                 "Expected a string starting with \"pty\", got \"%.60s\"\n  at [\"ptyID\"]", id);
        oc_invalid(rq, "Params", message);
        return NULL;
    }
    p = find(oc_of(rq), id);
    if (p != NULL) {
        process_view(p, &v);
        if (oc_is_visible(&v, oc_directory(rq, directory)) && (v.running || oc_is_api(rq)))
            return p;
    }
    hf_fail(&err, HF_E_no_such_process, "there is no such PTY");
    oc_error(rq, &err);
    return NULL;
}

struct session *oc_session(struct http_request *rq)
{
    struct hf_error err;
    struct session *s = session_find(oc_of(rq)->base.engine, http_param(rq, "id"), &err);

    if (s == NULL)
        oc_error(rq, &err);
    return s;
}
