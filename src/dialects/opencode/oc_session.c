/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_session.c - sessions: their JSON, create, list, get, rename, delete, status. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dialects/opencode/oc_body_decode.h"
#include "dialects/opencode/opencode.h"

/* --- the object ---------------------------------------------------------------------- */

const char *oc_session_directory(const struct oc *oc, const struct session *s)
{
    const char *cwd = session_definition(s)->cwd;

    return cwd != NULL ? cwd : oc->cwd;
}

/* A process of the session that /shell or /command started. */
static bool is_command_of(struct session *s, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.session_id != NULL && strcmp(v.session_id, session_id(s)) == 0 &&
           strstr(v.metadata_json, "\"opencode\"") != NULL;
}

bool oc_session_is_busy(const struct oc *oc, struct session *s)
{
    struct process *p = NULL;

    if (session_is_busy(s))
        return true;
    while ((p = engine_next(oc->base.engine, p)) != NULL)
        if (process_is_running(p) && is_command_of(s, p))
            return true;
    return false;
}

static int64_t updated_ms(const struct oc *oc, struct session *s)
{
    int64_t last = session_created_ms(s);
    struct session_command c;
    struct process *p = NULL;

    if (session_log_last(session_commands(s), &c) && c.begin.started_wall_ms > last)
        last = c.begin.started_wall_ms;
    while ((p = engine_next(oc->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.created_ms > last && is_command_of(s, p))
            last = v.created_ms;
    }
    return last;
}

static void write_title(struct json_out *o, struct session *s, const json_t *meta)
{
    const char *title = oc_meta_text(meta, "title");
    char text[64] = "New session - ";

    clock_rfc3339(session_created_ms(s), text + strlen(text));
    json_kstr(o, "title", title != NULL ? title : text);
}

void oc_write_session(struct json_out *o, struct oc *oc, struct session *s)
{
    const char *id = session_id(s), *directory = oc_session_directory(oc, s);
    json_auto_t *meta = oc_meta(session_metadata(s));
    size_t len = strlen(id);

    json_open(o, '{');
    json_kstr(o, "id", id);
    json_kstr(o, "slug", id + (len > 12 ? len - 12 : 0));
    json_kstr(o, "projectID", "global");
    json_kstr(o, "directory", directory);
    json_kstr(o, "path", directory[0] == '/' ? directory + 1 : directory);
    if (oc_meta_text(meta, "parentID") != NULL)
        json_kstr(o, "parentID", oc_meta_text(meta, "parentID"));
    oc_write_tokens(o);
    write_title(o, s, meta);
    json_kstr(o, "version", OC_VERSION);
    json_kopen(o, "time", '{');
    json_kint(o, "created", session_created_ms(s));
    json_kint(o, "updated", updated_ms(oc, s));
    json_close(o, '}');
    json_close(o, '}');
}

static void reply_session(struct http_request *rq, struct session *s)
{
    struct json_out o = oc_reply_open(rq);

    oc_write_session(&o, oc_of(rq), s);
    oc_send(rq, &o);
}

/* --- create ----------------------------------------------------------------------------- */

/* It finishes soon, and a shutdown waits for it. */
static const struct call_kind creation_kind = {.stays = true};

static void creation_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct http_request *rq = call_end(arg);

    if (rq != NULL && s != NULL)
        reply_session(rq, s);
    else if (rq != NULL)
        http_reply_error(rq, err);
}

static const char *put_metadata(struct buf *out, const char *title, const char *parent)
{
    struct json_out o = oc_meta_open(out);

    if (title != NULL)
        json_kstr(&o, "title", title);
    if (parent != NULL)
        json_kstr(&o, "parentID", parent);
    return oc_meta_close(&o);
}

void oc_session_create(struct http_request *rq)
{
    json_auto_t *body = oc_body(rq, true);
    char id[OC_ID_BYTES], directory[PATH_MAX];
    struct oc_session_request a = {0};
    struct buf metadata = {0};
    struct session_spec spec = {.id = id};
    struct hf_error err;
    struct call *c;

    if (body == NULL)
        return;
    if (oc_session_request_decode(&a, body, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    oc_new_id("ses", true, id);
    spec.cwd = oc_directory(rq, directory);
    spec.metadata = put_metadata(&metadata, a.title, a.parent);
    c = call_begin(rq, &creation_kind, sizeof *c);
    if (session_create(oc_of(rq)->base.engine, &spec, creation_done, c, &err) < 0)
        creation_done(c, NULL, &err);
    buf_fini(&metadata);
}

/* --- get and list -------------------------------------------------------------------------- */

static void write_list(struct http_request *rq, int64_t limit, const char *directory,
                       const char *parent)
{
    struct oc *oc = oc_of(rq);
    struct json_out o = oc_reply_open(rq);
    struct session *s = NULL;

    json_open(&o, '[');
    while (limit > 0 && (s = session_next(oc->base.engine, s)) != NULL) {
        json_auto_t *meta = oc_meta(session_metadata(s));
        const char *own = oc_meta_text(meta, "parentID");

        if ((directory != NULL && strcmp(directory, oc_session_directory(oc, s)) != 0) ||
            (parent != NULL && (own == NULL || strcmp(own, parent) != 0)))
            continue;
        oc_write_session(&o, oc, s);
        limit--;
    }
    json_close(&o, ']');
    oc_send(rq, &o);
}

void oc_session_list(struct http_request *rq)
{
    char directory[PATH_MAX];
    int64_t limit = INT32_MAX;

    if (oc_limit(rq, &limit))
        write_list(rq, limit, oc_names_directory(rq) ? oc_directory(rq, directory) : NULL, NULL);
}

void oc_session_children(struct http_request *rq)
{
    struct session *s = oc_session(rq);

    if (s != NULL)
        write_list(rq, INT32_MAX, NULL, session_id(s));
}

void oc_session_get(struct http_request *rq)
{
    struct session *s = oc_session(rq);

    if (s != NULL)
        reply_session(rq, s);
}

void oc_session_status(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct json_out o = oc_reply_open(rq);
    struct session *s = NULL;

    json_open(&o, '{');
    while ((s = session_next(oc->base.engine, s)) != NULL) {
        if (!oc_session_is_busy(oc, s))
            continue;
        json_kopen(&o, session_id(s), '{');
        json_kstr(&o, "type", "busy");
        json_close(&o, '}');
    }
    json_close(&o, '}');
    oc_send(rq, &o);
}

void oc_session_update(struct http_request *rq)
{
    struct session *s = oc_session(rq);
    json_auto_t *body = s == NULL ? NULL : oc_body(rq, false);
    json_auto_t *meta = s == NULL ? NULL : oc_meta(session_metadata(s));
    struct oc_session_request a = {.title = oc_meta_text(meta, "title")};
    struct buf metadata = {0};
    struct hf_error err;
    const char *text;
    int rc;

    if (body == NULL)
        return;
    rc = oc_session_request_decode(&a, body, &err);
    /* The parent never changes. */
    text = put_metadata(&metadata, a.title, oc_meta_text(meta, "parentID"));
    if (rc < 0 || session_set_metadata(s, text, &err) < 0) {
        http_reply_error(rq, &err);
    } else {
        oc_publish_session(oc_of(rq), "session.updated", s);
        reply_session(rq, s);
    }
    buf_fini(&metadata);
}

/* --- delete -------------------------------------------------------------------------------- */

struct deletion {
    struct call call;
    struct session *session; /* NULL: it is deleted */
};

static void deletion_release(struct call *c)
{
    struct deletion *d = list_entry(c, struct deletion, call);

    if (d->session != NULL)
        session_delete_leave(d->session, d);
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static const struct call_kind deletion_kind = {
    .release = deletion_release,
    .stays = true,
    .drain_text = OC_CONTINUES,
};

static void deletion_done(void *arg, const struct survivors *v, size_t ended)
{
    struct deletion *d = arg;
    struct http_request *rq;

    (void)v, (void)ended;
    d->session = NULL;
    rq = call_end(&d->call);
    if (rq != NULL)
        oc_send_json(rq, "true");
}

void oc_session_delete(struct http_request *rq)
{
    struct session *s = oc_session(rq);
    struct deletion *d;

    if (s == NULL)
        return;
    d = call_begin(rq, &deletion_kind, sizeof *d);
    d->session = s;
    session_delete(s, -1, deletion_done, d);
}
