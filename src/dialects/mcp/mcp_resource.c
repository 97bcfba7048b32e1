/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_resource.c - outputs, screens and transcripts as resources. Layer: dialects.
 */
#include "dialects/mcp/mcp_resource.h"

#include <string.h>

#include "base/text.h"
#include "dialects/common/process_json.h"
#include "dialects/common/session_markdown.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_screen.h"
#include "dialects/mcp/mcp_server.h"
#include "dialects/mcp/mcp_session.h"
#include "transport/url_query.h"

#define SCHEME "process://"
#define PAGE 100 /* processes on one page of the list */

#define SESSION_SCHEME "session://"
#define TRANSCRIPT "/transcript"
#define TRANSCRIPT_TEXT "What ran in a session, with its output, as Markdown"
#define MARKDOWN_TYPE "text/markdown"

static const struct {
    const char *name, *template, *what;
} kinds[] = {
    [RESOURCE_OUTPUT] = {"output", SCHEME "{id}/output",
                         "Retained output of a process, stdout and stderr in order"},
    [RESOURCE_SCREEN] = {"screen", SCHEME "{id}/screen", "The terminal screen of a process"},
};

int resource_uri_parse(const char *uri, enum resource_kind *kind, char *id)
{
    size_t head = strlen(SCHEME), len;
    const char *slash;

    if (strncmp(uri, SCHEME, head) != 0)
        return -1;
    slash = strchr(uri + head, '/');
    if (slash == NULL)
        return -1;
    len = (size_t)(slash - uri) - head;
    if (len == 0 || len >= RESOURCE_URI_BYTES ||
        url_percent_decode(uri + head, len, false, id) <= 0)
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(slash + 1, kinds[i].name) == 0) {
            *kind = (enum resource_kind)i;
            return 0;
        }
    }
    return -1;
}

struct process *resource_find(struct mcp *m, const char *uri, enum resource_kind *kind,
                              struct hf_error *err)
{
    char id[RESOURCE_URI_BYTES];

    if (resource_uri_parse(uri, kind, id) < 0) {
        hf_fail_field(err, HF_E_bad_value, "uri",
                      "only process://{id}/output and process://{id}/screen are supported here");
        return NULL;
    }
    return engine_find(m->base.engine, id, err);
}

/* --- transcripts ------------------------------------------------------------------- */

static bool is_session_uri(const char *uri)
{
    return strncmp(uri, SESSION_SCHEME, strlen(SESSION_SCHEME)) == 0;
}

static struct session *session_of(struct engine *e, const char *uri, struct hf_error *err)
{
    const char *id = uri + strlen(SESSION_SCHEME), *slash = strchr(id, '/');
    char plain[RESOURCE_URI_BYTES];
    size_t len = slash != NULL ? (size_t)(slash - id) : 0;

    if (len > 0 && len < sizeof plain && strcmp(slash, TRANSCRIPT) == 0 &&
        url_percent_decode(id, len, false, plain) > 0)
        return session_find(e, plain, err);
    hf_fail_field(err, HF_E_bad_value, "uri", "a session's resource is session://{id}/transcript");
    return NULL;
}

static void write_transcripts(struct json_out *o, struct engine *e)
{
    struct session *s = NULL;

    while ((s = session_next(e, s)) != NULL) {
        char uri[LIMIT_TAG_BYTES + 32];

        snprintf(uri, sizeof uri, SESSION_SCHEME "%s" TRANSCRIPT, session_id(s));
        json_open(o, '{');
        json_kstr(o, "uri", uri);
        json_kstr(o, "name", uri + strlen(SESSION_SCHEME));
        json_kstr(o, "title", session_id(s));
        json_kstr(o, "description", TRANSCRIPT_TEXT);
        json_kstr(o, "mimeType", MARKDOWN_TYPE);
        json_close(o, '}');
    }
}

/* --- lists ------------------------------------------------------------------------- */

static void write_template(struct json_out *o, const char *uri, const char *name, const char *what,
                           const char *type)
{
    json_open(o, '{');
    json_kstr(o, "uriTemplate", uri);
    json_kstr(o, "name", name);
    json_kstr(o, "description", what);
    json_kstr(o, "mimeType", type);
    json_close(o, '}');
}

static void write_resource(struct json_out *o, const struct process_view *v,
                           enum resource_kind kind)
{
    char uri[96], name[96];

    snprintf(uri, sizeof uri, SCHEME "%s/%s", v->id, kinds[kind].name);
    snprintf(name, sizeof name, "%s/%s", v->id, kinds[kind].name);
    json_open(o, '{');
    json_kstr(o, "uri", uri);
    json_kstr(o, "name", name);
    json_kstr(o, "title", v->label != NULL ? v->label : v->command);
    json_kstr(o, "description", kinds[kind].what);
    json_kstr(o, "mimeType", "text/plain");
    json_close(o, '}');
}

void resources_list(struct mcp_call *c, const json_t *params)
{
    const json_t *cursor = json_object_get(params, "cursor");
    struct engine *e = c->call.base->engine;
    struct process *p = NULL;
    struct process_view v = {0};
    struct json_out o;
    size_t count = 0;

    if (cursor != NULL) {
        p = json_is_string(cursor) ? engine_find(e, json_string_value(cursor), NULL) : NULL;
        if (p == NULL) {
            mcp_call_fail(c, RPC_INVALID_PARAMS, NULL,
                          "this page no longer exists; start again without \"cursor\"");
            return;
        }
    }
    o = mcp_call_open(c);
    json_kopen(&o, "resources", '[');
    if (cursor == NULL)
        write_transcripts(&o, e);
    while (count < PAGE && (p = engine_next(e, p)) != NULL) {
        process_view(p, &v);
        write_resource(&o, &v, RESOURCE_OUTPUT);
        if (v.pty)
            write_resource(&o, &v, RESOURCE_SCREEN);
        count++;
    }
    json_close(&o, ']');
    if (p != NULL && engine_next(e, p) != NULL)
        json_kstr(&o, "nextCursor", v.id);
    server_write_cache(c, &o, 0);
    mcp_call_send(c, &o);
}

void resources_templates(struct mcp_call *c, const json_t *params)
{
    struct json_out o = mcp_call_open(c);

    (void)params;
    json_kopen(&o, "resourceTemplates", '[');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        write_template(&o, kinds[i].template, kinds[i].name, kinds[i].what, "text/plain");
    write_template(&o, SESSION_SCHEME "{id}" TRANSCRIPT, "transcript", TRANSCRIPT_TEXT,
                   MARKDOWN_TYPE);
    json_close(&o, ']');
    server_write_cache(c, &o, 0);
    mcp_call_send(c, &o);
}

/* --- reading one ------------------------------------------------------------------------ */

/* Text if it is UTF-8, otherwise bytes in base64. */
static void write_contents(struct json_out *o, const char *bytes, size_t len)
{
    if (utf8_is_valid(bytes, len)) {
        json_kstr(o, "mimeType", "text/plain");
        json_key(o, "text");
        json_strn(o, bytes, len);
        return;
    }
    json_kstr(o, "mimeType", "application/octet-stream");
    process_json_base64(o, "blob", bytes, len);
}

/* The end of it, starting at a character boundary. */
static void write_output(struct json_out *o, struct process *p, const struct process_view *v)
{
    const struct journal *j = process_journal(p);
    uint64_t at = v->first;

    if (v->next - at > LIMIT_MCP_OUTPUT_MAX_BYTES)
        at = journal_tail_bytes(j, LIMIT_MCP_OUTPUT_MAX_BYTES, v->pty);
    write_contents(o, journal_bytes(j, at), (size_t)(v->next - at));
}

/* Revisions differ in the code for a missing resource. */
static void fail_uri(struct mcp_call *c, const struct hf_error *err)
{
    bool missing = (err->code == HF_E_no_such_process || err->code == HF_E_no_such_session) &&
                   !c->revision->stateless;
    char data[64];

    snprintf(data, sizeof data, "{\"code\":\"%s\"}", hf_code_name(err->code));
    mcp_call_fail(c, missing ? RPC_RESOURCE_NOT_FOUND : RPC_INVALID_PARAMS, data, "%s",
                  err->detail);
}

/* The "uri" of the params and its process; NULL: replied. */
static struct process *decode_uri(struct mcp_call *c, const json_t *params, const char **uri,
                                  enum resource_kind *kind)
{
    struct hf_error err = {0};
    struct process *p = NULL;

    *uri = json_text(json_object_get(params, "uri"), "uri", &err);
    if (*uri != NULL)
        p = resource_find(mcp_call_mcp(c), *uri, kind, &err);
    if (p == NULL)
        fail_uri(c, &err);
    return p;
}

/* text NULL: its output instead of a screen. */
static void send_contents(struct mcp_call *c, struct process *p, const struct screen_view *screen,
                          const struct buf *text, const char *uri)
{
    struct json_out o;
    struct process_view v;

    (void)screen;
    process_view(p, &v);
    o = mcp_call_open(c);
    json_kopen(&o, "contents", '[');
    json_open(&o, '{');
    json_kstr(&o, "uri", uri);
    if (text != NULL)
        write_contents(&o, buf_data(text), text->len);
    else
        write_output(&o, p, &v);
    json_close(&o, '}');
    json_close(&o, ']');
    server_write_cache(c, &o, 0);
    mcp_call_send(c, &o);
}

static void send_transcript(struct mcp_call *c, const char *uri)
{
    struct engine *e = c->call.base->engine;
    struct hf_error err = {0};
    struct session *s = session_of(e, uri, &err);
    struct session_items all;
    struct buf text = {0};
    struct json_out o;

    if (s == NULL) {
        fail_uri(c, &err);
        return;
    }
    session_items_collect(&all, e, s, SESSION_LOG_COMMANDS);
    session_markdown(&text, session_id(s), &all);
    session_items_fini(&all);
    o = mcp_call_open(c);
    json_kopen(&o, "contents", '[');
    json_open(&o, '{');
    json_kstr(&o, "uri", uri);
    json_kstr(&o, "mimeType", MARKDOWN_TYPE);
    json_key(&o, "text");
    json_strn(&o, buf_data(&text), text.len);
    json_close(&o, '}');
    json_close(&o, ']');
    buf_fini(&text);
    server_write_cache(c, &o, 0);
    mcp_call_send(c, &o);
}

void resources_read(struct mcp_call *c, const json_t *params)
{
    const char *uri = json_string_value(json_object_get(params, "uri"));
    enum resource_kind kind = RESOURCE_OUTPUT;
    struct hf_error err = {0};
    struct process *p;

    if (uri != NULL && is_session_uri(uri)) {
        send_transcript(c, uri);
        return;
    }
    p = decode_uri(c, params, &uri, &kind);
    if (p == NULL)
        return;
    if (kind != RESOURCE_SCREEN)
        send_contents(c, p, NULL, NULL, uri);
    else if (mcp_screen_get(c, p, uri, send_contents, &err) < 0)
        fail_uri(c, &err);
}

void resources_subscribe(struct mcp_call *c, const json_t *params)
{
    const char *uri;
    enum resource_kind kind;
    struct hf_error err = {0};

    if (decode_uri(c, params, &uri, &kind) == NULL)
        return;
    if (mcp_feed_subscribe(&c->exchange->session->feed, uri, &err) < 0)
        fail_uri(c, &err);
    else
        mcp_call_send_empty(c);
}

void resources_unsubscribe(struct mcp_call *c, const json_t *params)
{
    const char *uri = json_string_value(json_object_get(params, "uri"));

    if (uri == NULL) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, NULL, "\"uri\" is required");
        return;
    }
    mcp_feed_unsubscribe(&c->exchange->session->feed, uri);
    mcp_call_send_empty(c);
}
