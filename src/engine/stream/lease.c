/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - which one of several viewers may type. Layer: engine.
 */
#include "engine/stream/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/stream/viewer_own.h"

static void lease_notify(struct process *p, const char *why)
{
    struct viewer_notice n = {.kind = NOTICE_LEASE, .by = why};

    viewers_notice(p, &n);
}

static void lease_clear(struct lease *l)
{
    free(l->client);
    free(l->name);
    timer_stop(l->grace);
    *l = (struct lease){.grace = l->grace};
}

void lease_fini(struct process *p)
{
    struct timer *grace = p->lease.grace;

    free(p->lease.client);
    free(p->lease.name);
    timer_close(grace);
    p->lease = (struct lease){0};
}

static void lease_end(struct process *p, const char *why)
{
    lease_clear(&p->lease);
    meta_store(p, NULL);
    lease_notify(p, why);
}

static void lease_on_grace(struct timer *t, void *arg)
{
    struct process *p = process_ref(arg);

    (void)t;
    if (p->lease.held && p->lease.holder == NULL)
        lease_end(p, "left");
    process_unref(p);
}

static void lease_wait(struct process *p)
{
    if (p->lease.grace == NULL)
        p->lease.grace = timer_new(p->engine->loop, lease_on_grace, p);
    timer_start(p->lease.grace, LEASE_GRACE_MS);
}

static void lease_grant(struct viewer *v)
{
    struct process *p = v->process;
    const char *why = p->lease.held ? "taken_over" : "taken";
    struct timer *grace;

    if (p->lease.grace == NULL)
        p->lease.grace = timer_new(p->engine->loop, lease_on_grace, p);
    grace = p->lease.grace;
    lease_clear(&p->lease);
    p->lease = (struct lease){
        .held = true,
        .holder = v,
        .client = hf_xstrdup(v->client),
        .name = hf_xstrdup(v->name),
        .role = v->role,
        .since_ms = clock_wall_ms(),
        .grace = grace,
    };
    meta_store(p, NULL);
    lease_notify(p, why);
}

/* --- attaching and detaching ---------------------------------------------------------- */

/* The same client of the same grant reconnects in time: nothing changes for anyone. */
void lease_on_attach(struct viewer *v)
{
    struct lease *l = &v->process->lease;

    if (!l->held || l->holder != NULL || v->internal || v->read_only || v->client == NULL ||
        l->client == NULL || strcmp(l->client, v->client) != 0 || l->role != v->role)
        return;
    l->holder = v;
    timer_stop(l->grace);
}

void lease_on_detach(struct viewer *v)
{
    struct process *p = v->process;

    if (p->lease.holder != v)
        return;
    p->lease.holder = NULL;
    if (p->lease.client != NULL && p->in_table)
        lease_wait(p);
    else
        lease_end(p, "left");
}

/* --- requests --------------------------------------------------------------------------- */

static int check_may_type(const struct viewer *v, struct hf_error *err)
{
    if (!v->read_only)
        return 0;
    return hf_fail(err, HF_E_forbidden, "this connection may only watch");
}

int viewer_lease_take(struct viewer *v, struct hf_error *err)
{
    const struct lease *l = &v->process->lease;

    if (check_may_type(v, err) < 0)
        return -1;
    if (l->held && l->role > v->role)
        return hf_fail(err, HF_E_lease_held,
                       "a viewer with the role \"%s\" holds the lease; request it with \"request\"",
                       viewer_role_name(l->role));
    if (l->holder != v)
        lease_grant(v);
    return 0;
}

int viewer_lease_release(struct viewer *v, struct hf_error *err)
{
    if (v->process->lease.holder != v)
        return hf_fail(err, HF_E_forbidden, "this viewer does not hold the lease");
    lease_end(v->process, "released");
    return 0;
}

int viewer_lease_request(struct viewer *v, struct hf_error *err)
{
    struct lease *l = &v->process->lease;
    struct viewer_notice n = {.kind = NOTICE_LEASE_REQUEST, .by = v->name};

    if (!l->held)
        return viewer_lease_take(v, err);
    if (check_may_type(v, err) < 0)
        return -1;
    if (l->holder != NULL && l->holder != v && l->holder->ops->notice != NULL)
        l->holder->ops->notice(l->holder->arg, &n);
    return 0;
}

bool process_lease(const struct process *p, const struct viewer *v, struct lease_view *out)
{
    const struct lease *l = &p->lease;
    char label[VIEWER_LABEL_BYTES];
    const char *client = viewer_client_for(p, l->client, v, label);

    *out = (struct lease_view){.has_client = client != NULL,
                               .name = l->name,
                               .role = l->role,
                               .since_ms = l->since_ms,
                               .mine = v != NULL && l->holder == v};
    snprintf(out->client, sizeof out->client, "%s", client != NULL ? client : "");
    return l->held;
}

int lease_check(const struct process *p, const struct viewer *v, struct hf_error *err)
{
    const struct lease *l = &p->lease;
    const char *name = l->name;

    if (!l->held || (v != NULL && l->holder == v))
        return 0;
    return hf_fail(err, HF_E_lease_held, "%s holds the lease: only that viewer may type now",
                   name != NULL ? name : "another viewer");
}

/* --- saving and loading ---------------------------------------------------------------- */

/* Saves only a holder that can be recognised when it reconnects. */
void lease_write(const struct process *p, struct json_out *o)
{
    const struct lease *l = &p->lease;

    if (!l->held || l->client == NULL)
        return;
    json_key(o, "lease");
    json_open(o, '{');
    json_kstr(o, "client", l->client);
    json_kstr(o, "name", l->name);
    json_kint(o, "role", l->role);
    json_kint(o, "since_ms", l->since_ms);
    json_close(o, '}');
}

void lease_load(struct process *p, const json_t *o)
{
    const char *client = json_string_value(json_object_get(o, "client"));
    json_int_t role = json_integer_value(json_object_get(o, "role"));

    if (client == NULL || role < VIEWER_TYPE || role > VIEWER_OWN)
        return;
    p->lease.held = true;
    p->lease.client = hf_xstrdup(client);
    p->lease.name = hf_xstrdup(json_string_value(json_object_get(o, "name")));
    p->lease.role = (enum viewer_role)role;
    p->lease.since_ms = json_integer_value(json_object_get(o, "since_ms"));
    lease_wait(p);
}
