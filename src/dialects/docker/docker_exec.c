/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_exec.c - a command in the sandbox: create, start, resize, inspect. Layer: dialects.
 */
#include "dialects/docker/docker_env.h"
#include "dialects/docker/docker_inspect.h"
#include "dialects/docker/docker_not_started.h"
#include "dialects/docker/docker_stream.h"

/* Ids of execs are ids of containers: what an exec runs is a container. */
static bool exec_entry(struct http_request *rq, struct docker_entry *b)
{
    const char *id = http_param(rq, "id");

    if (docker_entry_find(docker_of(rq), id, b, NULL) == 0 && b->kind != DOCKER_ENTRY_SANDBOX)
        return true;
    docker_entry_fini(b);
    docker_fail(rq, 404, "No such exec instance: %.200s", id);
    return false;
}

/* --- POST /containers/{id}/exec ------------------------------------------------------ */

void docker_exec_create(struct http_request *rq)
{
    struct hf_error err = {0};
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (!docker_entry_is_running(&b)) {
        docker_fail(rq, 409, "container %s is not running", b.id);
    } else {
        json_auto_t *body = docker_body(rq);
        json_t *config = body != NULL ? docker_decode_exec(body, &err) : NULL;

        if (config != NULL)
            docker_env_inherit(docker_of(rq), &b, config);
        if (body != NULL)
            docker_make(rq, config, &err);
    }
}

/* --- POST /exec/{id}/start -------------------------------------------------------------- */

/* The exec's creation decides whether there is a terminal; its start decides about frames. */
static int open_stream(struct http_request *rq, struct created *c, const struct docker_start *start,
                       struct hf_error *err)
{
    const struct docker_stream_request request = {
        .in = docker_flag(c->config, "stdin"),
        .out = docker_flag(c->config, "out"),
        .err = docker_flag(c->config, "err"),
        .framed = !start->tty,
        .tty = docker_flag(c->config, "tty"),
        .close_stdin = true,
        .own = true,
        .since = STREAM_WHOLE,
        .keys = docker_text(c->config, "keys"),
    };

    return stream_open(rq, &request, NULL, c, err);
}

static void exec_run(struct http_request *rq, struct created *c, const struct docker_start *start)
{
    struct hf_error err = {0};

    if (start->rows > 0)
        docker_set_size(c->config, start->rows, start->cols);
    if (start->detach)
        launch_begin(c, rq);
    else if (open_stream(rq, c, start, &err) < 0)
        docker_error(rq, &err);
    else if (docker_minor(rq) < 42 && docker_flag(c->config, "tty") &&
             docker_int(c->config, "rows") == 0)
        launch_hold(c);
    else
        launch_begin(c, NULL);
}

static void exec_start(struct http_request *rq, struct docker_entry *b, const json_t *body)
{
    struct docker_start start;
    struct hf_error err = {0};

    if (docker_decode_start(&start, body, &err) < 0)
        docker_error(rq, &err);
    else if (b->kind != DOCKER_ENTRY_CREATED || b->created->state != CREATED_NEW)
        docker_fail(rq, 409, "exec command %s has already run", b->id);
    else if (!created_is_exec(b->created))
        docker_fail(rq, 404, "No such exec instance: %s", b->id);
    else
        exec_run(rq, b->created, &start);
}

void docker_exec_start(struct http_request *rq)
{
    docker_entry_auto b = {0};
    json_auto_t *body = exec_entry(rq, &b) ? dialect_object(rq) : NULL;

    if (body != NULL)
        exec_start(rq, &b, body);
}

/* --- POST /exec/{id}/resize, GET /exec/{id}/json ---------------------------------------------- */

void docker_exec_resize(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (exec_entry(rq, &b))
        docker_entry_resize(rq, &b);
}

/*
 * The code is null until there is one. A client that reads null as 0 inspects only after the end.
 */
static void write_state(struct json_out *o, const struct docker_entry *b)
{
    bool starting = b->kind == DOCKER_ENTRY_CREATED && b->created->state == CREATED_STARTING;
    bool failed = b->kind == DOCKER_ENTRY_CREATED && b->created->state == CREATED_FAILED;

    json_kbool(o, "Running", starting || b->v.running);
    json_kint_if(o, "ExitCode", failed || (b->kind == DOCKER_ENTRY_PROCESS && !b->v.running),
                 docker_entry_exit_code(b));
    json_kint(o, "Pid", b->v.pid);
}

void docker_exec_inspect(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    const char *container;
    struct json_out o;
    docker_entry_auto b = {0};

    if (!exec_entry(rq, &b))
        return;
    o = dialect_reply_open(&dk->base);
    json_kstr(&o, "ID", b.id);
    write_state(&o, &b);
    json_kopen(&o, "ProcessConfig", '{');
    json_kbool(&o, "tty", docker_entry_tty(&b));
    docker_inspect_command(&o, &b, "entrypoint", "arguments");
    json_kbool(&o, "privileged", false);
    json_kstr(&o, "user", docker_text(b.config, "user"));
    json_close(&o, '}');
    json_kbool(&o, "OpenStdin", docker_flag(b.config, "stdin"));
    json_kbool(&o, "OpenStdout", docker_flag(b.config, "out"));
    json_kbool(&o, "OpenStderr", docker_flag(b.config, "err"));
    json_kbool(&o, "CanRemove", false);
    container = docker_text(b.config, "container");
    json_kstr(&o, "ContainerID", container[0] != '\0' ? container : dk->sandbox_id);
    json_kstr(&o, "DetachKeys", docker_text(b.config, "keys"));
    docker_send(rq, 200, &o);
}
