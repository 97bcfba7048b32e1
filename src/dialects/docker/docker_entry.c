/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_entry.c - finds containers, and derives their id, name and state. Layer: dialects.
 */
#include "dialects/docker/docker_entry.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"
#include "dialects/common/file_op.h"

#define KEY_PREFIX "docker:"
#define SHORT_ID_LEN 12

void docker_entry_fini(struct docker_entry *b)
{
    json_decref(b->config);
    *b = (struct docker_entry){0};
}

/* --- construction ------------------------------------------------------------------- */

static void docker_entry_of_sandbox(struct docker *dk, struct docker_entry *b)
{
    *b = (struct docker_entry){.kind = DOCKER_ENTRY_SANDBOX};
    memcpy(b->id, dk->sandbox_id, sizeof b->id);
    strcpy(b->name, DOCKER_SANDBOX);
}

/*
 * An unnamed container is named by the beginning of its id, which is known before the process
 * exists.
 */
static void set_name(struct docker_entry *b, const char *name)
{
    if (name[0] != '\0' && strcmp(name, DOCKER_SANDBOX) != 0)
        snprintf(b->name, sizeof b->name, "%s", name);
    else
        snprintf(b->name, sizeof b->name, "%.*s", SHORT_ID_LEN, b->id);
}

static void docker_entry_of_created(struct created *c, struct docker_entry *b)
{
    *b = (struct docker_entry){
        .kind = DOCKER_ENTRY_CREATED, .created = c, .config = json_incref(c->config)};
    memcpy(b->id, c->id, sizeof b->id);
    set_name(b, docker_text(c->config, "name"));
}

static bool is_hex(const char *s)
{
    return s[0] != '\0' && s[strspn(s, "0123456789abcdef")] == '\0';
}

/* The id that a client received, if any. */
static bool key_id(const struct process_view *v, char *id)
{
    const char *key = v->idempotency_key;

    if (key == NULL || strncmp(key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0 ||
        strlen(key) != strlen(KEY_PREFIX) + DOCKER_ID_LEN)
        return false;
    memcpy(id, key + strlen(KEY_PREFIX), DOCKER_ID_LEN + 1);
    return true;
}

static void write_process_id(const struct process_view *v, char *id)
{
    uint8_t digest[32];

    if (key_id(v, id))
        return;
    sha256(v->id, strlen(v->id), digest);
    hex_encode(id, digest, sizeof digest);
}

static json_t *process_config(const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);
    json_t *config = json_object_get(meta, "docker");

    return json_is_object(config) ? json_incref(config) : NULL;
}

static void name_process(struct docker_entry *b, const char *id, const char *tag)
{
    if (tag != NULL && docker_name_ok(tag))
        set_name(b, tag);
    else if (b->config != NULL)
        set_name(b, "");
    else
        snprintf(b->name, sizeof b->name, "%s", id);
}

void docker_entry_of_process(struct process *p, struct docker_entry *b)
{
    *b = (struct docker_entry){.kind = DOCKER_ENTRY_PROCESS, .process = p};
    process_view(p, &b->v);
    b->config = process_config(&b->v);
    write_process_id(&b->v, b->id);
    name_process(b, b->v.id, b->v.tag);
}

void docker_entry_of_event(struct docker *dk, const json_t *process, struct docker_entry *b)
{
    const char *id = json_string_value(json_object_get(process, "id"));
    const char *tag = json_string_value(json_object_get(process, "tag"));
    const json_t *config = json_object_get(json_object_get(process, "metadata"), "docker");
    struct process *p = engine_find(dk->base.engine, id != NULL ? id : "", NULL);
    struct process_view v = {.id = id != NULL ? id : ""};
    const char *given;

    *b = (struct docker_entry){.kind = DOCKER_ENTRY_PROCESS};
    if (json_is_object(config))
        b->config = json_incref((json_t *)(uintptr_t)config);
    given = docker_text(b->config, "id");
    if (p != NULL)
        process_view(p, &v);
    if (p == NULL && strlen(given) == DOCKER_ID_LEN && is_hex(given))
        memcpy(b->id, given, sizeof b->id);
    else
        write_process_id(&v, b->id);
    name_process(b, v.id, tag);
}

bool docker_entry_is_shown(struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return !file_op_is(&v);
}

bool docker_entry_each(struct docker *dk, docker_entry_fn *fn, void *arg)
{
    struct process *p = NULL;
    struct list *it, *tmp;
    struct docker_entry b;

    list_for_each (it, tmp, &dk->created) {
        docker_entry_of_created(list_entry(it, struct created, link), &b);
        if (fn(arg, &b))
            return true;
    }
    while ((p = engine_next(dk->base.engine, p)) != NULL) {
        if (!docker_entry_is_shown(p))
            continue;
        docker_entry_of_process(p, &b);
        if (fn(arg, &b))
            return true;
    }
    docker_entry_of_sandbox(dk, &b);
    return fn(arg, &b);
}

/* --- lookup ---------------------------------------------------------------------------- */

struct process *docker_entry_process_by_id(struct docker *dk, const char *id)
{
    char key[sizeof KEY_PREFIX + DOCKER_ID_LEN];

    snprintf(key, sizeof key, KEY_PREFIX "%s", id);
    return engine_find_idempotent(dk->base.engine, key);
}

struct search {
    const char *ref;
    size_t len, found;
    struct docker_entry *entry;
};

/* Keeps the entry if it is the first match. True: the match is exact, and the search is over. */
static bool search_try(void *arg, struct docker_entry *b)
{
    struct search *s = arg;
    bool whole = strcmp(b->id, s->ref) == 0 || strcmp(b->name, s->ref) == 0;

    if (whole || strncmp(b->id, s->ref, s->len) == 0) {
        if (whole || s->found == 0) {
            docker_entry_fini(s->entry);
            *s->entry = *b;
            *b = (struct docker_entry){0};
        }
        s->found++;
    }
    docker_entry_fini(b);
    return whole;
}

static bool find_quickly(struct docker *dk, const char *ref, struct docker_entry *b)
{
    char tag[LIMIT_TAG_BYTES + 8];
    struct process *p = NULL;

    if (strcmp(ref, DOCKER_SANDBOX) == 0 || strcmp(ref, dk->sandbox_id) == 0) {
        docker_entry_of_sandbox(dk, b);
        return true;
    }
    if (strlen(ref) == DOCKER_ID_LEN)
        p = docker_entry_process_by_id(dk, ref);
    else if (snprintf(tag, sizeof tag, "tag:%s", ref) < (int)sizeof tag && docker_name_ok(ref))
        p = engine_find(dk->base.engine, tag,
                        NULL); /* the running one of that name, else the latest */
    if (p == NULL)
        p = engine_find(dk->base.engine, ref, NULL);
    if (p != NULL)
        docker_entry_of_process(p, b);
    return p != NULL;
}

int docker_entry_find(struct docker *dk, const char *ref, struct docker_entry *b,
                      struct hf_error *err)
{
    struct search s = {.ref = ref, .len = is_hex(ref) ? strlen(ref) : SIZE_MAX, .entry = b};

    *b = (struct docker_entry){0};
    if (find_quickly(dk, ref, b))
        return 0;
    if (docker_entry_each(dk, search_try, &s) || s.found == 1)
        return 0;
    docker_entry_fini(b);
    if (s.found > 1)
        return hf_fail(err, HF_E_bad_value, "Multiple IDs found with provided prefix: %.100s", ref);
    return hf_fail(err, HF_E_no_such_process, "No such container: %.200s", ref);
}

bool docker_entry_of_request(struct http_request *rq, struct docker_entry *b)
{
    struct hf_error err = {0};

    if (docker_entry_find(docker_of(rq), http_param(rq, "id"), b, &err) == 0)
        return true;
    docker_error(rq, &err);
    return false;
}

/* --- properties -------------------------------------------------------------------------- */

bool docker_entry_is_running(const struct docker_entry *b)
{
    return b->kind == DOCKER_ENTRY_SANDBOX ||
           (b->kind == DOCKER_ENTRY_PROCESS && process_is_running(b->process));
}

const char *docker_entry_status(const struct docker_entry *b)
{
    return b->kind == DOCKER_ENTRY_CREATED ? "created"
           : docker_entry_is_running(b)    ? "running"
                                           : "exited";
}

/* An unknown status is not success. */
int docker_exit_code(const struct exit_record *x)
{
    return x->exit_code >= 0 ? x->exit_code : 255;
}

int docker_entry_exit_code(const struct docker_entry *b)
{
    if (b->kind == DOCKER_ENTRY_CREATED)
        return b->created->exit_code;
    return docker_entry_is_running(b) ? 0 : docker_exit_code(b->v.exit);
}

bool docker_entry_tty(const struct docker_entry *b)
{
    return b->kind == DOCKER_ENTRY_PROCESS ? b->v.pty : docker_flag(b->config, "tty");
}

const char *docker_entry_image(const struct docker_entry *b)
{
    const char *image = docker_text(b->config, "image");

    return image[0] != '\0' ? image : DOCKER_SANDBOX;
}
