/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_launch.c - starts the process of a container or exec that was created. Layer: dialects.
 */
#include "dialects/docker/docker_launch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_stream.h"
#include "dialects/docker/docker_wait_list.h"

struct launch {
    struct pending pending;
    struct docker *docker;
    struct created *created;
    struct http_request *rq; /* NULL: no client is waiting for the reply */
    int status;
};

static void launch_free(struct pending *p)
{
    pending_fini(p);
    free(list_entry(p, struct launch, pending));
}

/* The keeper replies soon, so a drain need not cancel it. */
static const struct pending_kind launch_kind = {.drain = NULL, .free = launch_free};

static void launch_on_disconnect(void *user)
{
    ((struct launch *)user)->rq = NULL;
}

static void launched(const struct launch *l, struct process *p)
{
    struct created *c = l->created;

    c->state = CREATED_NEW;
    if (c->rows > 0)
        (void)process_resize(p, c->rows, c->cols, "docker", NULL);
    if (docker_flag(c->config, "remove"))
        auto_remove(l->docker, p);
    waits_bind(c, p);
    streams_bind(c, p, "");
    docker_created_remove(c);
    if (l->rq != NULL)
        docker_empty(l->rq, l->status);
}

/*
 * An exec's client gets the reason as output and the code by inspecting it; a container's client
 * gets both in the reply.
 */
static void launch_failed(const struct launch *l, const struct hf_error *err)
{
    struct created *c = l->created;
    int status = err->code == HF_E_spawn_failed ? 400 : hf_code_status(err->code);
    char text[sizeof c->error];

    c->exit_code = docker_spawn_error(err, c->config, c->error, sizeof c->error);
    c->state = CREATED_FAILED;
    snprintf(text, sizeof text, "%s", c->error);
    streams_bind(c, NULL, created_is_exec(c) ? text : "");
    if (docker_flag(c->config, "remove")) {
        waits_end(c, c->exit_code);
        docker_created_remove(c);
    } else {
        docker_created_keep(l->docker);
    }
    if (l->rq != NULL)
        docker_fail(l->rq, status, "%s", text);
}

static void launch_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct launch l = *(struct launch *)arg;

    if (l.rq != NULL)
        http_set_user(l.rq, NULL, NULL);
    launch_free(&((struct launch *)arg)->pending);
    if (p != NULL)
        launched(&l, p);
    else
        launch_failed(&l, err);
}

void launch_begin(struct created *c, struct http_request *rq, int status)
{
    struct docker *dk = c->docker;
    struct launch *l = hf_xalloc(sizeof *l);
    struct hf_error err = {0};
    struct docker_spec s;
    char key[DOCKER_ID_LEN + 8];

    l->docker = dk;
    l->created = c;
    l->rq = rq;
    l->status = status;
    pending_init(&l->pending, &dk->base.pending, &launch_kind);
    if (rq != NULL)
        http_set_user(rq, l, launch_on_disconnect);
    c->state = CREATED_STARTING;
    docker_spec_init(&s, c->config, dk->hostname);
    snprintf(key, sizeof key, "docker:%s", c->id);
    s.spec.idempotency_key = key;
    s.spec.request_hash = c->id;
    if (engine_spawn(dk->base.engine, &s.spec, launch_on_spawned, l, &err) < 0)
        launch_on_spawned(l, NULL, &err);
    docker_spec_fini(&s);
}

void launch_sized(struct created *c)
{
    if (c->hold == NULL)
        return;
    timer_close(c->hold);
    c->hold = NULL;
    launch_begin(c, NULL, 0);
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
