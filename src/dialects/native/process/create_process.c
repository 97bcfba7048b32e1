/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_process.c - POST /v1/processes
 *
 * The engine keeps an Idempotency-Key with the process that it created. While that process is still
 * being started, the engine cannot find it by its key. So pending starts are listed here: a request
 * with the same key follows the first one and gets the same reply. Layer: dialects.
 */
#include <stdio.h>

#include "base/mem.h"
#include "dialects/common/idempotency.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct create {
    struct call call;
    struct list link; /* in native.spawning, or in a leader's followers */
    struct list followers;
    char *key;
    char hash[IDEMPOTENCY_HASH_LEN + 1];
};

static void create_release(struct call *call)
{
    struct create *c = list_entry(call, struct create, call);

    while (!list_is_empty(&c->followers))
        list_remove(c->followers.next);
    list_remove(&c->link);
    free(c->key);
}

/* A start takes milliseconds, so a shutdown waits for its reply. If the client disconnects, the
 * process keeps running. */
static const struct call_kind create_kind = {.stays = true, .release = create_release};

static struct create *create_new(struct http_request *rq, const struct idempotency *again)
{
    struct create *c = call_begin(rq, &create_kind, sizeof *c);

    list_init(&c->link);
    list_init(&c->followers);
    c->key = hf_xstrdup(again->key);
    memcpy(c->hash, again->hash, sizeof c->hash);
    return c;
}

static void reply_created(struct http_request *rq, struct process *p, bool replay)
{
    struct process_view v;
    char location[80];

    process_view(p, &v);
    snprintf(location, sizeof location, "/v1/processes/%s", v.id);
    http_add_header(rq, "Location", location);
    if (replay)
        http_add_header(rq, "Idempotent-Replay", "true");
    json_reply_process(rq, 201, p);
}

static void create_reply(struct create *c, struct process *p, const struct hf_error *err,
                         bool replay)
{
    struct http_request *rq = call_end(&c->call);

    if (rq == NULL)
        return;
    if (p == NULL)
        http_reply_error(rq, err);
    else
        reply_created(rq, p, replay);
}

static void create_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct create *c = arg;

    list_remove(&c->link); /* a reply may admit the next request with this key */
    while (!list_is_empty(&c->followers))
        create_reply(list_entry(c->followers.next, struct create, link), p, err, true);
    create_reply(c, p, err, false);
}

static struct create *find_spawning(struct native *n, const char *key)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->spawning) {
        struct create *c = list_entry(it, struct create, link);

        if (strcmp(c->key, key) == 0)
            return c;
    }
    return NULL;
}

/*
 * Checks whether the key is known. 1: replied, or a reply will follow. 0: the key is new. Negative:
 * err.
 */
static int create_replay(struct http_request *rq, const struct idempotency *again,
                         struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct create *leader;
    struct process *p;
    int rc = idempotency_find(again, n->base.engine, &p, err);

    if (rc != 0) {
        if (rc > 0)
            reply_created(rq, p, true);
        return rc;
    }
    leader = again->key != NULL ? find_spawning(n, again->key) : NULL;
    if (leader == NULL)
        return 0;
    if (idempotency_check(again, leader->hash, err) < 0)
        return -1;
    list_append(&leader->followers, &create_new(rq, again)->link);
    return 1;
}

static int create_spawn(struct http_request *rq, const json_t *body,
                        const struct idempotency *again, struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct spawn_request request;
    struct create *c;
    int rc = spawn_request_decode(&request, body, false, err);

    if (rc == 0) {
        request.spec.idempotency_key = again->key;
        request.spec.request_hash = again->key != NULL ? again->hash : NULL;
        c = create_new(rq, again);
        if (again->key != NULL)
            list_append(&n->spawning, &c->link);
        rc = engine_spawn(n->base.engine, &request.spec, create_on_spawned, c, err);
        if (rc < 0)
            call_end(&c->call);
    }
    spawn_request_fini(&request);
    return rc;
}

int create_handle(struct http_request *rq, struct hf_error *err)
{
    json_auto_t *body = NULL;
    struct idempotency again;
    int rc;

    if (dialect_check_open(dialect_base_of(rq), err) < 0 ||
        idempotency_decode(&again, rq, err) < 0 || (body = native_decode_json(rq, err)) == NULL)
        return -1;
    rc = create_replay(rq, &again, err);
    return rc != 0 ? rc : create_spawn(rq, body, &again, err);
}
