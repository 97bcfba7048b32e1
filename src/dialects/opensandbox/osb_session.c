/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_session.c - POST /session: the engine's session, in a directory that is created if missing
 *
 * It also runs preludes for this and for commands in sessions.
 * Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env.h"
#include "dialects/opensandbox/osb_prelude.h"

/* For a directory on a hanging file system: clients wait 30 s for the head of a reply. */
#define PRELUDE_MS 20000
#define WORDS_BYTES 400

/* --- preludes ------------------------------------------------------------------- */

/* The first line of the shell's error output. */
static void refuse(const struct session_result *r, struct hf_error *err)
{
    struct headtail_view v;
    char words[WORDS_BYTES];
    size_t len;

    headtail_peek(r->err, &v);
    len = v.head_len < sizeof words ? v.head_len : sizeof words - 1;
    memcpy(words, len > 0 ? v.head : "", len);
    words[len] = '\0';
    words[strcspn(words, "\n")] = '\0';
    hf_fail_field(err, HF_E_bad_value, "cwd", "%s",
                  words[0] != '\0' ? words : "the directory cannot be entered");
}

static void prelude_wait_on_done(void *arg, const struct session_result *r,
                                 const struct hf_error *why)
{
    struct prelude_wait *t = arg;
    struct hf_error err = {0};

    if (t == NULL)
        return;
    t->run = NULL;
    if (r != NULL && r->exit.code != 0) {
        refuse(r, &err);
        why = &err;
    }
    t->done(t->arg, r != NULL && r->exit.code == 0 ? NULL : why);
}

int osb_session_run_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                            struct prelude_wait *t, struct hf_error *err)
{
    struct session_run_spec spec = {
        .source = SOURCE_SYSTEM,
        .timeout_ms = PRELUDE_MS,
        .max_output_bytes = 2 * WORDS_BYTES,
        .ahead = due ? NULL : osb_prelude_ahead,
    };
    struct session_run *run;
    struct buf text = {0};
    int rc;

    osb_prelude_write(&text, due, what, cwd);
    spec.command = buf_cstr(&text);
    rc = session_run(s, &spec, prelude_wait_on_done, t, &run, err);
    buf_fini(&text);
    if (rc == 0 && t != NULL)
        t->run = run;
    return rc;
}

void osb_session_prelude_leave(struct prelude_wait *t)
{
    if (t->run != NULL)
        session_run_leave(t->run, session_run_number(t->run) == 0);
    t->run = NULL;
}

/* --- POST /session -------------------------------------------------------------- */

struct osb_session_creation {
    struct call call;
    struct prelude_wait prelude;
    char *cwd, *id;
};

static void making_release(struct call *c)
{
    struct osb_session_creation *m = (struct osb_session_creation *)c;

    free(m->cwd);
    free(m->id);
}

static const struct call_kind making_kind = {.release = making_release, .stays = true};

static void making_refuse(struct osb_session_creation *m, const char *detail)
{
    struct session *s = m->id != NULL ? session_find(m->call.base->engine, m->id, NULL) : NULL;

    if (s != NULL)
        session_delete(s, 0, NULL, NULL);
    osb_call_refuse(&m->call, 500, "RUNTIME_ERROR", detail);
}

/* A client that has disconnected never learnt the id, so the session is deleted. */
static void making_on_prelude(void *arg, const struct hf_error *err)
{
    struct osb_session_creation *m = arg;
    struct json_out j;

    if (err != NULL || m->call.rq == NULL) {
        making_refuse(m, err != NULL ? err->detail : "");
        return;
    }
    j = dialect_reply_open(m->call.base);
    json_kstr(&j, "session_id", m->id);
    call_send(&m->call, 200, &j);
}

static void making_on_created(void *arg, struct session *s, const struct hf_error *err)
{
    struct osb_session_creation *m = arg;
    struct hf_error why;

    if (s == NULL) {
        making_refuse(m, err->detail);
        return;
    }
    m->id = hf_xstrdup(session_id(s));
    m->prelude = (struct prelude_wait){.done = making_on_prelude, .arg = m};
    if (osb_session_run_prelude(s, true, m->cwd != NULL ? PRELUDE_MAKE : PRELUDE_STAY, m->cwd,
                                &m->prelude, &why) < 0)
        making_refuse(m, why.detail);
}

static void session_post(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct session_spec spec = {0};
    struct osb_session_request a;
    struct spec_env *vars;
    struct hf_error err;
    struct osb_session_creation *m;

    if (body == NULL || !osb_is_open(rq))
        return;
    if (osb_session_request_decode(&a, body, false, &err) < 0) {
        osb_error(rq, &err);
        osb_session_request_fini(&a);
        return;
    }
    m = call_begin(rq, &making_kind, sizeof *m);
    m->cwd = hf_xstrdup(a.cwd);
    osb_session_request_fini(&a);
    vars = osb_env_overlay((struct osb *)m->call.base, &spec.env, &spec.env_count);
    if (session_create(m->call.base->engine, &spec, making_on_created, m, &err) < 0)
        call_fail(&m->call, &err);
    free(vars);
}

void osb_session_post(struct http_request *rq)
{
    osb_env_with(rq, session_post);
}
