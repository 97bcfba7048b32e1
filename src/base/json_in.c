/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in.c - reads JSON with jansson and strict fields. Layer: base.
 */
#include "base/json.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"

/* By default jansson reads its hash seed from a file at the first object, and that read(2) would
 * be missing from the count of io.h. */
__attribute__((constructor)) static void json_seed(void)
{
    size_t seed = 0;

    crypto_random(&seed, sizeof seed);
    json_object_seed(seed | 1); /* 0 would mean "choose a seed" */
}

/* Counts brackets outside strings. The result for text that is not JSON does not matter. */
static bool json_is_too_deep(const char *text, size_t len)
{
    bool in_string = false;
    int depth = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

/* jansson does not always report that it ran out of memory: a string whose buffer cannot grow loses
 * bytes, and the text is parsed as if it had been shorter. */
static bool memory_lacked;

static void *note_lack(size_t len)
{
    void *p = malloc(len);

    memory_lacked |= p == NULL;
    return p;
}

static json_t *load(const char *text, size_t len, json_error_t *why, void (*release)(void *))
{
    json_t *v;

    memory_lacked = false;
    json_set_alloc_funcs(note_lack, release);
    v = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, why);
    if (memory_lacked) {
        json_decref(v);
        v = NULL;
    }
    json_set_alloc_funcs(malloc, free);
    return v;
}

static json_t *parse(const char *text, size_t len, struct hf_error *err, void (*release)(void *))
{
    json_error_t why;
    json_t *v;

    if (len == 0) {
        hf_fail(err, HF_E_bad_json, "the body is empty; a JSON object is expected");
        return NULL;
    }
    if (json_is_too_deep(text, len)) {
        hf_fail(err, HF_E_bad_json, "the JSON text is nested deeper than %d levels",
                JSON_DEPTH_MAX);
        return NULL;
    }
    v = load(text, len, &why, release);
    if (v != NULL)
        return v;
    if (memory_lacked)
        hf_fail(err, HF_E_no_memory, "not enough memory for the JSON text");
    else
        hf_fail(err, HF_E_bad_json, "line %d, column %d: %s", why.line, why.column, why.text);
    return NULL;
}

json_t *json_parse(const char *text, size_t len, struct hf_error *err)
{
    return parse(text, len, err, free);
}

json_t *json_parse_own(const char *text, size_t len)
{
    struct hf_error err = {0};
    json_t *v = parse(text, len, &err, free);

    if (v == NULL && err.code == HF_E_no_memory)
        hf_out_of_memory(len);
    return v;
}

static void wipe_and_free(void *p)
{
    if (p != NULL)
        hf_wipe(p, malloc_usable_size(p));
    free(p);
}

json_t *json_parse_secret(const char *text, size_t len, struct hf_error *err)
{
    return parse(text, len, err, wipe_and_free);
}

void json_free_secret(json_t *v)
{
    json_set_alloc_funcs(malloc, wipe_and_free);
    json_decref(v);
    json_set_alloc_funcs(malloc, free);
}

static const char *json_type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number with a fraction";
    case JSON_NULL: return "null";
    default: return "a boolean";
    }
}

static int fail_type(struct hf_error *err, const char *field, const char *want, const json_t *got)
{
    return hf_fail_field(err, HF_E_bad_type, field, "\"%s\" must be %s, not %s", field, want,
                         json_type_name(got));
}

const char *json_text(const json_t *v, const char *field, struct hf_error *err)
{
    const char *s = json_string_value(v);

    if (v == NULL) {
        hf_fail_field(err, HF_E_missing_field, field, "\"%s\" is required", field);
        return NULL;
    }
    if (s == NULL) {
        fail_type(err, field, "a string", v);
        return NULL;
    }
    if (strlen(s) != json_string_length(v)) {
        hf_fail_field(err, HF_E_bad_value, field, "\"%s\" must not contain NUL bytes", field);
        return NULL;
    }
    return s;
}

static int decode_str(const json_t *v, const struct json_field *f, const char **out,
                      struct hf_error *err)
{
    const char *s = json_text(v, f->name, err);
    int64_t len;

    if (s == NULL)
        return json_is_string(v) ? hf_fail(NULL, HF_E_bad_value, "-")
                                 : hf_fail(NULL, HF_E_bad_type, "-");
    len = (int64_t)json_string_length(v);
    if (len < f->min)
        return hf_fail_field(err, HF_E_bad_value, f->name,
                             f->min == 1 ? "\"%s\" must not be empty" : "\"%s\" is too short",
                             f->name);
    if (f->max > 0 && len > f->max)
        return hf_fail_field(err, HF_E_bad_value, f->name, "\"%s\" is longer than %lld bytes",
                             f->name, (long long)f->max);
    *out = s;
    return 0;
}

static int decode_int(const json_t *v, const struct json_field *f, int64_t *out,
                      struct hf_error *err)
{
    int64_t n = json_integer_value(v);

    if (!json_is_integer(v))
        return fail_type(err, f->name, "an integer", v);
    if (f->clamp && n > f->max)
        n = f->max;
    if (n < f->min || n > f->max)
        return hf_fail_field(err, HF_E_bad_value, f->name, "\"%s\" must be from %lld to %lld",
                             f->name, (long long)f->min, (long long)f->max);
    *out = n;
    return 0;
}

static int decode_field(json_t *v, const struct json_field *f, void *target, struct hf_error *err)
{
    void *member = (char *)target + f->offset;

    switch (f->kind) {
    case JSON_F_STR: return decode_str(v, f, member, err);
    case JSON_F_INT: return decode_int(v, f, member, err);
    case JSON_F_BOOL:
        if (!json_is_boolean(v))
            return fail_type(err, f->name, "a boolean", v);
        *(bool *)member = json_is_true(v);
        return 0;
    case JSON_F_OBJECT:
        if (!json_is_object(v))
            return fail_type(err, f->name, "an object", v);
        break;
    case JSON_F_ARRAY:
        if (!json_is_array(v))
            return fail_type(err, f->name, "an array", v);
        break;
    case JSON_F_ANY: break;
    }
    *(json_t **)member = v;
    return 0;
}

static const struct json_field *find_field(const struct json_field *fields, size_t n,
                                           const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

static int check_required(const json_t *object, const struct json_field *fields, size_t n,
                          struct hf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(object, fields[i].name);

        if (fields[i].required && (v == NULL || (fields[i].nullable && json_is_null(v))))
            return hf_fail_field(err, HF_E_missing_field, fields[i].name, "\"%s\" is required",
                                 fields[i].name);
    }
    return 0;
}

static int decode(const json_t *object, const struct json_field *fields, size_t n, bool strict,
                  void *target, struct hf_error *err)
{
    const char *key;
    json_t *v;
    int rc;

    if (!json_is_object(object))
        return hf_fail(err, HF_E_bad_type, "the body must be a JSON object, not %s",
                       json_type_name(object));
    json_object_foreach ((json_t *)object, key, v) {
        const struct json_field *f = find_field(fields, n, key);

        if (f == NULL && strict)
            return hf_fail_field(err, HF_E_unknown_field, key,
                                 "\"%.64s\" is not a field of this call; check its spelling", key);
        if (f == NULL || (f->nullable && json_is_null(v)))
            continue;
        rc = decode_field(v, f, target, err);
        if (rc < 0)
            return rc;
    }
    return check_required(object, fields, n, err);
}

int json_decode(const json_t *object, const struct json_field *fields, size_t n, void *target,
                struct hf_error *err)
{
    return decode(object, fields, n, true, target, err);
}

int json_decode_known(const json_t *object, const struct json_field *fields, size_t n, void *target,
                      struct hf_error *err)
{
    return decode(object, fields, n, false, target, err);
}

json_t *json_encode(const struct json_field *fields, size_t n, const void *source)
{
    json_t *object = json_object(), *v = NULL;

    for (size_t i = 0; i < n; i++) {
        const void *member = (const char *)source + fields[i].offset;

        switch (fields[i].kind) {
        case JSON_F_STR: v = json_string(*(const char *const *)member); break;
        case JSON_F_INT: v = json_integer(*(const int64_t *)member); break;
        case JSON_F_BOOL: v = json_boolean(*(const bool *)member); break;
        default: v = json_incref(*(json_t *const *)member); break;
        }
        json_object_set_new(object, fields[i].name, v != NULL ? v : json_null());
    }
    return object;
}
