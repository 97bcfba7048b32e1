/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_sandbox.c - the one sandbox that the daemon represents: its name, defaults and users.
 * Layer: dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/e2b/e2b.h"
#include "engine/notes.h"

#define DEFAULT_ID "holdfast"
#define NOTE "e2b"

static bool id_is_plain(const char *id)
{
    return id[0] != '\0' && strlen(id) < E2B_ID_BYTES &&
           id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] ==
               '\0';
}

/* E2B's own machines have the name in the environment; ours may get one the same way. */
void e2b_sandbox_init(struct e2b_sandbox *s)
{
    const char *id = getenv("E2B_SANDBOX_ID"), *template = getenv("E2B_TEMPLATE_ID");

    snprintf(s->id, sizeof s->id, "%s", id != NULL && id_is_plain(id) ? id : DEFAULT_ID);
    s->template = hf_xstrdup(template != NULL && id_is_plain(template) ? template : "base");
    e2b_sandbox_set_env(s, json_object());
    s->metadata = json_object();
    s->started_ms = clock_wall_ms();
    s->init_ms = 0;
    s->killed = false;
}

void e2b_sandbox_fini(struct e2b_sandbox *s)
{
    json_decref(s->env);
    json_decref(s->metadata);
    free(s->user);
    free(s->workdir);
    free(s->template);
    memset(s, 0, sizeof *s);
}

/* What the sandbox sets itself stays, whatever a client sets. */
void e2b_sandbox_set_env(struct e2b_sandbox *s, json_t *env)
{
    json_object_set_new(env, "E2B_SANDBOX", json_string("true"));
    json_object_set_new(env, "E2B_SANDBOX_ID", json_string(s->id));
    json_object_set_new(env, "E2B_TEMPLATE_ID", json_string(s->template));
    json_decref(s->env);
    s->env = env;
}

json_t *e2b_strings(const json_t *object)
{
    json_t *copy, *value;
    const char *name;

    if (!json_is_object(object) || json_object_size(object) > LIMIT_ENV)
        return NULL;
    copy = json_object();
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        if (!json_is_string(value) ||
            strlen(json_string_value(value)) != json_string_length(value)) {
            json_decref(copy);
            return NULL;
        }
        json_object_set(copy, name, value);
    }
    return copy;
}

json_t *e2b_variables(const json_t *object)
{
    json_t *copy = e2b_strings(object), *value;
    const char *name;

    json_object_foreach (copy, name, value) {
        if (name[0] == '\0' || strchr(name, '=') != NULL) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

/* --- for the next worker ----------------------------------------------------------------- */

int e2b_sandbox_save(struct e2b *e)
{
    const struct e2b_sandbox *s = &e->sandbox;
    struct json_out o = dialect_reply_open(&e->base);
    int rc;

    json_key(&o, "env");
    json_value(&o, s->env);
    json_key(&o, "metadata");
    json_value(&o, s->metadata);
    json_kstr(&o, "user", s->user);
    json_kstr(&o, "workdir", s->workdir);
    json_kstr(&o, "template", s->template);
    json_kint(&o, "started_ms", s->started_ms);
    json_kint(&o, "init_ms", s->init_ms);
    json_kbool(&o, "killed", s->killed);
    json_close(&o, '}');
    rc = engine_note_set(e->base.engine, NOTE, buf_data(&e->base.scratch), e->base.scratch.len);
    buf_wipe(&e->base.scratch);
    if (rc == -ENOSPC)
        e2b_sandbox_load(e); /* unchanged */
    return rc == -ENOTSUP ? 0 : rc;
}

static void take_text(char **at, const json_t *v)
{
    free(*at);
    *at = hf_xstrdup(json_string_value(v));
}

static void take_object(json_t **at, json_t *v)
{
    if (!json_is_object(v))
        return;
    json_decref(*at);
    *at = json_incref(v);
}

void e2b_sandbox_load(struct e2b *e)
{
    struct e2b_sandbox *s = &e->sandbox;
    size_t len = 0;
    const char *text = engine_note(e->base.engine, NOTE, &len);
    json_auto_t *o = text == NULL ? NULL : json_parse(text, len, NULL);

    e2b_sandbox_fini(s);
    e2b_sandbox_init(s);
    if (o == NULL)
        return;
    take_object(&s->env, json_object_get(o, "env"));
    take_object(&s->metadata, json_object_get(o, "metadata"));
    take_text(&s->user, json_object_get(o, "user"));
    take_text(&s->workdir, json_object_get(o, "workdir"));
    if (json_is_string(json_object_get(o, "template")))
        take_text(&s->template, json_object_get(o, "template"));
    s->started_ms = json_integer_value(json_object_get(o, "started_ms"));
    s->init_ms = json_integer_value(json_object_get(o, "init_ms"));
    s->killed = json_is_true(json_object_get(o, "killed"));
}

/* --- users ------------------------------------------------------------------------------- */

/* The name in "Basic NAME:". The password is ignored, and other schemes are not ours. */
static bool basic_name(const struct http_request *rq, char *out, size_t size)
{
    const char *header = http_header(rq, "Authorization");
    struct buf plain = {0};
    bool found = false;

    if (header == NULL || strncasecmp(header, "Basic ", 6) != 0)
        return false;
    header += 6 + strspn(header + 6, " ");
    if (base64_decode(&plain, header, strlen(header)) && plain.len > 0) {
        const char *name = buf_cstr(&plain);
        size_t len = strcspn(name, ":");

        snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), name);
        found = out[0] != '\0';
    }
    buf_fini(&plain);
    return found;
}

/* The daemon's own user comes from its environment. */
static void own_user(struct user *u)
{
    const char *home = getenv("HOME"), *name = getenv("USER");

    memset(u, 0, sizeof *u);
    snprintf(u->home, sizeof u->home, "%s", home != NULL && home[0] == '/' ? home : "/");
    snprintf(u->name, sizeof u->name, "%s", name != NULL ? name : "");
}

static int find_user(const struct e2b *e, const char *name, struct user *u, bool *given,
                     struct hf_error *err)
{
    int rc = user_find(name, u, err);

    if (rc == -ENOENT)
        return hf_fail_field(err, HF_E_user_unknown, "user", "invalid username: '%.64s'", name);
    if (rc < 0)
        return rc;
    if (u->name[0] == '\0') /* a number without an entry */
        snprintf(u->name, sizeof u->name, "%.63s", name);
    if (u->home[0] != '/')
        snprintf(u->home, sizeof u->home, "/");
    /*
     * Switching to oneself needs no right and no call. "Oneself" is the keeper, which forks the
     * child; this worker may run as another user, who is a user like any other.
     */
    *given = u->uid != e->base.host.own_uid;
    return 0;
}

/*
 * E2B's sandboxes have a user called "user", and clients before 2.0 name it in every request. Where
 * this machine has no such user, they get the default, like clients that name none. Where that
 * cannot be known, they do not: the default may be root.
 */
static bool wants_default(const char *name)
{
    struct user u;

    return name == NULL || (strcmp(name, "user") == 0 && user_find(name, &u, NULL) == -ENOENT);
}

int e2b_user_named(const struct e2b *e, const char *name, struct user *u, bool *given,
                   struct hf_error *err)
{
    return wants_default(name) ? e2b_default_user(e, u, given, err)
                               : find_user(e, name, u, given, err);
}

int e2b_default_user(const struct e2b *e, struct user *u, bool *given, struct hf_error *err)
{
    const char *name = wants_default(e->sandbox.user) ? e->base.host.e2b_user : e->sandbox.user;

    *given = false;
    if (name != NULL)
        return find_user(e, name, u, given, err);
    own_user(u);
    return 0;
}

int e2b_user(const struct http_request *rq, struct user *u, bool *given, struct hf_error *err)
{
    const struct e2b *e = e2b_of(rq);
    char name[64] = "";

    return basic_name(rq, name, sizeof name) ? e2b_user_named(e, name, u, given, err)
                                             : e2b_default_user(e, u, given, err);
}

/*
 * An absolute path, as by Go's filepath.Clean: from the text alone, so that the reply is what
 * clients compare with.
 */
static void path_clean(char *path)
{
    const char *at = path;
    char *to = path; /* never ahead of `at`: each name has a '/' before it */

    while (*at != '\0') {
        size_t len;

        at += strspn(at, "/");
        len = strcspn(at, "/");
        if (len == 2 && memcmp(at, "..", 2) == 0) {
            while (to > path && *--to != '/')
                ;
        } else if (len > 1 || (len == 1 && *at != '.')) {
            *to++ = '/';
            memmove(to, at, len);
            to += len;
        }
        at += len;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

bool e2b_path(const struct user *u, const char *path, char *out, size_t size)
{
    int n;

    if (path[0] == '/')
        n = snprintf(out, size, "%s", path);
    else if (path[0] == '\0' || strcmp(path, "~") == 0)
        n = snprintf(out, size, "%s", u->home);
    else
        n = snprintf(out, size, "%s/%s", u->home, strncmp(path, "~/", 2) == 0 ? path + 2 : path);
    if (n < 0 || (size_t)n >= size)
        return false;
    path_clean(out);
    return true;
}
