/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_restart.c - POST …/restart: ends a container's process tree and starts its command again
 *
 * A process runs once, so the container's next run is another process under the same id and name;
 * what the first one has written goes with it. Only what Docker's client started and what still
 * runs can be restarted, because nothing else has all that it was started with. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_env.h"
#include "dialects/docker/docker_limits.h"
#include "dialects/docker/docker_not_started.h"

struct docker_restart {
    struct call call;
    json_t *config;
    char id[DOCKER_ID_LEN + 1];
    struct process *process; /* referenced */
    struct task again;       /* once its record is dropped, for the id is unique */
};

static void restart_release(struct call *c)
{
    struct docker_restart *r = (struct docker_restart *)c;

    task_cancel(&r->again);
    process_end_cancel(r->process, r);
    process_unref(r->process);
    json_decref(r->config);
}

/* It continues without its client. */
static const struct call_kind restart_kind = {
    .release = restart_release,
    .stays = true,
    .drain_text = "the daemon is shutting down; the container ends, and is not started again",
};

/* All that it was started with. */
static json_t *config_of(struct docker *dk, const struct docker_entry *b)
{
    json_t *config = json_copy(b->config), *argv = json_array();

    json_array_append_new(argv, json_string(b->v.command));
    for (size_t i = 0; i < b->v.arg_count; i++)
        json_array_append_new(argv, json_string(b->v.args[i]));
    json_object_set_new(config, "argv", argv);
    json_object_set_new(config, "cwd", json_string(b->v.cwd));
    if (b->v.tag != NULL)
        json_object_set_new(config, "name", json_string(b->v.tag));
    json_object_set(config, "env", docker_env_of(dk, b->process));
    if (b->v.pty)
        docker_set_size(config, b->v.rows, b->v.cols);
    return config;
}

static void restart_again(void *arg)
{
    struct docker_restart *r = arg;
    struct created *c =
        docker_created_again((struct docker *)r->call.base, json_incref(r->config), r->id);

    launch_begin(c, call_end(&r->call));
}

static void restart_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct docker_restart *r = arg;

    (void)p, (void)s;
    r->again.fn = restart_again;
    r->again.arg = r;
    loop_defer(r->call.base->loop, &r->again);
}

/* Its process may run until the grace is over; then its next run is created, and listed before its
 * variables are known. */
static bool is_restarting(struct docker *dk, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &dk->base.calls) {
        struct docker_restart *r = (struct docker_restart *)list_entry(it, struct call, link);

        if (r->call.kind == &restart_kind && strcmp(r->id, id) == 0)
            return true;
    }
    list_for_each (it, tmp, &dk->created) {
        const struct created *c = list_entry(it, struct created, link);

        if (c->state == CREATED_STARTING && strcmp(c->id, id) == 0)
            return true;
    }
    return false;
}

/* False: replied why not. */
static bool may_restart(struct http_request *rq, const struct docker_entry *b)
{
    if (b->kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409,
                    "the sandbox itself cannot be restarted: restart one of its processes");
    else if (is_restarting(docker_of(rq), b->id))
        docker_fail(rq, 409, "container %s is already being restarted or started", b->id);
    else if (!docker_entry_is_running(b) ||
             strcmp(docker_text(b->config, "kind"), "container") != 0)
        docker_fail(rq, 409,
                    "container %s cannot be restarted: only what docker run started and what "
                    "still runs can",
                    b->id);
    else if (docker_flag(b->config, "variables") &&
             docker_env_of(docker_of(rq), b->process) == NULL)
        docker_fail(rq, 409, "container %s cannot be restarted: its variables were not kept",
                    b->id);
    else
        return true;
    return false;
}

void docker_restart(struct http_request *rq)
{
    docker_entry_auto b = {0};
    struct docker_restart *r;
    int64_t grace_ms;

    if (!docker_entry_of_request(rq, &b) || !may_restart(rq, &b) ||
        !docker_stop_grace(rq, &grace_ms))
        return;
    r = call_begin(rq, &restart_kind, sizeof *r);
    r->config = config_of(docker_of(rq), &b);
    r->process = process_ref(b.process);
    memcpy(r->id, b.id, sizeof r->id);
    process_delete(b.process, grace_ms, "api", restart_on_ended, r);
}
