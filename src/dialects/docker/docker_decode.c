/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_decode.c - decodes the bodies and parameters of Docker's clients. Layer: dialects.
 */
#include "dialects/docker/docker_decode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/braces.h"
#include "base/detach_keys.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

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

/* Go's decoder does not distinguish cases in the names of members, and clients rely on that. The
 * last of several counts. The copy shares its values with the original. */
static json_t *fold(const json_t *json, const struct json_field *table, size_t count)
{
    json_t *folded = json_object(), *value;
    const char *key;

    json_object_foreach ((json_t *)(uintptr_t)json, key, value)
        for (size_t i = 0; i < count; i++)
            if (strcasecmp(key, table[i].name) == 0 && !json_is_null(value))
                json_object_set(folded, table[i].name, value);
    return folded;
}

/* What is decoded borrows from `json`. */
static int decode_folded(const json_t *json, const struct json_field *table, size_t count,
                         void *target, struct hf_error *err)
{
    json_auto_t *folded = fold(json, table, count);

    return json_decode_known(folded, table, count, target, err);
}

static int body_decode(struct docker_decode_body *b, const json_t *json, struct hf_error *err)
{
    *b = (struct docker_decode_body){0};
    if (!json_is_object(json))
        return hf_fail(err, HF_E_bad_type, "the body must be a JSON object");
    return decode_folded(json, fields, sizeof fields / sizeof *fields, b, err);
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

static void set_flag(json_t *config, const char *name, bool value)
{
    json_object_set_new(config, name, json_boolean(value));
}

void docker_set_size(json_t *config, int64_t rows, int64_t cols)
{
    json_object_set_new(config, "rows", json_integer(rows));
    json_object_set_new(config, "cols", json_integer(cols));
}

static void set_size(json_t *config, const json_t *console)
{
    int64_t rows, cols;

    read_size(console, &rows, &cols);
    docker_set_size(config, rows, cols);
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
    set_flag(config, "tty", b->tty);
    return config;
}

static int body_check(const struct docker_decode_body *b, struct hf_error *err)
{
    struct detach_keys keys;

    if (check_env(b->env, err) < 0 || check_labels(b->labels, err) < 0)
        return -1;
    return docker_decode_keys(&keys, b->keys, err);
}

/* The command of both kinds; NULL: err. The body's members are in b. */
static json_t *decode_config(const char *kind, struct docker_decode_body *b, const json_t *body,
                             const char *no_command, struct hf_error *err)
{
    bool exec = strcmp(kind, "exec") == 0;
    json_t *argv = json_array();

    if (body_decode(b, body, err) == 0 &&
        (exec || add_words(argv, b->entrypoint, "Entrypoint", err) == 0) &&
        add_words(argv, b->cmd, "Cmd", err) == 0 && body_check(b, err) == 0) {
        if (json_array_size(argv) > 0)
            return config_new(kind, b, argv);
        hf_fail_field(err, HF_E_bad_request, "Cmd", "%s", no_command);
    }
    json_decref(argv);
    return NULL;
}

json_t *docker_decode_exec(const json_t *body, struct hf_error *err)
{
    struct docker_decode_body b;
    json_t *config = decode_config("exec", &b, body, "No exec command specified", err);

    if (config == NULL)
        return NULL;
    set_flag(config, "stdin", b.in);
    set_flag(config, "once", true);
    set_flag(config, "out", b.out);
    set_flag(config, "err", b.err);
    set_size(config, b.console);
    return config;
}

json_t *docker_decode_create(const json_t *body, const char *name, struct hf_error *err)
{
    static const struct json_field host_fields[] = {{.name = "AutoRemove"},
                                                    {.name = "ConsoleSize"}};
    struct docker_decode_body b;
    json_auto_t *host = NULL;
    json_t *config = decode_config(
        "container", &b, body,
        "no command specified: images have no default command here; give one after the image", err);

    if (config == NULL)
        return NULL;
    set_text(config, "name", name);
    set_text(config, "image", b.image);
    if (b.labels != NULL)
        json_object_set(config, "labels", b.labels);
    set_flag(config, "stdin", b.open_stdin);
    set_flag(config, "once", b.once);
    host = fold(b.host, host_fields, sizeof host_fields / sizeof *host_fields);
    set_flag(config, "remove", json_is_true(json_object_get(host, "AutoRemove")));
    set_size(config, json_object_get(host, "ConsoleSize"));
    return config;
}

#define START_FIELD(json_name, k, member)                                                          \
    BRACES(.name = json_name, .kind = JSON_F_##k, .offset = offsetof(struct docker_start, member), \
           .nullable = true)

int docker_decode_start(struct docker_start *out, const json_t *body, struct hf_error *err)
{
    static const struct json_field start_fields[] = {
        START_FIELD("Detach", BOOL, detach),
        START_FIELD("Tty", BOOL, tty),
        START_FIELD("ConsoleSize", ARRAY, console),
    };

    *out = (struct docker_start){0};
    if (decode_folded(body, start_fields, sizeof start_fields / sizeof *start_fields, out, err) < 0)
        return -1;
    read_size(out->console, &out->rows, &out->cols);
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

/* The last value of a name counts; an entry without '=' removes the variable. */
static json_t *spec_variables(const json_t *config, const char *hostname)
{
    const json_t *list = json_object_get(config, "env");
    json_t *env = json_object();

    if (docker_flag(config, "tty"))
        json_object_set_new(env, "TERM", json_string("xterm"));
    json_object_set_new(env, "HOSTNAME", json_string(hostname));
    for (size_t i = 0; i < json_array_size(list); i++) {
        hf_autofree char *name = hf_xstrdup(json_string_value(json_array_get(list, i)));
        char *eq = strchr(name, '=');

        if (eq != NULL)
            *eq = '\0';
        json_object_set_new(env, name, eq != NULL ? json_string(eq + 1) : json_null());
    }
    return env;
}

/* What the process's own record does not contain. */
static char *spec_metadata(const json_t *config)
{
    static const char *const recorded[] = {"argv", "env", "cwd", "rows", "cols", "name"};
    json_t *kept = json_copy((json_t *)(uintptr_t)config), *all = json_object();
    char *text;

    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        json_object_del(kept, recorded[i]);
    if (json_array_size(json_object_get(config, "env")) > 0)
        json_object_set_new(kept, "variables", json_true());
    json_object_set_new(all, "docker", kept);
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

static const struct json_field spec_fields[] = {
    SPEC_FIELD("argv", ARRAY, argv),
    SPEC_FIELD("env", OBJECT, env),
    SPEC_FIELD("cwd", STR, spec.cwd),
    SPEC_FIELD("user", STR, spec.user),
    SPEC_FIELD("name", STR, spec.tag),
    SPEC_FIELD("tty", BOOL, spec.pty),
    SPEC_FIELD("rows", INT, spec.rows, .max = TERMINAL_SIZE_MAX),
    SPEC_FIELD("cols", INT, spec.cols, .max = TERMINAL_SIZE_MAX),
};

int docker_spec_init(struct docker_spec *s, const json_t *config, const char *hostname,
                     struct hf_error *err)
{
    struct spawn_spec *spec = &s->body.spec;
    int rc;

    spec_body_init(&s->body);
    s->tree = json_copy((json_t *)(uintptr_t)config);
    json_object_set_new(s->tree, "env", spec_variables(config, hostname));
    s->metadata = spec_metadata(config);
    rc = spec_body_decode(&s->body, s->tree, spec_fields, sizeof spec_fields / sizeof *spec_fields,
                          err);
    spec->metadata_json = s->metadata;
    spec->source = spec->pty && docker_flag(config, "stdin") ? SOURCE_USER : SOURCE_AGENT;
    if (!spec->pty) {
        spec->rows = spec->cols = 0;
        spec->stdin_mode = docker_flag(config, "stdin") ? STDIN_PIPE : STDIN_NULL;
    }
    return rc;
}

void docker_spec_fini(struct docker_spec *s)
{
    spec_body_fini(&s->body);
    json_decref(s->tree);
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
    int64_t n;

    if (strncmp(segment, "v1.", 3) != 0 || !text_to_i64(segment + 3, 0, 99999, &n))
        return false;
    *minor = (int)n;
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
