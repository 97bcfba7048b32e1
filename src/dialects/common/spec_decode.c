/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_decode.c - decodes bodies into spawn_specs by tables. Layer: dialects.
 */
#include "dialects/common/spec_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/spawn_decode.h"

void spec_body_init(struct spec_body *b)
{
    spec_init(&b->spec);
    b->args = b->argv = b->env = NULL;
    b->arg_words = NULL;
    b->env_vars = NULL;
    b->env_text = NULL;
}

void spec_body_fini(struct spec_body *b)
{
    free(b->arg_words);
    free(b->env_vars);
    free(b->env_text);
}

static int set_args(struct spec_body *b, struct hf_error *err)
{
    const json_t *words = b->argv != NULL ? b->argv : b->args;
    struct spawn_spec *s = &b->spec;
    int rc;

    if (words == NULL)
        return 0;
    rc = spawn_request_args(words, &b->arg_words, &s->arg_count, err);
    s->args = b->arg_words;
    if (rc < 0 || b->argv == NULL)
        return rc;
    if (s->arg_count == 0)
        return hf_fail(err, HF_E_bad_value, "the command is empty");
    s->command = s->args[0];
    s->args++;
    s->arg_count--;
    return 0;
}

/* "NAME=value"; a name alone is an empty value. */
static int set_env_list(struct spec_body *b, struct hf_error *err)
{
    size_t n = json_array_size(b->env), bytes = 0;
    char *at;

    for (size_t i = 0; i < n; i++) {
        const char *text = json_text(json_array_get(b->env, i), "env", err);

        if (text == NULL)
            return -1;
        bytes += strlen(text) + 1;
    }
    b->env_vars = hf_xalloc((n + 1) * sizeof *b->env_vars);
    b->env_text = at = hf_xalloc(bytes + 1);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(b->env, i));
        size_t name = strcspn(text, "=");

        memcpy(at, text, strlen(text) + 1);
        b->env_vars[i] = (struct spec_env){at, at + name + (at[name] == '=')};
        at[name] = '\0';
        at += strlen(text) + 1;
    }
    b->spec.env_count = n;
    return 0;
}

static int set_env(struct spec_body *b, struct hf_error *err)
{
    int rc = 0;

    if (json_is_object(b->env))
        rc = spawn_request_env(b->env, &b->env_vars, &b->spec.env_count, err);
    else if (json_is_array(b->env))
        rc = set_env_list(b, err);
    else if (b->env != NULL && !json_is_null(b->env))
        rc = hf_fail(err, HF_E_bad_type, "the environment must be an object or an array");
    if (b->env_vars != NULL)
        b->spec.env = b->env_vars;
    return rc;
}

int spec_body_decode(struct spec_body *b, const json_t *body, const struct json_field *fields,
                     size_t count, struct hf_error *err)
{
    int rc = json_decode_known(body, fields, count, b, err);

    if (rc < 0 || (rc = set_args(b, err)) < 0)
        return rc;
    return set_env(b, err);
}

const char *spec_default_shell(void)
{
    const char *shell = getenv("SHELL");

    return shell != NULL && shell[0] == '/' ? shell : "/bin/bash";
}
