/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_filter.c - decodes filters, and matches containers, images and events against them.
 * Layer: dialects.
 */
#include "dialects/docker/docker_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dialects/docker/docker_limits.h"
#include "engine/match/regex.h"

/* --- the filters -------------------------------------------------------------------- */

static bool fits_id(const char *value, const struct docker_subject *s)
{
    return strncmp(s->id, value, strlen(value)) == 0;
}

/* A regular expression on the name, with and without the leading slash that Docker adds. */
static bool fits_name(const char *value, const struct docker_subject *s)
{
    struct regex *re = regex_new(value, strlen(value), NULL);
    const char *const forms[] = {"/", ""};
    bool fits = false;

    for (size_t i = 0; i < 2 && re != NULL && !fits; i++) {
        struct regex_run *run = regex_run_new(re, 0);
        struct regex_match m;

        if (run == NULL)
            break;
        fits = regex_run_feed(run, forms[i], strlen(forms[i]), &m) == REGEX_MATCH ||
               regex_run_feed(run, s->name, strlen(s->name), &m) == REGEX_MATCH ||
               regex_run_finish(run, &m) == REGEX_MATCH;
        regex_run_free(run);
    }
    regex_free(re);
    return fits;
}

static bool fits_status(const char *value, const struct docker_subject *s)
{
    return strcmp(s->status, value) == 0;
}

static bool fits_image(const char *value, const struct docker_subject *s)
{
    return strcmp(s->image, value) == 0;
}

static bool fits_exited(const char *value, const struct docker_subject *s)
{
    int64_t code;

    return text_to_i64(value, 0, 255, &code) && s->exit_code == (int)code;
}

/* "key" or "key=value" */
static bool fits_label(const char *value, const struct docker_subject *s)
{
    size_t len = strcspn(value, "=");
    char key[256];
    const char *have;

    if (len >= sizeof key)
        return false;
    memcpy(key, value, len);
    key[len] = '\0';
    have = json_string_value(json_object_get(s->labels, key));
    return have != NULL && (value[len] == '\0' || strcmp(have, value + len + 1) == 0);
}

static bool is_status(const char *value)
{
    static const char *const all[] = {"created", "restarting", "running", "removing",
                                      "paused",  "exited",     "dead"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i], value) == 0)
            return true;
    return false;
}

static bool is_exit_code(const char *value)
{
    int64_t code;

    return text_to_i64(value, 0, 255, &code);
}

/* --- images ------------------------------------------------------------------------- */

static size_t name_length(const char *image)
{
    const char *tag = strrchr(image, ':');

    return tag != NULL && strchr(tag, '/') == NULL ? (size_t)(tag - image) : strlen(image);
}

/* With or without the tag. */
static bool is_image(const char *value, const struct docker_subject *s)
{
    size_t len = name_length(s->image);

    return strcmp(value, s->image) == 0 ||
           (strlen(value) == len && strncmp(value, s->image, len) == 0);
}

static bool fits_reference(const char *value, const struct docker_subject *s)
{
    char name[256];
    size_t len = name_length(s->image);

    if (fnmatch(value, s->image, FNM_PATHNAME) == 0)
        return true;
    if (len >= sizeof name)
        return false;
    memcpy(name, s->image, len);
    name[len] = '\0';
    return fnmatch(value, name, FNM_PATHNAME) == 0;
}

/* All of them have a name. */
static bool fits_dangling(const char *value, const struct docker_subject *s)
{
    (void)s;
    return strcmp(value, "0") == 0 || strcmp(value, "false") == 0;
}

static bool is_truth(const char *value)
{
    return fits_dangling(value, NULL) || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

/* --- events ------------------------------------------------------------------------- */

static bool fits_container(const char *value, const struct docker_subject *s)
{
    return strcmp(value, s->name) == 0 || (value[0] != '\0' && fits_id(value, s));
}

static bool fits_action(const char *value, const struct docker_subject *s)
{
    return strcmp(value, s->action) == 0;
}

static bool fits_type(const char *value, const struct docker_subject *s)
{
    (void)s;
    return strcmp(value, "container") == 0;
}

static bool fits_scope(const char *value, const struct docker_subject *s)
{
    (void)s;
    return strcmp(value, "local") == 0;
}

/* There is nothing else than containers. */
static bool fits_nothing(const char *value, const struct docker_subject *s)
{
    (void)value, (void)s;
    return false;
}

/* --- which there are ---------------------------------------------------------------- */

static const struct docker_filter {
    const char *name;
    bool (*fits)(const char *value, const struct docker_subject *s);
    bool (*valid)(const char *value); /* NULL: any value is */
    bool all;                         /* matches all values together, not one at a time */
} filters_known[DOCKER_FILTER_KINDS][16] = {
    [DOCKER_FILTER_CONTAINERS] =
        {
            {"id", fits_id, NULL, false},
            {"name", fits_name, NULL, false},
            {"status", fits_status, is_status, false},
            {"label", fits_label, NULL, true},
            {"ancestor", fits_image, NULL, false},
            {"exited", fits_exited, is_exit_code, false},
        },
    [DOCKER_FILTER_IMAGES] =
        {
            {"reference", fits_reference, NULL, false},
            {"dangling", fits_dangling, is_truth, false},
            {"label", fits_label, NULL, true},
        },
    [DOCKER_FILTER_EVENTS] =
        {
            {"container", fits_container, NULL, false},
            {"event", fits_action, NULL, false},
            {"image", is_image, NULL, false},
            {"label", fits_label, NULL, true},
            {"type", fits_type, NULL, false},
            {"scope", fits_scope, NULL, false},
            {"config", fits_nothing, NULL, false},
            {"daemon", fits_nothing, NULL, false},
            {"network", fits_nothing, NULL, false},
            {"node", fits_nothing, NULL, false},
            {"plugin", fits_nothing, NULL, false},
            {"secret", fits_nothing, NULL, false},
            {"service", fits_nothing, NULL, false},
            {"volume", fits_nothing, NULL, false},
        },
};

static const struct docker_filter *filter_find(enum docker_filter_kind kind, const char *name)
{
    for (const struct docker_filter *f = filters_known[kind]; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* --- decoding -------------------------------------------------------------------------- */

static int check_value(const struct docker_filter *f, const char *value, struct hf_error *err)
{
    struct regex *re;

    if (f->valid != NULL && !f->valid(value))
        return hf_fail_field(err, HF_E_bad_value, "filters", "invalid filter '%s=%.100s'", f->name,
                             value);
    if (f->fits != fits_name)
        return 0;
    re = regex_new(value, strlen(value), err);
    regex_free(re);
    return re != NULL ? 0 : -1;
}

static int add_value(json_t *values, const struct docker_filter *f, const char *value,
                     struct hf_error *err)
{
    if (json_array_size(values) >= LIMIT_DOCKER_FILTER_VALUES)
        return hf_fail_field(err, HF_E_bad_value, "filters", "more than %d values of one filter",
                             LIMIT_DOCKER_FILTER_VALUES);
    if (check_value(f, value, err) < 0)
        return -1;
    return json_array_append_new(values, json_string(value));
}

/* The values of one filter, in either form. */
static int add_values(json_t *values, const struct docker_filter *f, json_t *given,
                      struct hf_error *err)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_object(given)) {
        json_object_foreach (given, key, value)
            if (json_is_true(value) && add_value(values, f, key, err) < 0)
                return -1;
        return 0;
    }
    if (!json_is_array(given))
        return hf_fail_field(err, HF_E_bad_type, "filters", "invalid filter '%.100s'", f->name);
    json_array_foreach (given, i, value) {
        const char *text = json_text(value, "filters", err);

        if (text == NULL || add_value(values, f, text, err) < 0)
            return -1;
    }
    return 0;
}

static int add_filter(json_t *all, enum docker_filter_kind kind, const char *name, json_t *given,
                      struct hf_error *err)
{
    const struct docker_filter *f = filter_find(kind, name);
    json_t *values = json_array();

    json_object_set_new(all, name, values);
    if (f == NULL)
        return hf_fail_field(err, HF_E_bad_value, "filters", "invalid filter '%.100s'", name);
    return add_values(values, f, given, err);
}

json_t *docker_filter_parse(enum docker_filter_kind kind, const char *text, struct hf_error *err)
{
    json_t *all = json_object(), *given = NULL;
    const char *name;
    json_t *value;
    int rc = 0;

    if (text == NULL || text[0] == '\0')
        return all;
    given = json_parse(text, strlen(text), err);
    if (given == NULL)
        rc = -1;
    else if (!json_is_object(given))
        rc = hf_fail_field(err, HF_E_bad_type, "filters", "filters must be a JSON object");
    json_object_foreach (given, name, value)
        if (rc >= 0)
            rc = add_filter(all, kind, name, value, err);
    json_decref(given);
    if (rc >= 0)
        return all;
    json_decref(all);
    return NULL;
}

/* --- matching ---------------------------------------------------------------------------- */

/* A filter without values matches everything. */
static bool filter_fits(const struct docker_filter *f, const json_t *values,
                        const struct docker_subject *s)
{
    size_t n = json_array_size(values), fit = 0;

    for (size_t i = 0; i < n; i++)
        fit += f->fits(json_string_value(json_array_get(values, i)), s);
    return n == 0 || (f->all ? fit == n : fit > 0);
}

bool docker_filter_fits(enum docker_filter_kind kind, const json_t *filters,
                        const struct docker_subject *s)
{
    for (const struct docker_filter *f = filters_known[kind]; f->name != NULL; f++)
        if (!filter_fits(f, json_object_get(filters, f->name), s))
            return false;
    return true;
}
