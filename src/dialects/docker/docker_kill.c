/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_kill.c - kill, stop, remove
 *
 * KILL, stop, and the removal of a running container kill the whole process tree, as the end of a
 * container ends everything in it. Other signals go to the process group. Layer: dialects.
 */
#include <signal.h>

#include "base/limits.h"
#include "base/signals.h"
#include "dialects/common/request_checks.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_limits.h"
#include "dialects/docker/docker_stream.h"

struct docker_kill_shutdown {
    struct call call;
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer; /* stop with a custom signal: until the kill */
    bool signalling;     /* the keeper has not replied */
};

static void ending_release(struct call *c)
{
    struct docker_kill_shutdown *e = (struct docker_kill_shutdown *)c;

    process_end_cancel(e->process, e);
    exit_waiter_cancel(&e->waiter);
    timer_close(e->timer);
    process_unref(e->process);
}

static void ending_done(struct docker_kill_shutdown *e)
{
    struct http_request *rq = call_end(&e->call);

    if (rq != NULL)
        docker_empty(rq, 204);
}

/* The keeper holds a pointer to this, so wait for its reply. */
static void ending_drain(struct call *c)
{
    struct hf_error err = {0};

    if (((struct docker_kill_shutdown *)c)->signalling)
        return;
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again");
    call_fail(c, &err);
}

/* The operation continues without its client. */
static const struct call_kind ending_kind = {
    .release = ending_release, .stays = true, .drain = ending_drain};

static struct docker_kill_shutdown *ending_new(struct http_request *rq, struct process *p)
{
    struct docker_kill_shutdown *e = call_begin(rq, &ending_kind, sizeof *e);

    e->process = process_ref(p);
    list_init(&e->waiter.link);
    return e;
}

static void ending_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    ending_done(arg);
}

static void ending_end(struct docker_kill_shutdown *e, int64_t grace_ms)
{
    process_terminate(e->process, grace_ms, "api", ending_on_ended, e);
}

/* --- kill ------------------------------------------------------------------------------ */

static void kill_on_signal(void *arg, int rc, const struct hf_error *err)
{
    struct docker_kill_shutdown *e = arg;

    e->signalling = false;
    if (rc < 0)
        call_fail(&e->call, err);
    else
        ending_done(e);
}

static void kill_with(struct http_request *rq, struct process *p, int signum)
{
    struct docker_kill_shutdown *e = ending_new(rq, p);
    struct hf_error err = {0};

    if (signum == SIGKILL) {
        ending_end(e, 0);
        return;
    }
    e->signalling = true;
    if (process_signal(p, signum, TARGET_GROUP, kill_on_signal, e, &err) < 0)
        kill_on_signal(e, -1, &err);
}

/* False: the request has been replied to. */
static bool decode_signal(struct http_request *rq, int usual, int *signum)
{
    const char *name = http_query(rq, "signal");
    struct hf_error err = {0};

    *signum = name != NULL && name[0] != '\0' ? signal_from_name(name) : usual;
    if (*signum < 1)
        docker_fail(rq, 400, "invalid signal: %.100s", name);
    else if (check_signal_role(*signum, http_role(rq), &err) < 0)
        docker_error(rq, &err);
    else
        return true;
    return false;
}

void docker_kill(struct http_request *rq)
{
    docker_entry_auto b = {0};
    int signum;

    if (!docker_entry_of_request(rq, &b))
        return;
    if (b.kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409, "the sandbox itself cannot be killed: kill one of its processes");
    else if (!docker_entry_is_running(&b))
        docker_fail(rq, 409, "cannot kill container: %s: container %s is not running",
                    http_param(rq, "id"), b.id);
    else if (decode_signal(rq, SIGKILL, &signum))
        kill_with(rq, b.process, signum);
}

/* --- stop ---------------------------------------------------------------------------------- */

static void stop_on_exit(void *arg, struct process *p)
{
    (void)p;
    ending_end(arg, 0); /* survivors */
}

static void stop_on_timer(struct timer *t, void *arg)
{
    struct docker_kill_shutdown *e = arg;

    (void)t;
    exit_waiter_cancel(&e->waiter);
    ending_end(e, 0);
}

/* For a custom signal; process_terminate() uses TERM. */
static void stop_with(struct http_request *rq, struct process *p, int signum, int64_t grace_ms)
{
    struct docker_kill_shutdown *e = ending_new(rq, p);

    if (signum == SIGTERM) {
        ending_end(e, grace_ms);
        return;
    }
    e->waiter.fn = stop_on_exit;
    e->waiter.arg = e;
    process_wait_exit(p, &e->waiter);
    e->timer = timer_new(e->call.base->loop, stop_on_timer, e);
    timer_start(e->timer, (uint64_t)grace_ms);
    (void)process_signal(p, signum, TARGET_TREE, NULL, NULL, NULL);
}

/* Seconds there; -1: no limit. */
bool docker_stop_grace(struct http_request *rq, int64_t *ms)
{
    int64_t seconds = DOCKER_STOP_MS / 1000;

    if (!docker_query_number(rq, "t", "timeout", LIMIT_DURATION_MS / 1000, &seconds))
        return false;
    *ms = seconds < 0 ? LIMIT_DURATION_MS : seconds * 1000;
    return true;
}

void docker_stop(struct http_request *rq)
{
    int64_t grace_ms;
    docker_entry_auto b = {0};
    int signum;

    if (!docker_entry_of_request(rq, &b))
        return;
    if (b.kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409, "the sandbox itself cannot be stopped: stop one of its processes");
    else if (!docker_entry_is_running(&b))
        docker_empty(rq, 304);
    else if (docker_stop_grace(rq, &grace_ms) && decode_signal(rq, SIGTERM, &signum))
        stop_with(rq, b.process, signum, grace_ms);
}

/* --- remove ---------------------------------------------------------------------------------- */

static void remove_created(struct http_request *rq, struct created *c)
{
    if (c->state == CREATED_STARTING) {
        docker_fail(rq, 409, "container %s is being started", c->id);
        return;
    }
    streams_bind(c, NULL, "");
    waits_end(c, c->exit_code);
    docker_created_remove(c);
    docker_empty(rq, 204);
}

static void remove_process(struct http_request *rq, struct process *p)
{
    process_delete(p, 0, "api", ending_on_ended, ending_new(rq, p));
}

void docker_remove(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (b.kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409, "the sandbox itself cannot be removed");
    else if (b.kind == DOCKER_ENTRY_CREATED)
        remove_created(rq, b.created);
    else if (docker_entry_is_running(&b) && !docker_query(rq, "force"))
        docker_fail(rq, 409,
                    "cannot remove container \"/%s\": container is running: stop the container "
                    "before removing or force remove",
                    b.name);
    else
        remove_process(rq, b.process);
}
