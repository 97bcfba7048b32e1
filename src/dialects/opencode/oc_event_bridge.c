/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_event_bridge.c - translates the engine's events into the platform's
 *
 * The engine's event log is read while there are listeners. So a terminal is announced whichever
 * dialect created it, and a command's messages are published whichever dialect ran it. Layer:
 * dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opencode/oc_message.h"
#include "dialects/opencode/opencode_limits.h"
#include "engine/stream/viewer.h"

/* --- PTYs --------------------------------------------------------------------------- */

static void send_for_process(struct oc *oc, struct json_out *o, const struct process_view *v)
{
    json_auto_t *meta = oc_meta(v->metadata_json);

    oc_event_send(oc, o, oc_meta_text(meta, "directory"));
}

void oc_publish_pty(struct oc *oc, const char *type, struct process *p)
{
    struct process_view v;
    struct json_out o;

    if (!oc_is_heard(oc))
        return;
    process_view(p, &v);
    o = oc_event(oc, type);
    json_key(&o, "info");
    oc_write_pty(&o, p, strcmp(type, "pty.created") == 0);
    send_for_process(oc, &o, &v);
}

static void publish_end(struct oc *oc, const char *type, const struct process_view *v)
{
    char id[OC_ID_BYTES];
    struct json_out o = oc_event(oc, type);

    oc_pty_id(v, id);
    json_kstr(&o, "id", id);
    if (strcmp(type, "pty.exited") == 0)
        json_kint(&o, "exitCode", v->exit->exit_code >= 0 ? v->exit->exit_code : 255);
    send_for_process(oc, &o, v);
}

void oc_publish_deleted(struct oc *oc, const struct process_view *v)
{
    if (oc_is_heard(oc) && v->pty)
        publish_end(oc, "pty.deleted", v);
}

/* --- sessions ------------------------------------------------------------------------- */

static struct json_out session_event(struct oc *oc, const char *type, const char *session)
{
    struct json_out o = oc_event(oc, type);

    json_kstr(&o, "sessionID", session);
    return o;
}

void oc_publish_session(struct oc *oc, const char *type, struct session *s)
{
    struct json_out o;

    if (!oc_is_heard(oc))
        return;
    o = session_event(oc, type, session_id(s));
    json_key(&o, "info");
    oc_write_session(&o, oc, s);
    oc_event_send(oc, &o, oc_session_directory(oc, s));
}

void oc_publish_failure(struct oc *oc, struct session *s, const char *message)
{
    struct json_out o;

    if (!oc_is_heard(oc))
        return;
    o = session_event(oc, "session.error", session_id(s));
    json_kopen(&o, "error", '{');
    json_kstr(&o, "name", "UnknownError");
    json_kopen(&o, "data", '{');
    json_kstr(&o, "message", message);
    json_close(&o, '}');
    json_close(&o, '}');
    oc_event_send(oc, &o, oc_session_directory(oc, s));
}

static void publish_status(struct oc *oc, const struct oc_command *c, const char *status)
{
    struct json_out o = session_event(oc, "session.status", c->session_id);

    json_kopen(&o, "status", '{');
    json_kstr(&o, "type", status);
    json_close(&o, '}');
    oc_event_send(oc, &o, c->directory);
}

static void publish_message(struct oc *oc, const struct oc_command *c, bool user)
{
    struct json_out o = session_event(oc, "message.updated", c->session_id);

    json_key(&o, "info");
    oc_write_info(&o, c, user);
    oc_event_send(oc, &o, c->directory);
}

static void publish_part(struct oc *oc, const struct oc_command *c, bool user, size_t part)
{
    struct json_out o = session_event(oc, "message.part.updated", c->session_id);

    json_key(&o, "part");
    oc_write_part(&o, c, user, part);
    json_kint(&o, "time", c->ended ? c->ended_at : c->began);
    oc_event_send(oc, &o, c->directory);
}

static void publish_parts(struct oc *oc, const struct oc_command *c)
{
    for (size_t i = 0; i < oc_part_count(c, false); i++)
        publish_part(oc, c, false, i);
}

/* The messages as they were at the start, whatever has happened since. */
static void publish_began(struct oc *oc, struct oc_command *c)
{
    c->ended = false;
    buf_clear(&c->output);
    publish_status(oc, c, "busy");
    publish_message(oc, c, true);
    publish_part(oc, c, true, 0);
    publish_message(oc, c, false);
    publish_parts(oc, c);
}

static void publish_executed(struct oc *oc, const struct oc_command *c)
{
    const char *name = oc_meta_text(c->meta, "name");
    size_t skip = strlen(name) + 1; /* the text is the name, a space and the arguments */
    struct json_out o = oc_event(oc, "command.executed");

    json_kstr(&o, "name", name);
    json_kstr(&o, "sessionID", c->session_id);
    json_key(&o, "arguments");
    skip = skip < c->text.len ? skip : c->text.len;
    json_strn(&o, buf_data(&c->text) + skip, c->text.len - skip);
    json_kstr(&o, "messageID", c->assistant);
    oc_event_send(oc, &o, c->directory);
}

static void publish_ended(struct oc *oc, const struct oc_command *c)
{
    struct json_out o;

    publish_message(oc, c, false);
    publish_parts(oc, c);
    publish_status(oc, c, "idle");
    o = session_event(oc, "session.idle", c->session_id);
    oc_event_send(oc, &o, c->directory);
    if (oc_command_is_named(c))
        publish_executed(oc, c);
}

/* --- the output of running commands ------------------------------------------------------- */

/* Nothing is copied: a viewer notices new output, and at most every OC_CHUNK_MS the part is written
 * from the journal, with all output so far. */
struct chatter {
    struct list link;
    struct oc *oc;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct timer *timer;
};

static void chatter_free(struct chatter *c)
{
    list_remove(&c->link);
    viewer_detach(c->viewer);
    timer_close(c->timer);
    process_unref(c->process);
    free(c);
}

static bool on_ready(void *arg)
{
    (void)arg;
    return true;
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct chatter *c = arg;

    (void)s;
    if (!timer_is_active(c->timer))
        timer_start(c->timer, OC_CHUNK_MS);
}

/* Each event has all output that is kept, so a gap needs no treatment. */
static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void on_exited(void *arg, const struct exit_record *x)
{
    (void)arg, (void)x; /* the engine's log reports the end, which stops this */
}

static const struct viewer_ops ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

static void on_timer(struct timer *t, void *arg)
{
    struct chatter *ch = arg;
    struct process_view v;
    struct oc_command c;
    struct session *s;

    (void)t;
    process_view(ch->process, &v);
    s = v.running && v.session_id != NULL ? session_find(ch->oc->base.engine, v.session_id, NULL)
                                          : NULL;
    if (s == NULL)
        return;
    oc_command_of_process(&c, ch->oc, s, ch->process, OC_MESSAGE_BYTES);
    publish_parts(ch->oc, &c);
    oc_command_fini(&c);
}

static void chatter_start(struct oc *oc, struct process *p)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = journal_first(process_journal(p)),
        .internal = true,
        .read_only = true,
        .only_stream = -1,
    };
    struct chatter *c = hf_xalloc(sizeof *c);

    c->oc = oc;
    c->process = process_ref(p);
    c->timer = timer_new(oc->base.loop, on_timer, c);
    list_append(&oc->chatter, &c->link);
    if (viewer_attach(p, &o, &ops, c, &c->viewer, NULL) < 0)
        chatter_free(c);
}

/* p NULL: all. */
static void chatter_stop(struct oc *oc, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &oc->chatter) {
        struct chatter *c = list_entry(it, struct chatter, link);

        if (p == NULL || c->process == p)
            chatter_free(c);
    }
}

/* --- the engine's log ----------------------------------------------------------------------- */

static void on_command_of(struct oc *oc, struct process *p, const struct process_view *v,
                          bool began)
{
    struct session *s = session_find(oc->base.engine, v->session_id, NULL);
    struct oc_command c;

    if (s == NULL || !session_has_process(s, p))
        return;
    oc_command_of_process(&c, oc, s, p, OC_MESSAGE_BYTES);
    if (began) {
        publish_began(oc, &c);
        if (oc_is_heard(oc)) /* the last listener may just have been disconnected */
            chatter_start(oc, p);
    } else {
        chatter_stop(oc, p);
        publish_ended(oc, &c);
    }
    oc_command_fini(&c);
}

/* Another dialect may remove the process in the turn in which it exits. The event has what remains
 * of it. */
static void on_exited_and_gone(struct oc *oc, const char *id, const json_t *process)
{
    const json_t *code = json_object_get(process, "exit_code");
    struct exit_record x = {.exit_code =
                                json_is_integer(code) ? (int)json_integer_value(code) : -1};
    char *meta = json_dumps(json_object_get(process, "metadata"), JSON_COMPACT);
    struct process_view v = {.id = id, .metadata_json = meta != NULL ? meta : "{}", .exit = &x};

    if (json_is_true(json_object_get(process, "pty")))
        publish_end(oc, "pty.exited", &v);
    free(meta);
}

static void on_process(struct oc *oc, const char *type, const json_t *event)
{
    const json_t *process = json_object_get(event, "process");
    const char *id = json_string_value(json_object_get(process, "id"));
    struct process *p = id != NULL ? engine_find(oc->base.engine, id, NULL) : NULL;
    bool created = strcmp(type, "process.created") == 0;
    struct process_view v;

    if (id == NULL || (!created && strcmp(type, "process.exited") != 0))
        return;
    if (p == NULL && !created)
        on_exited_and_gone(oc, id, process);
    if (p == NULL)
        return;
    process_view(p, &v);
    if (v.pty && created)
        oc_publish_pty(oc, "pty.created", p);
    else if (v.pty && !v.running && !oc_is_being_removed(oc, p))
        publish_end(oc, "pty.exited", &v);
    if (v.session_id != NULL && (created || !v.running))
        on_command_of(oc, p, &v, created);
}

static void on_shell_command(struct oc *oc, struct session *s, bool began)
{
    struct session_command last;
    struct oc_command c;

    if (!session_log_last(session_commands(s), &last))
        return;
    oc_command_of_log(&c, oc, s, &last);
    if (began)
        publish_began(oc, &c);
    else if (c.ended)
        publish_ended(oc, &c);
    oc_command_fini(&c);
}

/* If the event is read late, it has what remains of the session. */
static void on_session_deleted(struct oc *oc, const json_t *session, const char *id)
{
    struct session *s = session_find_deleted(oc->base.engine, id);
    const char *cwd = json_string_value(json_object_get(session, "cwd"));
    struct json_out o;

    if (s != NULL) {
        oc_publish_session(oc, "session.deleted", s);
        return;
    }
    o = session_event(oc, "session.deleted", id);
    json_kopen(&o, "info", '{');
    json_kstr(&o, "id", id);
    json_kstr(&o, "projectID", "global");
    json_kstr(&o, "directory", cwd != NULL ? cwd : oc->cwd);
    json_kstr(&o, "title", "");
    json_kstr(&o, "version", OC_VERSION);
    json_close(&o, '}');
    oc_event_send(oc, &o, NULL);
}

static void on_session(struct oc *oc, const char *type, const json_t *event)
{
    const json_t *session = json_object_get(event, "session");
    const char *id = json_string_value(json_object_get(session, "id"));
    struct session *s = id != NULL ? session_find(oc->base.engine, id, NULL) : NULL;

    if (strcmp(type, "session.deleted") == 0 && id != NULL)
        on_session_deleted(oc, session, id);
    else if (s == NULL)
        return;
    else if (strcmp(type, "session.created") == 0)
        oc_publish_session(oc, type, s);
    else if (strncmp(type, "session.command_", 16) == 0)
        on_shell_command(oc, s, strcmp(type + 16, "started") == 0);
}

void oc_publish_now(struct oc *oc)
{
    struct events *ev = engine_events(oc->base.engine);
    struct event e;

    while (oc_is_heard(oc) && events_get(ev, oc->event_next, &e)) {
        json_auto_t *tree = NULL;
        char type[32] = "";

        oc->event_next = e.id + 1;
        strncpy(type, e.type, sizeof type - 1);
        if (strncmp(type, "process.", 8) != 0 && strncmp(type, "session.", 8) != 0)
            continue;
        tree = json_loadb(e.json, e.len, JSON_ALLOW_NUL, NULL);
        if (type[0] == 'p')
            on_process(oc, type, tree);
        else
            on_session(oc, type, tree);
    }
}

static void on_events(void *arg)
{
    oc_publish_now(arg);
}

/* Commands that are already running are announced, and followed. */
void oc_publish_start(struct oc *oc)
{
    struct process *p = NULL;

    oc->event_next = events_next(engine_events(oc->base.engine));
    oc->subscriber.fn = on_events;
    oc->subscriber.arg = oc;
    events_subscribe(engine_events(oc->base.engine), &oc->subscriber);
    while ((p = engine_next(oc->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && v.session_id != NULL)
            chatter_start(oc, p);
    }
}

void oc_publish_stop(struct oc *oc)
{
    if (oc->subscriber.fn == NULL)
        return;
    events_unsubscribe(&oc->subscriber);
    oc->subscriber.fn = NULL;
    chatter_stop(oc, NULL);
}
