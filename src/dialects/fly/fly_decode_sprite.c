/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_decode_sprite.c - decodes queries and control messages of a sprite's exec. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/request_checks.h"
#include "dialects/fly/fly_decode.h"
#include "dialects/fly/fly_limits.h"

bool fly_is_true(const char *value)
{
    return value[0] == '\0' || text_to_bool(value) == 1;
}

/* --- durations ------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    double ms;
};

/* Longer names first: "m" begins "ms". */
static const struct unit units[] = {{"ns", 1e-6},      {"us", 1e-3},  {"\u00b5s", 1e-3},
                                    {"\u03bcs", 1e-3}, {"ms", 1},     {"s", 1000},
                                    {"m", 60000},      {"h", 3600000}};

static const struct unit *unit_of(const char *text)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return &units[i];
    return NULL;
}

/* "12", "1.5" or ".5"; NULL: not a number. Not by strtod(), which also accepts "1e9" and "inf". */
static const char *number(const char *text, double *out)
{
    double scale = 1;
    bool dot = false;
    size_t digits = 0;

    for (*out = 0; (*text >= '0' && *text <= '9') || (*text == '.' && !dot); text++) {
        if (*text == '.') {
            dot = true;
            continue;
        }
        digits++;
        scale = dot ? scale / 10 : scale;
        *out = dot ? *out + (*text - '0') * scale : *out * 10 + (*text - '0');
    }
    return digits > 0 ? text : NULL;
}

bool fly_duration(const char *text, int64_t *ms)
{
    double total = 0;

    *ms = 0;
    if (strcmp(text, "0") == 0)
        return true;
    if (*text == '\0')
        return false;
    while (*text != '\0') {
        const struct unit *u;
        double n;

        text = number(text, &n);
        u = text != NULL ? unit_of(text) : NULL;
        if (u == NULL)
            return false;
        total += n * u->ms;
        text += strlen(u->name);
    }
    if (total > (double)LIMIT_DURATION_MS)
        return false;
    *ms = total > 0 && total < 1 ? 1 : (int64_t)total; /* 0 means for ever */
    return true;
}

/* --- the query ------------------------------------------------------------------------------- */

/* Appends to an array that doubles; *n is the count before. */
static void *grown(void *list, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0)
        return list;
    return hf_xrealloc(list, (n > 0 ? 2 * n : 1) * size);
}

static int add_env(struct sprite_request *a, const char *value, struct hf_error *err)
{
    const char *eq = strchr(value, '=');

    if (eq == NULL || eq == value)
        return hf_fail_field(err, HF_E_bad_query, "env", "env must be NAME=VALUE");
    a->env = grown(a->env, a->env_count, sizeof *a->env);
    a->env[a->env_count++] = (struct spec_env){hf_xstrndup(value, (size_t)(eq - value)), eq + 1};
    return 0;
}

static int size_of(const char *name, const char *value, int64_t *out, struct hf_error *err)
{
    if (text_to_i64(value, 1, TERMINAL_SIZE_MAX, out))
        return 0;
    return hf_fail_field(err, HF_E_bad_size, name, "%s must be from 1 to %d", name,
                         TERMINAL_SIZE_MAX);
}

int sprite_decode_pair(struct sprite_request *a, const char *name, const char *value,
                       struct hf_error *err)
{
    if (strcmp(name, "cmd") == 0) {
        a->cmd = grown(a->cmd, a->cmd_count, sizeof *a->cmd);
        a->cmd[a->cmd_count++] = value;
    } else if (strcmp(name, "env") == 0) {
        return add_env(a, value, err);
    } else if (strcmp(name, "rows") == 0) {
        return size_of(name, value, &a->rows, err);
    } else if (strcmp(name, "cols") == 0) {
        return size_of(name, value, &a->cols, err);
    } else if (strcmp(name, "path") == 0) {
        a->path = value;
    } else if (strcmp(name, "dir") == 0) {
        a->spec.cwd = value[0] != '\0' ? value : NULL;
    } else if (strcmp(name, "tty") == 0) {
        a->tty = fly_is_true(value);
    } else if (strcmp(name, "stdin") == 0) {
        a->input = fly_is_true(value);
    } else if (strcmp(name, "detachable") == 0) {
        a->detachable = fly_is_true(value);
    } else if (strcmp(name, "max_run_after_disconnect") == 0) {
        a->limited = true;
        if (!fly_duration(value, &a->alone_ms))
            return hf_fail_field(err, HF_E_bad_query, name, "%s must be a time such as 10s", name);
    }
    return 0;
}

/* How long it may run while no client is connected: a terminal for ever, others for a while. */
static void spec_detach(struct sprite_request *a)
{
    struct spawn_spec *s = &a->spec;

    if (!a->limited)
        a->alone_ms = a->tty || a->detachable ? 0 : FLY_LINGER_MS;
    s->on_detach = a->alone_ms > 0 ? DETACH_KILL_AFTER : DETACH_KEEP;
    s->detach_ms = a->alone_ms;
}

static void spec_terminal(struct sprite_request *a)
{
    struct spawn_spec *s = &a->spec;

    s->pty = a->tty;
    s->stdin_mode = a->tty ? STDIN_DEFAULT : a->input ? STDIN_PIPE : STDIN_NULL;
    if (a->tty && (a->rows > 0 || a->cols > 0)) {
        s->rows = a->rows > 0 ? a->rows : 24;
        s->cols = a->cols > 0 ? a->cols : 80;
    }
}

/* `path` is the program; the first `cmd` is its argv[0]. */
int sprite_decode_spec(struct sprite_request *a, bool tty, struct hf_error *err)
{
    const char *cwd = a->spec.cwd;
    struct spawn_spec *s = &a->spec;

    if (a->cmd_count == 0 && (a->path == NULL || a->path[0] == '\0'))
        return hf_fail_field(err, HF_E_missing_field, "cmd", "no command: give cmd");
    spec_init(s);
    s->cwd = cwd;
    s->command = a->path != NULL && a->path[0] != '\0' ? a->path : a->cmd[0];
    s->argv0 = a->cmd_count > 0 && strcmp(a->cmd[0], s->command) != 0 ? a->cmd[0] : NULL;
    s->args = a->cmd_count > 0 ? a->cmd + 1 : NULL;
    s->arg_count = a->cmd_count > 0 ? a->cmd_count - 1 : 0;
    s->env = a->env;
    s->env_count = a->env_count;
    s->clear_env = a->env_count > 0; /* the variables replace the whole environment */
    s->source = a->tty && a->input ? SOURCE_USER : SOURCE_AGENT;
    s->metadata_json = FLY_METADATA;
    a->tty = a->tty && tty;
    spec_terminal(a);
    spec_detach(a);
    return 0;
}

void sprite_request_fini(struct sprite_request *a)
{
    for (size_t i = 0; i < a->env_count; i++)
        free((void *)(uintptr_t)a->env[i].name);
    free(a->env);
    free(a->cmd);
}

/* --- control messages ------------------------------------------------------------------------ */

static int decode_size(struct sprite_control *c, const json_t *tree, struct hf_error *err)
{
    const json_t *rows = json_object_get(tree, "rows"), *cols = json_object_get(tree, "cols");

    if (!json_is_integer(rows) || !json_is_integer(cols))
        return hf_fail_field(err, HF_E_bad_type, "cols", "cols and rows must be numbers");
    c->rows = json_integer_value(rows);
    c->cols = json_integer_value(cols);
    return check_size(c->rows, c->cols, err);
}

int sprite_decode_control(struct sprite_control *c, const char *text, size_t len,
                          struct hf_error *err)
{
    json_auto_t *tree = json_parse(text, len, err);
    const char *type = json_string_value(json_object_get(tree, "type"));
    enum signal_target target;

    *c = (struct sprite_control){0};
    if (tree == NULL)
        return -1;
    if (type != NULL && strcmp(type, "resize") == 0)
        return decode_size(c, tree, err);
    if (type != NULL && strcmp(type, "signal") == 0)
        return check_signal_decode(json_object_get(tree, "signal"), NULL, &c->signum, &target, err);
    return hf_fail_field(err, HF_E_bad_value, "type", "type must be resize or signal");
}
