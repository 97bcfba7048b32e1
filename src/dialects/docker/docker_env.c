/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_env.c - what an exec inherits from its container. Layer: dialects.
 */
#include "dialects/docker/docker_env.h"

#include <stdlib.h>
#include <string.h>

#include "engine/notes.h"

#define ENV_NOTE "docker.env"

/* --- keeping them ---------------------------------------------------------------------------- */

/* No exec gets into a container that has ended. */
static void drop_ended(struct docker *dk)
{
    const char *id;
    json_t *env;
    void *next;

    json_object_foreach_safe(dk->env, next, id, env)
    {
        struct process *p = engine_find(dk->base.engine, id, NULL);

        if (p == NULL || !process_is_running(p))
            json_object_del(dk->env, id);
    }
}

static size_t length(const json_t *tree)
{
    return json_dumpb(tree, NULL, 0, JSON_COMPACT);
}

/* The oldest that fit. */
static void save(struct docker *dk)
{
    json_t *saved = json_object(), *env;
    size_t left = LIMIT_DOCKER_ENV_NOTE_BYTES;
    const char *id;
    char *text;

    json_object_foreach (dk->env, id, env) {
        size_t len = length(env) + strlen(id) + sizeof "\"\":,{}";

        if (len > left)
            continue;
        left -= len;
        json_object_set(saved, id, env);
    }
    text = json_dumps(saved, JSON_COMPACT);
    (void)engine_note_set(dk->base.engine, ENV_NOTE, text, strlen(text));
    free(text);
    json_decref(saved);
}

void docker_env_keep(struct docker *dk, const struct process *p, const json_t *config)
{
    json_t *env = json_object_get(config, "env");

    if (json_array_size(env) == 0)
        return;
    drop_ended(dk);
    if (length(dk->env) + length(env) <= LIMIT_DOCKER_CREATED_BYTES)
        json_object_set(dk->env, process_id(p), env);
    save(dk);
}

json_t *docker_env_of(const struct docker *dk, const struct process *p)
{
    return json_object_get(dk->env, process_id(p));
}

void docker_env_recall(struct docker *dk)
{
    size_t len = 0;
    const char *note = engine_note(dk->base.engine, ENV_NOTE, &len);

    dk->env = note != NULL ? json_parse(note, len, NULL) : NULL;
    if (!json_is_object(dk->env)) {
        json_decref(dk->env);
        dk->env = json_object();
    }
}

/* --- inheriting ------------------------------------------------------------------------------ */

static void inherit_text(json_t *config, const char *name, const char *value)
{
    if (docker_text(config, name)[0] == '\0' && value != NULL && value[0] != '\0')
        json_object_set_new(config, name, json_string(value));
}

/* The last value of a name counts, so those of the exec come last. */
void docker_env_inherit(struct docker *dk, const struct docker_entry *b, json_t *config)
{
    json_t *env = json_array(), *own = json_object_get(config, "env");

    inherit_text(config, "container", b->id);
    if (b->kind == DOCKER_ENTRY_PROCESS) {
        json_array_extend(env, docker_env_of(dk, b->process));
        inherit_text(config, "cwd", b->v.cwd);
        inherit_text(config, "user", docker_text(b->config, "user"));
    }
    json_array_extend(env, own);
    json_object_set_new(config, "env", env);
}
