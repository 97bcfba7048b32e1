/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_not_started.c - keeps containers and execs that were created but not started.
 * Layer: dialects.
 */
#include "dialects/docker/docker_not_started.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_limits.h"
#include "engine/notes.h"

#define CREATED_NOTE "docker.created"

static size_t config_bytes(const json_t *config)
{
    return json_dumpb(config, NULL, 0, JSON_COMPACT);
}

static size_t *count_of(const struct created *c)
{
    return created_is_exec(c) ? &c->docker->execs : &c->docker->containers;
}

static struct created *created_add(struct docker *dk, json_t *config)
{
    struct created *c = hf_xalloc(sizeof *c);

    c->docker = dk;
    c->config = config;
    c->bytes = config_bytes(config);
    c->created_ms = clock_wall_ms();
    list_init(&c->streams);
    list_init(&c->waits);
    list_prepend(&dk->created, &c->link);
    dk->created_bytes += c->bytes;
    ++*count_of(c);
    return c;
}

static void created_drop(struct created *c)
{
    struct docker *dk = c->docker;

    list_remove(&c->link);
    dk->created_bytes -= c->bytes;
    --*count_of(c);
    timer_close(c->hold);
    json_decref(c->config);
    free(c);
}

void docker_created_remove(struct created *c)
{
    struct docker *dk = c->docker;

    created_drop(c);
    docker_created_keep(dk);
}

void docker_created_free_all(struct docker *dk)
{
    while (!list_is_empty(&dk->created))
        created_drop(list_entry(dk->created.next, struct created, link));
}

/* --- limits ----------------------------------------------------------------------- */

/* The oldest exec that is not being started. */
static bool drop_exec(struct docker *dk)
{
    for (struct list *it = dk->created.prev; it != &dk->created; it = it->prev) {
        struct created *c = list_entry(it, struct created, link);

        if (created_is_exec(c) && c->state != CREATED_STARTING && list_is_empty(&c->streams)) {
            created_drop(c);
            return true;
        }
    }
    return false;
}

static int make_room(struct docker *dk, const json_t *config, struct hf_error *err)
{
    bool exec = strcmp(docker_text(config, "kind"), "exec") == 0;
    size_t bytes = config_bytes(config);

    if (!exec && dk->containers >= LIMIT_DOCKER_CREATED)
        return hf_fail(err, HF_E_too_many_processes,
                       "%d containers were created but not started: start or remove some",
                       LIMIT_DOCKER_CREATED);
    while ((exec && dk->execs >= LIMIT_DOCKER_EXECS) ||
           dk->created_bytes + bytes > LIMIT_DOCKER_CREATED_BYTES)
        if (!drop_exec(dk))
            return hf_fail(
                err, HF_E_too_many_processes,
                "containers that were not started take too much memory: start or remove some");
    return 0;
}

struct created *docker_created_new(struct docker *dk, json_t *config, struct hf_error *err)
{
    uint8_t raw[DOCKER_ID_LEN / 2];
    struct created *c;

    if (make_room(dk, config, err) < 0) {
        json_decref(config);
        return NULL;
    }
    c = created_add(dk, config);
    crypto_random(raw, sizeof raw);
    hex_encode(c->id, raw, sizeof raw);
    docker_created_keep(dk);
    return c;
}

struct created *docker_created_again(struct docker *dk, json_t *config, const char *id)
{
    struct created *c = created_add(dk, config);

    snprintf(c->id, sizeof c->id, "%s", id);
    return c;
}

/* --- the note ---------------------------------------------------------------------- */

static json_t *item_of(const struct created *c)
{
    json_t *item = json_object();

    json_object_set_new(item, "id", json_string(c->id));
    json_object_set(item, "config", c->config);
    json_object_set_new(item, "created_ms", json_integer(c->created_ms));
    if (c->state == CREATED_FAILED) {
        json_object_set_new(item, "exit_code", json_integer(c->exit_code));
        json_object_set_new(item, "error", json_string(c->error));
    }
    return item;
}

/*
 * Oldest first, the order in which they are read back. Entries that are too long stay in this
 * worker only.
 */
void docker_created_keep(struct docker *dk)
{
    json_t *all = json_array();
    size_t total = 2;
    struct list *it, *tmp;
    char *text;

    list_for_each (it, tmp, &dk->created) {
        const struct created *c = list_entry(it, struct created, link);
        size_t bytes = c->bytes + sizeof c->error + 200;

        if (bytes > LIMIT_DOCKER_NOTE_ITEM_BYTES || total + bytes > LIMIT_DOCKER_NOTE_BYTES)
            continue;
        total += bytes;
        json_array_insert_new(all, 0, item_of(c));
    }
    text = json_array_size(all) > 0 ? json_dumps(all, JSON_COMPACT) : NULL;
    (void)engine_note_set(dk->base.engine, CREATED_NOTE, text != NULL ? text : "",
                          text != NULL ? strlen(text) : 0);
    free(text);
    json_decref(all);
}

/* An entry that was started at the last moment is a process now. */
static void recall_item(struct docker *dk, const json_t *item)
{
    const char *id = docker_text(item, "id");
    json_t *config = json_object_get(item, "config");
    struct created *c;

    if (strlen(id) != DOCKER_ID_LEN || !json_is_object(config) ||
        docker_entry_process_by_id(dk, id) != NULL)
        return;
    c = created_add(dk, json_incref(config));
    memcpy(c->id, id, sizeof c->id);
    c->created_ms = docker_int(item, "created_ms");
    if (json_object_get(item, "exit_code") != NULL) {
        c->state = CREATED_FAILED;
        c->exit_code = (int)docker_int(item, "exit_code");
        strncpy(c->error, docker_text(item, "error"), sizeof c->error - 1);
    }
}

void docker_created_recall(struct docker *dk)
{
    size_t len = 0;
    const char *text = engine_note(dk->base.engine, CREATED_NOTE, &len);
    json_auto_t *all = text != NULL ? json_parse(text, len, NULL) : NULL;

    for (size_t i = 0; i < json_array_size(all); i++)
        recall_item(dk, json_array_get(all, i));
}
