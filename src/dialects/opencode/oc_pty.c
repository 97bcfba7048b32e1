/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_pty.c - PTYs: their JSON, list, get, create and update. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/start_call.h"
#include "dialects/opencode/oc_body_decode.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"
#include "engine/journal/units.h"

/* --- the object ------------------------------------------------------------------- */

json_t *oc_meta(const char *metadata_json)
{
    json_auto_t *all = NULL;

    if (metadata_json == NULL || strstr(metadata_json, "\"opencode\"") == NULL)
        return NULL;
    all = json_parse(metadata_json, strlen(metadata_json), NULL);
    return json_incref(json_object_get(all, "opencode"));
}

const char *oc_meta_text(const json_t *meta, const char *key)
{
    return json_string_value(json_object_get(meta, key));
}

struct json_out oc_meta_open(struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kopen(&o, "opencode", '{');
    return o;
}

const char *oc_meta_close(struct json_out *o)
{
    json_close(o, '}');
    json_close(o, '}');
    return buf_cstr(o->buf);
}

bool oc_is_visible(const struct process_view *v, const char *directory)
{
    json_auto_t *meta = oc_meta(v->metadata_json);
    const char *own = oc_meta_text(meta, "directory");

    return own == NULL || strcmp(own, directory) == 0;
}

static void write_title(struct json_out *o, const struct process_view *v, const char *id)
{
    char title[32];

    snprintf(title, sizeof title, "Terminal %s", id + strlen(id) - 4);
    json_kstr(o, "title", v->label != NULL && v->label[0] != '\0' ? v->label : title);
}

void oc_write_pty(struct json_out *o, struct process *p, bool created)
{
    struct process_view v;
    bool running;
    char id[OC_ID_BYTES];

    process_view(p, &v);
    running = v.running || created;
    oc_pty_id(&v, id);
    json_open(o, '{');
    json_kstr(o, "id", id);
    write_title(o, &v, id);
    json_kstr(o, "command", v.command);
    json_kopen(o, "args", '[');
    for (size_t i = 0; i < v.arg_count; i++)
        json_str(o, v.args[i]);
    json_close(o, ']');
    json_kstr(o, "cwd", v.cwd != NULL ? v.cwd : "");
    json_kstr(o, "status", running ? "running" : "exited");
    json_kint(o, "pid", v.pid);
    if (!running && v.exit->exit_code >= 0)
        json_kint(o, "exitCode", v.exit->exit_code);
    json_close(o, '}');
}

/* --- replies of both surfaces ---------------------------------------------------------- */

static void reply_pty(struct http_request *rq, struct process *p)
{
    struct json_out o = oc_reply_open(rq);

    oc_data_open(rq, &o);
    oc_write_pty(&o, p, false);
    oc_data_send(rq, &o);
}

void oc_pty_list(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct json_out o = oc_reply_open(rq);
    char directory[PATH_MAX];
    struct process *p = NULL;

    oc_directory(rq, directory);
    oc_data_open(rq, &o);
    json_open(&o, '[');
    while ((p = engine_next(oc->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.pty && (v.running || oc_is_api(rq)) && oc_is_visible(&v, directory))
            oc_write_pty(&o, p, false);
    }
    json_close(&o, ']');
    oc_data_send(rq, &o);
}

void oc_pty_get(struct http_request *rq)
{
    struct process *p = oc_process(rq);

    if (p != NULL)
        reply_pty(rq, p);
}

void oc_pty_token(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    const char *guard = http_header(rq, "x-opencode-ticket");
    struct process_view v;
    struct json_out o;
    char ticket[37];

    if (p == NULL)
        return;
    /* A page of another site cannot send this header without a preflight request. */
    if (guard == NULL || strcmp(guard, "1") != 0) {
        oc_tagged(rq, 403, "PtyForbiddenError", NULL, NULL, "Invalid PTY connect token request");
        return;
    }
    process_view(p, &v);
    oc_ticket_new(rq, v.id, ticket);
    o = oc_reply_open(rq);
    oc_data_open(rq, &o);
    json_open(&o, '{');
    json_kstr(&o, "ticket", ticket);
    json_kint(&o, "expires_in", OC_TICKET_MS / 1000);
    json_close(&o, '}');
    oc_data_send(rq, &o);
}

/* --- create --------------------------------------------------------------------------- */

static void creation_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p == NULL) {
        http_reply_error(rq, err);
        return;
    }
    (void)units_end(process_journal(p)); /* counted from its first byte */
    reply_pty(rq, p);
}

/* What the body leaves out; shell: PATH_MAX. */
static void set_defaults(struct oc_pty_request *a, const char *directory, char *shell)
{
    struct spawn_spec *s = &a->spec;

    if (s->command == NULL || s->command[0] == '\0')
        s->command = oc_shell(shell);
    if (oc_is_shell(s->command))
        a->args[s->arg_count++] = "-l";
    if (s->cwd == NULL || s->cwd[0] == '\0')
        s->cwd = directory;
    s->pty = true;
    s->rows = 24;
    s->cols = 80;
    s->history_bytes = OC_RING_BYTES;
}

void oc_pty_create(struct http_request *rq)
{
    json_auto_t *body = oc_body(rq, true); /* create({}) of the SDK sends none */
    const struct start_call_options o = {.done = creation_done};
    char shell[PATH_MAX], directory[PATH_MAX];
    struct buf metadata = {0};
    struct oc_pty_request a;
    struct hf_error err;
    struct json_out m;

    if (body == NULL)
        return;
    if (oc_pty_request_decode(&a, body, &err) < 0) {
        http_reply_error(rq, &err);
    } else {
        m = oc_meta_open(&metadata);
        json_kstr(&m, "directory", oc_directory(rq, directory));
        a.spec.metadata_json = oc_meta_close(&m);
        set_defaults(&a, directory, shell);
        start_call_begin(rq, &a.spec, &o);
    }
    oc_pty_request_fini(&a);
    buf_fini(&metadata);
}

/* --- update ----------------------------------------------------------------------------- */

/* An exited PTY has no size any more, and its clients are not notified. */
static int update(struct process *p, const json_t *body, struct hf_error *err)
{
    struct oc_pty_change c;
    int rc = oc_pty_change_decode(&c, body, err);

    if (rc == 0 && c.sized && process_is_running(p))
        rc = process_resize(p, c.rows, c.cols, "api", err);
    if (rc < 0 || c.title == NULL || c.title[0] == '\0')
        return rc;
    return process_patch(p, &(struct process_patch){.label = c.title}, err);
}

void oc_pty_update(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    json_auto_t *body = p == NULL ? NULL : oc_body(rq, true);
    struct hf_error err;

    if (body == NULL)
        return;
    if (update(p, body, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    oc_publish_pty(oc_of(rq), "pty.updated", p);
    reply_pty(rq, p);
}
