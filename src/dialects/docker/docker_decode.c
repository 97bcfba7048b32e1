/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_decode.c - decodes the bodies and parameters of Docker's clients. Layer: dialects.
 */
#include "dialects/docker/docker_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/braces.h"
#include "base/detach_keys.h"
#include "base/limits.h"
#include "base/mem.h"

/* --- bodies -------------------------------------------------------------------- */

struct docker_decode_body {
    json_t *cmd, *entrypoint, *env, *labels, *host, *console;
    const char *user, *cwd, *image, *keys;
    bool tty, open_stdin, once, in, out, err;
};

#define FIELD(json_name, k, member)                                                                \
    BRACES(.name = json_name, .kind = JSON_F_##k,                                                  \
           .offset = offsetof(struct docker_decode_body, member), .nullable = true)

static const struct json_field fields[] = {
    FIELD("Cmd", ANY, cmd),
    FIELD("Entrypoint", ANY, entrypoint),
    FIELD("Env", ARRAY, env),
    FIELD("Labels", OBJECT, labels),
    FIELD("HostConfig", OBJECT, host),
    FIELD("ConsoleSize", ARRAY, console),
    FIELD("User", STR, user),
    FIELD("WorkingDir", STR, cwd),
    FIELD("Image", STR, image),
    FIELD("DetachKeys", STR, keys),
    FIELD("Tty", BOOL, tty),
    FIELD("OpenStdin", BOOL, open_stdin),
    FIELD("StdinOnce", BOOL, once),
    FIELD("AttachStdin", BOOL, in),
    FIELD("AttachStdout", BOOL, out),
    FIELD("AttachStderr", BOOL, err),
};

static int body_decode(struct docker_decode_body *b, const json_t *json, struct hf_error *err)
{
    *b = (struct docker_decode_body){0};
    if (!json_is_object(json))
        return hf_fail(err, HF_E_bad_type, "the body must be a JSON object");
    return json_decode_known(json, fields, sizeof fields / sizeof *fields, b, err);
}

/* A list of strings; a single string is a list of one. */
static int add_words(json_t *argv, json_t *words, const char *field, struct hf_error *err)
{
    if (json_is_string(words))
        return json_text(words, field, err) != NULL ? json_array_append(argv, words) : -1;
    if (words != NULL && !json_is_array(words))
        return hf_fail_field(err, HF_E_bad_type, field, "%s must be a list of strings", field);
    for (size_t i = 0; i < json_array_size(words); i++)
        if (json_text(json_array_get(words, i), field, err) == NULL)
            return -1;
    return words != NULL ? json_array_extend(argv, words) : 0;
}

static int check_env(const json_t *env, struct hf_error *err)
{
    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *text = json_text(json_array_get(env, i), "Env", err);

        if (text == NULL)
            return -1;
        if (text[0] == '=' || text[0] == '\0')
            return hf_fail_field(err, HF_E_bad_value, "Env", "invalid environment variable: %.100s",
                                 text);
    }
    return 0;
}

static int check_labels(json_t *labels, struct hf_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach (labels, key, value)
        if (json_text(value, "Labels", err) == NULL)
            return -1;
    return 0;
}

int docker_decode_keys(struct detach_keys *keys, const char *text, struct hf_error *err)
{
    if (text == NULL || text[0] == '\0')
        text = DETACH_KEYS_DEFAULT;
    if (detach_keys_parse(keys, strcmp(text, "none") == 0 ? "" : text))
        return 0;
    return hf_fail_field(
        err, HF_E_bad_value, "detachKeys",
        "Invalid detach keys (%.100s): single characters, DEL, or ctrl- and one of "
        "a-z @ [ \\ ] ^ _, at most %d, separated by commas",
        text, DETACH_KEYS_MAX);
}

/* [rows, cols]. Zeros, and sizes that no terminal has, count as absent. */
static void read_size(const json_t *console, int64_t *rows, int64_t *cols)
{
    int64_t r = json_integer_value(json_array_get(console, 0));
    int64_t c = json_integer_value(json_array_get(console, 1));
    bool good = r >= 1 && r <= TERMINAL_SIZE_MAX && c >= 1 && c <= TERMINAL_SIZE_MAX;

    *rows = good ? r : 0;
    *cols = good ? c : 0;
}

static void set_text(json_t *config, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        json_object_set_new(config, name, json_string(value));
}

static void set_size(json_t *config, const json_t *console)
{
    int64_t rows, cols;

    read_size(console, &rows, &cols);
    json_object_set_new(config, "rows", json_integer(rows));
    json_object_set_new(config, "cols", json_integer(cols));
}

/* The fields that both kinds have; takes ownership of argv. */
static json_t *config_new(const char *kind, const struct docker_decode_body *b, json_t *argv)
{
    json_t *config = json_object();

    json_object_set_new(config, "kind", json_string(kind));
    json_object_set_new(config, "argv", argv);
    if (b->env != NULL)
        json_object_set(config, "env", b->env);
    set_text(config, "cwd", b->cwd);
    set_text(config, "user", b->user);
    set_text(config, "keys", b->keys);
    json_object_set_new(config, "tty", json_boolean(b->tty));
    return config;
}

static int body_check(const struct docker_decode_body *b, struct hf_error *err)
{
    struct detach_keys keys;

    if (check_env(b->env, err) < 0 || check_labels(b->labels, err) < 0)
        return -1;
    return docker_decode_keys(&keys, b->keys, err);
}

json_t *docker_decode_exec(const json_t *body, struct hf_error *err)
{
    json_t *argv = json_array(), *config;
    struct docker_decode_body b;

    if (body_decode(&b, body, err) < 0 || add_words(argv, b.cmd, "Cmd", err) < 0 ||
        body_check(&b, err) < 0)
        goto fail;
    if (json_array_size(argv) == 0) {
        hf_fail_field(err, HF_E_bad_request, "Cmd", "No exec command specified");
        goto fail;
    }
    config = config_new("exec", &b, argv);
    json_object_set_new(config, "stdin", json_boolean(b.in));
    json_object_set_new(config, "once", json_true());
    json_object_set_new(config, "out", json_boolean(b.out));
    json_object_set_new(config, "err", json_boolean(b.err));
    set_size(config, b.console);
    return config;

fail:
    json_decref(argv);
    return NULL;
}

json_t *docker_decode_create(const json_t *body, const char *name, struct hf_error *err)
{
    json_t *argv = json_array(), *config;
    struct docker_decode_body b;

    if (body_decode(&b, body, err) < 0 || add_words(argv, b.entrypoint, "Entrypoint", err) < 0 ||
        add_words(argv, b.cmd, "Cmd", err) < 0 || body_check(&b, err) < 0)
        goto fail;
    if (json_array_size(argv) == 0) {
        hf_fail_field(
            err, HF_E_bad_request, "Cmd",
            "no command specified: images have no default command here; give one after the image");
        goto fail;
    }
    config = config_new("container", &b, argv);
    set_text(config, "name", name);
    set_text(config, "image", b.image);
    if (b.labels != NULL)
        json_object_set(config, "labels", b.labels);
    json_object_set_new(config, "stdin", json_boolean(b.open_stdin));
    json_object_set_new(config, "once", json_boolean(b.once));
    json_object_set_new(config, "remove",
                        json_boolean(json_is_true(json_object_get(b.host, "AutoRemove"))));
    set_size(config, json_object_get(b.host, "ConsoleSize"));
    return config;

fail:
    json_decref(argv);
    return NULL;
}

struct start_body {
    bool detach, tty;
    json_t *console;
};

static const struct json_field start_fields[] = {
    {.name = "Detach",
     .kind = JSON_F_BOOL,
     .offset = offsetof(struct start_body, detach),
     .nullable = true},
    {.name = "Tty",
     .kind = JSON_F_BOOL,
     .offset = offsetof(struct start_body, tty),
     .nullable = true},
    {.name = "ConsoleSize",
     .kind = JSON_F_ARRAY,
     .offset = offsetof(struct start_body, console),
     .nullable = true},
};

int docker_decode_start(struct docker_start *out, const json_t *body, struct hf_error *err)
{
    struct start_body b = {0};

    *out = (struct docker_start){0};
    if (json_decode_known(body, start_fields, sizeof start_fields / sizeof *start_fields, &b, err) <
        0)
        return -1;
    out->detach = b.detach;
    out->tty = b.tty;
    read_size(b.console, &out->rows, &out->cols);
    return 0;
}

/* --- members of a config ---------------------------------------------------------- */

bool docker_flag(const json_t *config, const char *name)
{
    return json_is_true(json_object_get(config, name));
}

const char *docker_text(const json_t *config, const char *name)
{
    const char *text = json_string_value(json_object_get(config, name));

    return text != NULL ? text : "";
}

int64_t docker_int(const json_t *config, const char *name)
{
    return json_integer_value(json_object_get(config, name));
}

/* --- a config as a spec -------------------------------------------------------------- */

static void spec_words(struct docker_spec *s, const json_t *argv)
{
    size_t n = json_array_size(argv);

    s->args = hf_xalloc((n + 1) * sizeof *s->args);
    s->spec.command = json_string_value(json_array_get(argv, 0));
    s->spec.args = s->args;
    s->spec.arg_count = n > 0 ? n - 1 : 0;
    for (size_t i = 1; i < n; i++)
        s->args[i - 1] = json_string_value(json_array_get(argv, i));
}

static struct spec_env *spec_find_env(struct docker_spec *s, const char *name)
{
    for (size_t i = 0; i < s->spec.env_count; i++)
        if (strcmp(s->env[i].name, name) == 0)
            return &s->env[i];
    return NULL;
}

/* The last value of a name counts; an entry without '=' removes the variable. */
static void spec_put_env(struct docker_spec *s, const char *text)
{
    char *name = hf_xstrdup(text), *eq = strchr(name, '=');
    struct spec_env *e;

    s->texts[s->text_count++] = name;
    if (eq != NULL)
        *eq = '\0';
    e = spec_find_env(s, name);
    if (e == NULL)
        e = &s->env[s->spec.env_count++];
    e->name = name;
    e->value = eq != NULL ? eq + 1 : NULL;
}

static void spec_default_env(struct docker_spec *s, const char *name, const char *value)
{
    char text[320];

    if (spec_find_env(s, name) != NULL)
        return;
    snprintf(text, sizeof text, "%s=%.255s", name, value);
    spec_put_env(s, text);
}

static void spec_variables(struct docker_spec *s, const json_t *config, const char *hostname)
{
    const json_t *env = json_object_get(config, "env");
    size_t n = json_array_size(env);

    s->env = hf_xalloc((n + 2) * sizeof *s->env);
    s->texts = hf_xalloc((n + 2) * sizeof *s->texts);
    for (size_t i = 0; i < n; i++)
        spec_put_env(s, json_string_value(json_array_get(env, i)));
    if (docker_flag(config, "tty"))
        spec_default_env(s, "TERM", "xterm");
    spec_default_env(s, "HOSTNAME", hostname);
    s->spec.env = s->env;
}

/* What the process's own record does not contain. */
static char *spec_metadata(const json_t *config)
{
    static const char *const recorded[] = {"argv", "env", "cwd", "rows", "cols", "name"};
    json_t *kept = json_copy((json_t *)(uintptr_t)config), *all = json_object();
    char *text;

    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        json_object_del(kept, recorded[i]);
    json_object_set_new(all, "docker", kept);
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

void docker_spec_init(struct docker_spec *s, const json_t *config, const char *hostname)
{
    const char *cwd = docker_text(config, "cwd"), *user = docker_text(config, "user"),
               *name = docker_text(config, "name");

    *s = (struct docker_spec){0};
    spec_init(&s->spec);
    spec_words(s, json_object_get(config, "argv"));
    spec_variables(s, config, hostname);
    s->spec.cwd = cwd[0] != '\0' ? cwd : NULL;
    s->spec.user = user[0] != '\0' ? user : NULL;
    s->spec.tag = name[0] != '\0' ? name : NULL;
    s->spec.pty = docker_flag(config, "tty");
    if (s->spec.pty) {
        s->spec.rows = docker_int(config, "rows");
        s->spec.cols = docker_int(config, "cols");
    } else {
        s->spec.stdin_mode = docker_flag(config, "stdin") ? STDIN_PIPE : STDIN_NULL;
    }
    s->metadata = spec_metadata(config);
    s->spec.metadata_json = s->metadata;
}

void docker_spec_fini(struct docker_spec *s)
{
    for (size_t i = 0; i < s->text_count; i++)
        free(s->texts[i]);
    free(s->texts);
    free(s->env);
    free(s->args);
    free(s->metadata);
}

/* --- parameters --------------------------------------------------------------------- */

bool docker_truth(const char *value)
{
    static const char *const no[] = {"", "0", "no", "false", "none"};

    if (value == NULL)
        return false;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (strcasecmp(value, no[i]) == 0)
            return false;
    return true;
}

bool docker_version(const char *segment, int *minor)
{
    const char *s = segment;
    int n = 0;

    if (strncmp(s, "v1.", 3) != 0 || s[3] == '\0')
        return false;
    for (s += 3; *s != '\0'; s++) {
        if (*s < '0' || *s > '9' || n > 9999)
            return false;
        n = n * 10 + (*s - '0');
    }
    *minor = n;
    return true;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool docker_name_ok(const char *name)
{
    size_t len = strlen(name);

    if (len < 2 || len > LIMIT_TAG_BYTES || !is_alnum(name[0]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_alnum(name[i]) && strchr("_.-", name[i]) == NULL)
            return false;
    return true;
}

bool docker_time(const char *text, int64_t *ms)
{
    int64_t seconds = 0, part = 0, scale = 100;
    const char *s = text;

    for (; *s >= '0' && *s <= '9'; s++) {
        if (seconds > INT64_MAX / 100000)
            return false;
        seconds = seconds * 10 + (*s - '0');
    }
    if (s == text || (*s != '\0' && *s != '.'))
        return false;
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++, scale /= 10)
            part += (*s - '0') * scale;
    *ms = seconds * 1000 + part;
    return *s == '\0';
}
