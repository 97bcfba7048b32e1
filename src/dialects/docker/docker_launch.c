/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_launch.c - starts the process of a container or exec that was created. Layer: dialects.
 */
#include "dialects/docker/docker_not_started.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/docker/docker_env.h"
#include "dialects/docker/docker_limits.h"
#include "dialects/docker/docker_stream.h"

/* --- --rm: removes a container when its process has ended ----------------------------- */

struct docker_launch_removal {
    struct call call; /* without a request */
    struct exit_waiter waiter;
};

static void removal_release(struct call *c)
{
    exit_waiter_cancel(&list_entry(c, struct docker_launch_removal, call)->waiter);
}

static const struct call_kind removal_kind = {.release = removal_release, .stays = true};

static void removal_on_exit(void *arg, struct process *p)
{
    struct docker_launch_removal *r = arg;

    call_end(&r->call);
    process_forget(p);
}

static void auto_remove(struct docker *dk, struct process *p)
{
    struct docker_launch_removal *r = hf_xalloc(sizeof *r);

    list_init(&r->waiter.link);
    r->waiter.fn = removal_on_exit;
    r->waiter.arg = r;
    call_adopt_unattended(&r->call, &dk->base, &removal_kind);
    process_wait_exit(p, &r->waiter);
}

void launch_remove_all(struct docker *dk)
{
    struct process *p = NULL;

    while ((p = engine_next(dk->base.engine, p)) != NULL) {
        struct docker_entry b;

        docker_entry_of_process(p, &b);
        if (docker_flag(b.config, "remove"))
            auto_remove(dk, p);
        docker_entry_fini(&b);
    }
}

/* --- the request that starts it --------------------------------------------------------- */

struct starter {
    struct call call;
    struct created *created;
};

static void starter_release(struct call *c)
{
    ((struct starter *)c)->created->starter = NULL;
}

/* The keeper replies soon, so a drain need not cancel it. */
static const struct call_kind starter_kind = {.release = starter_release,
                                              .drain = call_outlast_drain};

/* Ends it and returns its request; NULL: no client is waiting for the reply. */
static struct http_request *starter_end(struct created *c)
{
    return c->starter != NULL ? call_end(&c->starter->call) : NULL;
}

/* --- the start ---------------------------------------------------------------------------- */

static void launched(struct created *c, struct process *p)
{
    struct http_request *rq = starter_end(c);
    int status = created_is_exec(c) ? 200 : 204;

    c->state = CREATED_NEW;
    if (c->rows > 0)
        (void)process_resize(p, c->rows, c->cols, "docker", NULL);
    if (docker_flag(c->config, "remove"))
        auto_remove(c->docker, p);
    docker_env_keep(c->docker, p, c->config);
    waits_bind(c, p);
    streams_bind(c, p, "");
    docker_created_remove(c);
    if (rq != NULL)
        docker_empty(rq, status);
}

/*
 * An exec's client gets the reason as output and the code by inspecting it; a container's client
 * gets both in the reply.
 */
static void launch_failed(struct created *c, const struct hf_error *err)
{
    struct http_request *rq = starter_end(c);
    char text[sizeof c->error];

    c->exit_code = docker_spawn_error(err, c->config, c->error, sizeof c->error);
    c->state = CREATED_FAILED;
    snprintf(text, sizeof text, "%s", c->error);
    streams_bind(c, NULL, created_is_exec(c) ? text : "");
    if (docker_flag(c->config, "remove")) {
        waits_end(c, c->exit_code);
        docker_created_remove(c);
    } else {
        docker_created_keep(c->docker);
    }
    if (rq != NULL)
        docker_fail(rq, err->code == HF_E_spawn_failed ? 400 : hf_code_status(err->code), "%s",
                    text);
}

static void launch_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    if (p != NULL)
        launched(arg, p);
    else
        launch_failed(arg, err);
}

/* What is being started is not removed, so it outlives the keeper's reply. */
void launch_begin(struct created *c, struct http_request *rq)
{
    struct docker *dk = c->docker;
    struct hf_error err = {0};
    struct docker_spec s;
    int rc;
    char key[DOCKER_ID_LEN + 8];

    if (rq != NULL) {
        c->starter = call_begin(rq, &starter_kind, sizeof *c->starter);
        c->starter->created = c;
    }
    c->state = CREATED_STARTING;
    json_object_set_new(c->config, "id", json_string(c->id)); /* for docker_entry_of_event() */
    rc = docker_spec_init(&s, c->config, dk->hostname, &err);
    snprintf(key, sizeof key, "docker:%s", c->id);
    s.body.spec.idempotency_key = key;
    s.body.spec.request_hash = c->id;
    if (rc < 0 || engine_spawn(dk->base.engine, &s.body.spec, launch_on_spawned, c, &err) < 0)
        launch_on_spawned(c, NULL, &err);
    docker_spec_fini(&s);
}

void launch_sized(struct created *c)
{
    if (c->hold == NULL)
        return;
    timer_close(c->hold);
    c->hold = NULL;
    launch_begin(c, NULL);
}

static void launch_on_held(struct timer *t, void *arg)
{
    (void)t;
    launch_sized(arg);
}

void launch_hold(struct created *c)
{
    c->state = CREATED_STARTING;
    c->hold = timer_new(c->docker->base.loop, launch_on_held, c);
    timer_start(c->hold, DOCKER_SIZE_MS);
}
