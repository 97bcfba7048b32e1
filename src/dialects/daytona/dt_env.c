/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_env.c - POST /env: variables for every process started here from then on
 *
 * The original changes its own environment. The daemon's environment is private, so the variables
 * are kept in a note, which the next worker finds, and passed to what this dialect starts.
 * Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/daytona/daytona.h"

#define NOTE "daytona.env"

/* {"NAME":"value"}, or null for a variable that is to be removed. */
static json_t *env_recall(const struct dt *dt)
{
    json_t *env = dialect_note(dt->base.engine, NOTE);

    return env != NULL ? env : json_object();
}

json_t *dt_env_set(struct dt *dt)
{
    json_t *env = env_recall(dt), *value;
    const char *name;
    void *tmp;

    json_object_foreach_safe(env, tmp, name, value) if (json_is_null(value))
        json_object_del(env, name);
    return env;
}

struct spec_env *dt_env(struct dt *dt, const struct spec_env *own, size_t count, size_t *out_count,
                        json_t **keep)
{
    json_t *env = env_recall(dt);
    struct spec_env *all = hf_xalloc((json_object_size(env) + count + 1) * sizeof *all);
    const char *name;
    json_t *value;
    size_t n = 0;

    json_object_foreach (env, name, value) {
        bool again = false;

        for (size_t i = 0; i < count; i++)
            again = again || strcmp(own[i].name, name) == 0;
        if (!again)
            all[n++] = (struct spec_env){name, json_string_value(value)};
    }
    for (size_t i = 0; i < count; i++)
        all[n++] = own[i];
    *out_count = n;
    *keep = env;
    return all;
}

static int unset_names(json_t *env, const json_t *names, struct hf_error *err)
{
    const json_t *name;
    size_t i;

    if (names == NULL || json_is_null(names))
        return 0;
    if (!json_is_array(names))
        return hf_fail_field(err, HF_E_bad_type, "unset", "unset must be an array of names");
    json_array_foreach (names, i, name) {
        const char *text = json_text(name, "unset", err);

        if (text == NULL)
            return -1;
        if (text[0] == '\0' || strchr(text, '=') != NULL)
            return hf_fail_field(err, HF_E_bad_value, "unset",
                                 "'%.60s' is not a valid variable name", text);
        json_object_set_new(env, text, json_null());
    }
    return 0;
}

/* Those of the values that were set here. The daemon's own variables are never revealed. */
static int unset_values(json_t *env, const json_t *prefix, struct hf_error *err)
{
    const char *text = json_string_value(prefix), *name;
    json_t *value;
    void *tmp;

    if (prefix == NULL || json_is_null(prefix))
        return 0;
    if (text == NULL)
        return hf_fail_field(err, HF_E_bad_type, "unsetValuePrefix",
                             "unsetValuePrefix must be a string");
    json_object_foreach_safe(env, tmp, name,
                             value) if (text[0] != '\0' && json_is_string(value) &&
                                        strncmp(json_string_value(value), text, strlen(text)) == 0)
        json_object_del(env, name);
    return 0;
}

static int set_values(json_t *env, const json_t *set, struct hf_error *err)
{
    struct spec_env *vars = NULL;
    size_t count = 0;
    int rc = set == NULL || json_is_null(set) ? 0 : dt_decode_env(set, &vars, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        json_object_set_new(env, vars[i].name,
                            vars[i].value != NULL ? json_string(vars[i].value) : json_null());
    free(vars);
    return rc;
}

int dt_env_keep(struct dt *dt, const json_t *set, struct hf_error *err)
{
    json_auto_t *env = env_recall(dt);
    int rc = set_values(env, set, err);

    return rc < 0 || set == NULL ? rc : dt_note_set(dt->base.engine, NOTE, env, "variables", err);
}

void dt_env_update(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq), *env = NULL;
    struct dt *dt = dt_of(rq);
    struct hf_error err = {0};
    struct json_out o;

    if (body == NULL)
        return;
    env = env_recall(dt);
    if (unset_values(env, json_object_get(body, "unsetValuePrefix"), &err) < 0 ||
        unset_names(env, json_object_get(body, "unset"), &err) < 0 ||
        set_values(env, json_object_get(body, "set"), &err) < 0 ||
        dt_note_set(dt->base.engine, NOTE, env, "variables", &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    o = dialect_reply_open(&dt->base);
    json_kstr(&o, "message", "environment updated");
    dialect_reply_send(rq, 200, &o);
}
