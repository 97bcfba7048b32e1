/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_filter.c - decodes the filters of a list and matches containers against them.
 * Layer: dialects.
 */
#include "dialects/docker/docker_filter.h"

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

static const struct docker_filter {
    const char *name;
    bool (*fits)(const char *value, const struct docker_subject *s);
    bool (*valid)(const char *value); /* NULL: any value is */
    bool all;                         /* matches all values together, not one at a time */
} filters_known[] = {
    {"id", fits_id, NULL, false},
    {"name", fits_name, NULL, false},
    {"status", fits_status, is_status, false},
    {"label", fits_label, NULL, true},
    {"ancestor", fits_image, NULL, false},
    {"exited", fits_exited, is_exit_code, false},
};

static const struct docker_filter *filter_find(const char *name)
{
    for (size_t i = 0; i < sizeof filters_known / sizeof *filters_known; i++)
        if (strcmp(filters_known[i].name, name) == 0)
            return &filters_known[i];
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

static int add_filter(json_t *all, const char *name, json_t *given, struct hf_error *err)
{
    const struct docker_filter *f = filter_find(name);
    json_t *values = json_array();

    json_object_set_new(all, name, values);
    if (f == NULL)
        return hf_fail_field(err, HF_E_bad_value, "filters", "invalid filter '%.100s'", name);
    return add_values(values, f, given, err);
}

json_t *docker_filter_parse(const char *text, struct hf_error *err)
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
            rc = add_filter(all, name, value, err);
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

bool docker_filter_fits(const json_t *filters, const struct docker_subject *s)
{
    for (size_t i = 0; i < sizeof filters_known / sizeof *filters_known; i++)
        if (!filter_fits(&filters_known[i], json_object_get(filters, filters_known[i].name), s))
            return false;
    return true;
}
