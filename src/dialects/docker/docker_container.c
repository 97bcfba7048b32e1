/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_container.c - a process as a container: create, start, resize. Layer: dialects.
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/request_checks.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_not_started.h"
#include "engine/users.h"

/* --- POST /containers/create ---------------------------------------------------------- */

/* A name is reserved until its container is removed, even if that has exited. */
static bool name_is_free(struct http_request *rq, const char *name)
{
    struct docker *dk = docker_of(rq);
    bool free_name = true;
    struct docker_entry b;

    if (name == NULL)
        return true;
    if (!docker_name_ok(name)) {
        docker_fail(rq, 400,
                    "Invalid container name (%.130s), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed, "
                    "at most %d of them",
                    name, LIMIT_TAG_BYTES);
        return false;
    }
    if (docker_entry_find(dk, name, &b, NULL) == 0) {
        free_name = strcmp(b.name, name) != 0;
        if (!free_name)
            docker_fail(rq, 409,
                        "Conflict. The container name \"/%s\" is already in use by container "
                        "\"%s\". You have to remove (or rename) that container to be able to "
                        "reuse that name.",
                        name, b.id);
    }
    docker_entry_fini(&b);
    return free_name;
}

static int check_user(const json_t *config, struct hf_error *err)
{
    const char *user_name = docker_text(config, "user");
    struct user user;
    int rc = user_name[0] == '\0' ? 0 : user_find(user_name, &user, err);

    if (rc != -ENOENT)
        return rc;
    return hf_fail_field(err, HF_E_bad_value, "User",
                         "unable to find user %.100s: no matching entries in passwd file",
                         user_name);
}

void docker_make(struct http_request *rq, json_t *config, struct hf_error *err)
{
    struct created *c = NULL;
    struct json_out o;

    if (config != NULL && check_user(config, err) == 0)
        c = docker_created_new(docker_of(rq), json_incref(config), err);
    json_decref(config);
    if (c == NULL) {
        docker_error(rq, err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "Id", c->id);
    if (!created_is_exec(c)) {
        json_kopen(&o, "Warnings", '[');
        json_close(&o, ']');
    }
    docker_send(rq, 201, &o);
}

void docker_create(struct http_request *rq)
{
    const char *name = http_query(rq, "name");
    json_auto_t *body = docker_body(rq);
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (name != NULL && name[0] == '/')
        name++;
    if (name != NULL && name[0] == '\0')
        name = NULL;
    if (name_is_free(rq, name))
        docker_make(rq, docker_decode_create(body, name, &err), &err);
}

/* --- POST /containers/{id}/start ---------------------------------------------------------- */

void docker_start(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (docker_entry_is_running(&b) ||
        (b.kind == DOCKER_ENTRY_CREATED && b.created->state == CREATED_STARTING))
        docker_empty(rq, 304);
    else if (b.kind == DOCKER_ENTRY_PROCESS)
        docker_fail(rq, 409,
                    "container %s has exited and cannot be restarted: a process runs once; use "
                    "docker run again",
                    b.id);
    else if (created_is_exec(b.created))
        docker_fail(rq, 404, "No such container: %s", b.id);
    else
        launch_begin(b.created, rq);
}

/* --- resize ------------------------------------------------------------------------------ */

static bool decode_side(struct http_request *rq, const char *name, int64_t *out)
{
    const char *text = http_query(rq, name);

    if (text != NULL && text_to_i64(text, 0, UINT32_MAX, out))
        return true;
    docker_fail(rq, 400, "query parameter %s must be a number", name);
    return false;
}

/*
 * The client requests this within milliseconds of the start; it applies once there is a terminal.
 */
static void size_created(struct http_request *rq, struct created *c, int64_t rows, int64_t cols)
{
    docker_set_size(c->config, rows, cols);
    c->rows = rows;
    c->cols = cols;
    launch_sized(c);
    docker_empty(rq, 200);
}

void docker_entry_resize(struct http_request *rq, struct docker_entry *b)
{
    struct hf_error err = {0};
    int64_t rows, cols;

    if (!decode_side(rq, "h", &rows) || !decode_side(rq, "w", &cols))
        return;
    if (b->kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409, "the sandbox itself has no terminal: resize one of its processes");
    else if (check_size(rows, cols, &err) < 0)
        docker_error(rq, &err);
    else if (b->kind == DOCKER_ENTRY_CREATED && b->created->state != CREATED_FAILED)
        size_created(rq, b->created, rows, cols);
    else if (b->kind == DOCKER_ENTRY_CREATED)
        docker_fail(rq, 409, "container %s is not running", b->id);
    else if (process_resize(b->process, rows, cols, "docker", &err) < 0)
        docker_error(rq, &err);
    else
        docker_empty(rq, 200);
}

void docker_resize(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (docker_entry_of_request(rq, &b))
        docker_entry_resize(rq, &b);
}

/* Calls that Docker has and holdfast does not: a clear error is better than "page not found". */
void docker_unserved(struct http_request *rq)
{
    docker_fail(rq, 501, "not supported: with holdfast, a container is a process of the sandbox");
}
