/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_pty.c - PTYs: start, find, list, describe, resize, terminate
 *
 * A PTY is a running terminal of the daemon. One that has ended no longer counts: its id is free,
 * though the daemon keeps its own record. The original starts a PTY late, at its first connection,
 * because earlier output is lost. Here the output is kept and delivered to the first client, so the
 * PTY starts at once. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "dialects/common/end_call.h"
#include "dialects/common/start_call.h"
#include "dialects/daytona/daytona.h"
#include "transport/ws.h"

#define SHELLS_FILE "/etc/shells"
#define SHELLS_BYTES 65536
#define TAKEN "PTY session with this ID already exists"

/* --- lookup ------------------------------------------------------------------------------ */

/* What it was created with here: {"daytona":{"id","lazy"}}; NULL: created elsewhere. */
static json_t *pty_facts(const struct process_view *v, json_t **keep)
{
    *keep = NULL;
    if (strstr(v->metadata_json, "\"daytona\"") == NULL)
        return NULL;
    *keep = json_loads(v->metadata_json, 0, NULL);
    return json_object_get(*keep, "pty");
}

static const char *pty_id(const struct process_view *v, const json_t *facts)
{
    const char *mine = json_string_value(json_object_get(facts, "id"));

    return mine != NULL ? mine : v->id;
}

static bool pty_is(struct process *p, const char *id)
{
    json_auto_t *keep = NULL;
    struct process_view v;

    process_view(p, &v);
    return v.pty && v.running && strcmp(pty_id(&v, pty_facts(&v, &keep)), id) == 0;
}

struct process *dt_pty_find(struct dt *dt, const char *id)
{
    struct process *p = NULL;

    while ((p = engine_next(dt->base.engine, p)) != NULL)
        if (pty_is(p, id))
            return p;
    return NULL;
}

static struct process *pty_of(struct http_request *rq, int status, const char *code)
{
    const char *id = http_param(rq, "id");
    struct process *p = dt_pty_find(dt_of(rq), id);

    if (p == NULL)
        dt_fail(rq, status, code, "PTY session %.100s not found", id);
    return p;
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* Values of variables are often secrets, so they are never revealed. */
static void write_pty(struct json_out *o, struct process *p)
{
    json_auto_t *keep = NULL;
    const json_t *facts;
    struct process_view v;

    process_view(p, &v);
    facts = pty_facts(&v, &keep);
    json_kstr(o, "id", pty_id(&v, facts));
    json_kstr(o, "cwd", v.cwd);
    json_key(o, "envs");
    json_raw(o, "{}", 2);
    json_kint(o, "cols", v.cols);
    json_kint(o, "rows", v.rows);
    json_ktime(o, "createdAt", v.created_ms);
    json_kbool(o, "active", v.running);
    json_kbool(o, "lazyStart", json_is_true(json_object_get(facts, "lazy")));
}

static void reply_pty(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_pty(&o, p);
    dialect_reply_send(rq, 200, &o);
}

void dt_pty_list(struct http_request *rq)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o = dialect_reply_open(b);
    struct process *p = NULL;
    struct process_view v;

    json_key(&o, "sessions");
    json_open(&o, '[');
    while ((p = engine_next(b->engine, p)) != NULL) {
        process_view(p, &v);
        if (!v.pty || !v.running)
            continue;
        json_open(&o, '{');
        write_pty(&o, p);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void dt_pty_get(struct http_request *rq)
{
    struct process *p = pty_of(rq, 404, "PROCESS_NOT_FOUND");

    if (p != NULL)
        reply_pty(rq, p);
}

/* --- the shell ----------------------------------------------------------------------------- */

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line))
        if ((at == text || at[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
            return true;
    return false;
}

/* As in the original: the first of these that the system lists as a shell, else the user's own. */
static const char *terminal_shell(void)
{
    static const char *const places[] = {"/usr/bin/zsh", "/bin/zsh", "/usr/bin/bash", "/bin/bash"};
    const char *own = getenv("SHELL"), *found = NULL;
    struct buf text = {0};

    if (io_read_file(SHELLS_FILE, SHELLS_BYTES, &text) >= 0)
        for (size_t i = 0; i < sizeof places / sizeof *places && found == NULL; i++)
            if (has_line(buf_cstr(&text), places[i]) && access(places[i], X_OK) == 0)
                found = places[i];
    buf_fini(&text);
    if (found == NULL && own != NULL && own[0] == '/' && access(own, X_OK) == 0)
        found = own;
    return found != NULL ? found : "/bin/sh";
}

/* --- start ------------------------------------------------------------------------------------ */

static char *make_metadata(const struct dt_request *a)
{
    struct buf text = {0};
    struct json_out o;
    char *copy;

    json_out_init(&o, &text);
    json_open(&o, '{');
    json_kstr(&o, "via", "daytona");
    json_key(&o, "pty");
    json_open(&o, '{');
    json_kstr(&o, "id", a->id);
    json_kbool(&o, "lazy", a->lazy);
    json_close(&o, '}');
    json_close(&o, '}');
    copy = hf_xstrdup(buf_cstr(&text));
    buf_fini(&text);
    return copy;
}

/* The tag reserves the id for one PTY, also while that is being started. */
static void start(struct http_request *rq, const struct dt_request *a, start_call_fn *done)
{
    static const char *const args[] = {"-i", "-l"};
    struct dt *dt = dt_of(rq);
    json_auto_t *kept = NULL;
    struct spawn_spec spec;
    struct spec_env *env;
    char *metadata = make_metadata(a);
    struct buf tag = {0};

    buf_printf(&tag, "pty-%s", a->id);
    spec_init(&spec);
    spec.tag = buf_cstr(&tag);
    env = dt_env(dt, a->env, a->env_count, &spec.env_count, &kept);
    spec.command = terminal_shell();
    spec.args = args;
    spec.arg_count = strcmp(spec.command, "/bin/sh") == 0 ? 1 : 2;
    spec.cwd = a->cwd;
    spec.env = env;
    spec.pty = true;
    spec.rows = a->rows > 0 ? a->rows : 24;
    spec.cols = a->cols > 0 ? a->cols : 80;
    spec.source = SOURCE_USER_SHELL;
    spec.metadata_json = metadata;
    start_call_begin(rq, &spec, &(struct start_call_options){.done = done});
    free(env);
    free(metadata);
    buf_fini(&tag);
}

/* --- POST /process/pty ------------------------------------------------------------------------ */

static void create_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    struct json_out o;

    if (p == NULL && err->code == HF_E_tag_in_use) {
        dt_fail(rq, 409, "CONFLICT", TAKEN);
    } else if (p == NULL) {
        http_reply_error(rq, err);
    } else {
        struct process_view v;
        json_auto_t *keep = NULL;

        process_view(p, &v);
        o = dialect_reply_open(dialect_base_of(rq));
        json_kstr(&o, "sessionId", pty_id(&v, pty_facts(&v, &keep)));
        dialect_reply_send(rq, 201, &o);
    }
}

void dt_pty_create(struct http_request *rq)
{
    struct dt_request a;

    if (dt_request(rq, DT_PTY, &a)) {
        if (dt_pty_find(dt_of(rq), a.id) != NULL)
            dt_fail(rq, 409, "CONFLICT", "PTY session with ID '%.100s' already exists", a.id);
        else
            start(rq, &a, create_done);
    }
    dt_request_fini(&a);
}

/* --- GET /process/pty/create-connect ---------------------------------------------------------- */

static void connect_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p != NULL)
        dt_pty_attach(rq, p);
    else
        dt_pty_refuse(rq, "%s", err->code == HF_E_tag_in_use ? TAKEN : err->detail);
}

static int decode_connect(struct http_request *rq, struct dt_request *a, struct hf_error *err)
{
    const char *cwd = http_query(rq, "cwd");
    int rc;

    a->id = http_query(rq, "id");
    a->cwd = cwd != NULL && cwd[0] != '\0' ? cwd : NULL;
    if ((rc = dt_decode_pty_id(a->id, err)) < 0 ||
        (rc = dt_decode_side(http_query(rq, "rows"), "rows", &a->rows, err)) < 0 ||
        (rc = dt_decode_side(http_query(rq, "cols"), "cols", &a->cols, err)) < 0 ||
        (rc = dt_decode_offered_env(ws_offered(rq), &a->tree, err)) < 0)
        return rc;
    return dt_decode_env(a->tree, &a->env, &a->env_count, err);
}

/* Clients show an error only if it comes over the WebSocket. */
void dt_pty_create_connect(struct http_request *rq)
{
    struct dt_request a = {0};
    struct hf_error err = {0};

    if (decode_connect(rq, &a, &err) < 0)
        dt_pty_refuse(rq, "%s", err.detail);
    else if (dt_pty_find(dt_of(rq), a.id) != NULL)
        dt_pty_refuse(rq, "PTY session with ID '%s' already exists", a.id);
    else
        start(rq, &a, connect_done);
    dt_request_fini(&a);
}

/* --- resize ----------------------------------------------------------------------------------- */

/* A zero leaves that dimension unchanged: programs divide by it. */
void dt_pty_resize(struct http_request *rq)
{
    struct hf_error err = {0};
    struct process_view v;
    struct dt_request a;
    struct process *p = dt_request(rq, DT_SIZE, &a) ? pty_of(rq, 410, "SESSION_ENDED") : NULL;

    dt_request_fini(&a);
    if (p == NULL)
        return;
    process_view(p, &v);
    if (process_resize(p, a.rows > 0 ? a.rows : v.rows, a.cols > 0 ? a.cols : v.cols, "api", &err) <
        0)
        http_reply_error(rq, &err);
    else
        reply_pty(rq, p);
}

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    struct json_out o;

    (void)err;
    if (rq == NULL)
        return;
    o = dialect_reply_open(e->call.base);
    json_kstr(&o, "message", "PTY session deleted");
    dialect_reply_send(rq, 200, &o);
}

void dt_pty_delete(struct http_request *rq)
{
    struct process *p = pty_of(rq, 404, "PROCESS_NOT_FOUND");
    struct end_call *e;

    if (p == NULL)
        return;
    e = end_call_begin(rq, delete_done, sizeof *e);
    end_call_terminate(e, p, 0);
    end_call_wait(e);
}
