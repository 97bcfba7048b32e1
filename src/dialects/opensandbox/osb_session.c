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
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct osb *osb;
    struct prelude_wait prelude;
    char *cwd, *id;
};

static void making_free(struct pending *p)
{
    struct osb_session_creation *m = list_entry(p, struct osb_session_creation, pending);

    pending_fini(p);
    free(m->cwd);
    free(m->id);
    free(m);
}

/* The session remains in the list under its id; the client never learnt it. */
static const struct pending_kind making_kind = {.drain = NULL, .free = making_free};

static void making_on_disconnect(void *user)
{
    struct osb_session_creation *m = user;

    m->rq = NULL;
}

static void making_refuse(struct osb_session_creation *m, const struct hf_error *err)
{
    struct session *s = m->id != NULL ? session_find(m->osb->engine, m->id, NULL) : NULL;

    if (s != NULL)
        session_delete(s, 0, NULL, NULL);
    if (m->rq != NULL) {
        http_set_user(m->rq, NULL, NULL);
        osb_runtime_error(m->rq, err);
    }
    making_free(&m->pending);
}

static void making_on_prelude(void *arg, const struct hf_error *err)
{
    struct osb_session_creation *m = arg;
    struct hf_error gone;
    struct json_out j;

    if (err == NULL && m->rq == NULL) {
        hf_fail(&gone, HF_E_internal, "the client has disconnected");
        err = &gone;
    }
    if (err != NULL) {
        making_refuse(m, err);
        return;
    }
    http_set_user(m->rq, NULL, NULL);
    j = osb_reply_open(m->osb);
    json_kstr(&j, "session_id", m->id);
    osb_send(m->rq, 200, &j);
    making_free(&m->pending);
}

static void making_on_created(void *arg, struct session *s, const struct hf_error *err)
{
    struct osb_session_creation *m = arg;
    struct hf_error why;

    if (s == NULL) {
        making_refuse(m, err);
        return;
    }
    m->id = hf_xstrdup(session_id(s));
    m->prelude = (struct prelude_wait){.done = making_on_prelude, .arg = m};
    if (osb_session_run_prelude(s, true, m->cwd != NULL ? PRELUDE_MAKE : PRELUDE_STAY, m->cwd,
                                &m->prelude, &why) < 0)
        making_refuse(m, &why);
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
    m = hf_xalloc(sizeof *m);
    m->rq = rq;
    m->osb = osb_of(rq);
    m->cwd = hf_xstrdup(a.cwd);
    osb_session_request_fini(&a);
    pending_init(&m->pending, &m->osb->pending, &making_kind);
    http_set_user(rq, m, making_on_disconnect);
    if (session_create(m->osb->engine, &spec, making_on_created, m, &err) < 0) {
        http_set_user(rq, NULL, NULL);
        osb_error(rq, &err);
        making_free(&m->pending);
    }
}
