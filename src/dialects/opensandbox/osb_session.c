/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_session.c - POST /session: the engine's session, in a directory that is created if missing
 *
 * Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_prelude.h"
#include "dialects/opensandbox/osb_prelude_run.h"

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

void osb_session_post(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct session_spec spec = {0};
    struct osb_session_request a;
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
    if (session_create(m->call.base->engine, &spec, making_on_created, m, &err) < 0)
        call_fail(&m->call, &err);
}
