/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_session.c - sessions: their JSON, create, list, get, rename, delete, status. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
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

static int64_t archived_ms(const json_t *meta)
{
    return json_integer_value(json_object_get(meta, "archived"));
}

#define TITLE_BYTES 64

/* Its own, or the usual one, written to `text`. */
static const char *title_of(struct session *s, const json_t *meta, char text[TITLE_BYTES])
{
    const char *title = oc_meta_text(meta, "title");

    if (title != NULL)
        return title;
    snprintf(text, TITLE_BYTES, "New session - ");
    clock_rfc3339(session_created_ms(s), text + strlen(text));
    return text;
}

void oc_write_session(struct json_out *o, struct oc *oc, struct session *s)
{
    const char *id = session_id(s), *directory = oc_session_directory(oc, s);
    json_auto_t *meta = oc_meta(session_metadata(s));
    char title[TITLE_BYTES];
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
    json_kstr(o, "title", title_of(s, meta, title));
    json_kstr(o, "version", OC_VERSION);
    json_kopen(o, "time", '{');
    json_kint(o, "created", session_created_ms(s));
    json_kint(o, "updated", updated_ms(oc, s));
    if (archived_ms(meta) > 0)
        json_kint(o, "archived", archived_ms(meta));
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

static const char *put_metadata(struct buf *out, const char *title, const char *parent,
                                int64_t archived)
{
    struct json_out o = oc_meta_open(out);

    if (archived > 0)
        json_kint(&o, "archived", archived);
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
    spec.metadata = put_metadata(&metadata, a.title, a.parent, 0);
    c = call_begin(rq, &creation_kind, sizeof *c);
    if (session_create(oc_of(rq)->base.engine, &spec, creation_done, c, &err) < 0)
        creation_done(c, NULL, &err);
    buf_fini(&metadata);
}

/* --- get and list -------------------------------------------------------------------------- */

/* Which sessions are listed. NULL, 0 and false: no such condition. */
struct wish {
    const char *directory, *parent, *search, *path;
    int64_t limit, start_ms;
    bool roots;
};

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);

    return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_wished(const struct oc *oc, struct session *s, const struct wish *w)
{
    json_auto_t *meta = oc_meta(session_metadata(s));
    const char *directory = oc_session_directory(oc, s), *parent = oc_meta_text(meta, "parentID");
    char title[TITLE_BYTES];

    return (w->directory == NULL || strcmp(w->directory, directory) == 0) &&
           (w->path == NULL || is_below(directory + (directory[0] == '/'), w->path)) &&
           (w->parent == NULL || (parent != NULL && strcmp(parent, w->parent) == 0)) &&
           (!w->roots || parent == NULL) &&
           (w->search == NULL || strcasestr(title_of(s, meta, title), w->search) != NULL) &&
           (w->start_ms == 0 || updated_ms(oc, s) >= w->start_ms);
}

static void write_list(struct http_request *rq, const struct wish *w)
{
    struct oc *oc = oc_of(rq);
    struct json_out o = oc_reply_open(rq);
    struct session *s = NULL;
    int64_t left = w->limit;

    json_open(&o, '[');
    while (left > 0 && (s = session_next(oc->base.engine, s)) != NULL) {
        if (!is_wished(oc, s, w))
            continue;
        oc_write_session(&o, oc, s);
        left--;
    }
    json_close(&o, ']');
    oc_send(rq, &o);
}

/* False: replied. */
static bool flag(struct http_request *rq, const char *name, bool *out)
{
    const char *text = http_query(rq, name);
    char message[120];

    *out = text_to_bool(text) == 1;
    if (text == NULL || text_to_bool(text) >= 0)
        return true;
    snprintf(message, sizeof message, "Expected \"true\" | \"false\", got \"%.40s\"\n  at [\"%s\"]",
             text, name);
    oc_invalid(rq, 400, "Query", message);
    return false;
}

static bool start_of(struct http_request *rq, int64_t *out)
{
    const char *text = http_query(rq, "start");

    if (text == NULL || text_to_i64(text, 0, INT64_MAX, out))
        return true;
    oc_invalid(rq, 400, "Query", "Expected a number\n  at [\"start\"]");
    return false;
}

/* Archived sessions are listed among the others, as in the original. A path or the scope "project"
 * replaces the directory: there is one project. */
void oc_session_list(struct http_request *rq)
{
    const char *path = http_query(rq, "path"), *scope = http_query(rq, "scope");
    struct wish w = {.limit = INT32_MAX, .search = http_query(rq, "search")};
    char directory[PATH_MAX];
    bool archived;

    if (!oc_limit(rq, &w.limit) || !flag(rq, "roots", &w.roots) ||
        !flag(rq, "archived", &archived) || !start_of(rq, &w.start_ms))
        return;
    if (path != NULL)
        w.path = path[0] != '\0' ? path : NULL;
    else if (oc_names_directory(rq) && (scope == NULL || strcmp(scope, "project") != 0))
        w.directory = oc_directory(rq, directory);
    write_list(rq, &w);
}

void oc_session_children(struct http_request *rq)
{
    struct session *s = oc_session(rq);

    if (s != NULL)
        write_list(rq, &(struct wish){.limit = INT32_MAX, .parent = session_id(s)});
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
    struct oc_session_request a = {.title = oc_meta_text(meta, "title"),
                                   .archived_ms = archived_ms(meta)};
    struct buf metadata = {0};
    struct hf_error err;
    const char *text;
    int rc;

    if (body == NULL)
        return;
    rc = oc_session_request_decode(&a, body, &err);
    /* The parent never changes. */
    text = put_metadata(&metadata, a.title, oc_meta_text(meta, "parentID"), a.archived_ms);
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
    size_t left;              /* sessions that are still being deleted */
    struct deletion_of *each; /* the session, then its children, and theirs */
    size_t count;
};

struct deletion_of {
    struct deletion *deletion;
    struct session *session; /* NULL: it is deleted */
};

static void deletion_release(struct call *c)
{
    struct deletion *d = list_entry(c, struct deletion, call);

    for (size_t i = 0; i < d->count; i++)
        if (d->each[i].session != NULL)
            session_delete_leave(d->each[i].session, &d->each[i]);
    free(d->each);
}

/* Termination may outlast the shutdown. It continues under the next worker. */
static const struct call_kind deletion_kind = {
    .release = deletion_release,
    .stays = true,
    .drain_text = OC_CONTINUES,
};

static void deletion_done(void *arg, const struct survivors *v, size_t ended)
{
    struct deletion_of *of = arg;
    struct deletion *d = of->deletion;
    struct http_request *rq;

    (void)v, (void)ended;
    of->session = NULL;
    if (--d->left > 0)
        return;
    rq = call_end(&d->call);
    if (rq != NULL)
        oc_send_json(rq, "true");
}

static void deletion_add(struct deletion *d, struct session *s)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->each[i].session == s)
            return;
    d->each = hf_xrealloc(d->each, (d->count + 1) * sizeof *d->each);
    d->each[d->count++] = (struct deletion_of){d, s};
}

static void deletion_add_children(struct deletion *d, struct engine *e, const char *parent)
{
    struct session *s = NULL;

    while ((s = session_next(e, s)) != NULL) {
        json_auto_t *meta = oc_meta(session_metadata(s));
        const char *own = oc_meta_text(meta, "parentID");

        if (own != NULL && strcmp(own, parent) == 0)
            deletion_add(d, s);
    }
}

/* Children first, so that their events come first where nothing of them is left to terminate. */
void oc_session_delete(struct http_request *rq)
{
    struct session *s = oc_session(rq);
    struct deletion *d;

    if (s == NULL)
        return;
    d = call_begin(rq, &deletion_kind, sizeof *d);
    deletion_add(d, s);
    for (size_t i = 0; i < d->count; i++)
        deletion_add_children(d, oc_of(rq)->base.engine, session_id(d->each[i].session));
    d->left = d->count;
    for (size_t i = d->count; i-- > 0;)
        session_delete(d->each[i].session, -1, deletion_done, &d->each[i]);
}
