/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_env.c - variables and metadata of the sandbox. Layer: dialects.
 */
#include "dialects/opensandbox/osb_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/common/transfer.h"
#include "dialects/common/uuid.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb_env_file.h"

#define NOTE "opensandbox.sandbox" /* {"env":{},"metadata":{},"envs_file":""}; each may be absent */
#define VARIABLE "EXECD_ENVS"
#define ENTRY_BYTES 8192 /* in front of a file's bytes */

static const char *lookup(const char *name)
{
    return getenv(name);
}

static json_t *recall(const struct osb *o)
{
    json_t *note = dialect_note(o->base.engine, NOTE);

    return note != NULL ? note : json_object();
}

/* Consumes the note. */
static int store(struct osb *o, json_t *note, struct hf_error *err)
{
    int rc = dialect_note_set(o->base.engine, NOTE, note);

    json_decref(note);
    return rc == 0 ? 0
                   : hf_fail(err, HF_E_body_too_large,
                             "the sandbox's variables and metadata are too large to store");
}

/* --- the variables of one request ------------------------------------------------------------ */

static void put_pair(struct buf *out, const char *name, const char *value)
{
    buf_put(out, name, strlen(name) + 1);
    buf_put(out, value, strlen(value) + 1);
}

static void put_object(struct buf *out, json_t *env)
{
    const char *name;
    json_t *value;

    json_object_foreach (env, name, value) {
        put_pair(out, name, json_string_value(value));
    }
}

/* Those of the note, and the file's name if it is ours. */
static void begin_block(struct osb *o, const json_t *note)
{
    const char *file = json_string_value(json_object_get(note, "envs_file"));

    buf_clear(&o->env);
    put_object(&o->env, json_object_get(note, "env"));
    if (file != NULL)
        put_pair(&o->env, VARIABLE, file);
}

static void run_with_block(struct http_request *rq, http_handler *next)
{
    struct osb *o = osb_of(rq);

    next(rq);
    buf_wipe(&o->env);
}

/* A later variable replaces an earlier one, but none of the request's own. A simple search does for
 * LIMIT_OSB_ENVS. */
static size_t put_var(struct spec_env *all, size_t n, size_t own, const char *name,
                      const char *value)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) {
            if (i >= own)
                all[i].value = value;
            return n;
        }
    all[n] = (struct spec_env){name, value};
    return n + 1;
}

static size_t count_pairs(const char *at, const char *end)
{
    size_t n = 0;

    for (; at < end; at++)
        n += *at == '\0';
    return n / 2;
}

struct spec_env *osb_env_overlay(const struct osb *o, const struct spec_env **env, size_t *count)
{
    const char *at = o->env.len > 0 ? buf_data(&o->env) : "", *end = at + o->env.len;
    size_t own = *count, n = own;
    struct spec_env *all = hf_xalloc((own + count_pairs(at, end) + 1) * sizeof *all);

    for (size_t i = 0; i < own; i++)
        all[i] = (*env)[i];
    while (at < end) {
        const char *value = at + strlen(at) + 1;

        n = put_var(all, n, own, at, value);
        at = value + strlen(value) + 1;
    }
    *env = all;
    *count = n;
    return all;
}

/* --- the file -------------------------------------------------------------------------------- */

struct osb_env_wait {
    struct call call;
    http_handler *next;
    struct transfer *read; /* NULL: it has ended */
    struct buf bytes;      /* a line that describes the file, then its bytes */
};

static void wait_release(struct call *c)
{
    struct osb_env_wait *w = (struct osb_env_wait *)c;

    transfer_free(w->read);
    buf_wipe(&w->bytes);
}

static const struct call_kind wait_kind = {.release = wait_release, .stays = true};

static void wait_bytes(void *arg, const char *bytes, size_t len)
{
    struct osb_env_wait *w = arg;

    if (w->bytes.len <= LIMIT_OSB_ENVS_BYTES + ENTRY_BYTES)
        buf_put(&w->bytes, bytes, len);
}

/* False: too long. */
static bool take_file(struct osb *o, const struct buf *file)
{
    const char *bytes = buf_data(file);
    const char *line = file->len > 0 ? memchr(bytes, '\n', file->len) : NULL;
    size_t len;

    if (line == NULL)
        return true;
    line++;
    len = file->len - (size_t)(line - bytes);
    return len <= LIMIT_OSB_ENVS_BYTES &&
           osb_env_file_parse(line, len, lookup, &o->env) <= LIMIT_OSB_ENVS;
}

/* A file that cannot be read sets nothing, as in execd: it may not exist yet. */
static void wait_done(void *arg, const struct transfer_end *end)
{
    struct osb_env_wait *w = arg;
    struct osb *o = (struct osb *)w->call.base;
    http_handler *next = w->next;
    json_auto_t *note = recall(o);
    struct http_request *rq;
    bool fits;

    w->read = NULL;
    if (end->not_started) {
        call_fail(&w->call, &end->fault.err);
        return;
    }
    begin_block(o, note);
    fits = !end->ok || take_file(o, &w->bytes);
    rq = call_end(&w->call);
    if (rq != NULL && fits)
        run_with_block(rq, next);
    else if (rq != NULL)
        osb_refuse(rq, 500, "RUNTIME_ERROR",
                   "the file that " VARIABLE " names has more than 64 KiB or 1000 variables");
    buf_wipe(&o->env);
}

static void wait_begin(struct http_request *rq, http_handler *next, const char *file)
{
    static const struct transfer_ops ops = {.bytes = wait_bytes, .done = wait_done};
    struct osb_env_wait *w = call_begin(rq, &wait_kind, sizeof *w);
    struct file_op op;
    struct hf_error err;

    w->next = next;
    file_op_init(&op, NULL, "read", file);
    if (transfer_start(w->call.base, &op, &ops, w, &w->read, &err) < 0)
        call_fail(&w->call, &err);
    file_op_fini(&op);
}

void osb_env_with(struct http_request *rq, http_handler *next)
{
    struct osb *o = osb_of(rq);
    json_auto_t *note = recall(o);
    const char *file = getenv(VARIABLE);
    hf_autobuf struct buf path = {0};
    struct hf_error err;

    if (file == NULL || file[0] == '\0')
        file = json_string_value(json_object_get(note, "envs_file"));
    if (file == NULL || http_role(rq) < ROLE_OWN) {
        begin_block(o, note);
        run_with_block(rq, next);
    } else if (osb_expand(file, lookup, &path, &err) < 0) {
        osb_error(rq, &err);
    } else {
        wait_begin(rq, next, buf_cstr(&path));
    }
}

int osb_env_notice(struct osb *o, const char *line, struct hf_error *err)
{
    json_t *note;
    char name[64], id[UUID_BYTES];

    if (line == NULL || strstr(line, VARIABLE) == NULL || getenv(VARIABLE) != NULL)
        return 0;
    note = recall(o);
    if (json_object_get(note, "envs_file") != NULL) {
        json_decref(note);
        return 0;
    }
    uuid_make(id);
    snprintf(name, sizeof name, "/tmp/.opensandbox-%s/envs", id);
    json_object_set_new(note, "envs_file", json_string(name));
    put_pair(&o->env, VARIABLE, name);
    return store(o, note, err);
}

/* --- what the control plane sets ------------------------------------------------------------- */

static int merge(json_t *note, const char *name, const json_t *set, struct hf_error *err)
{
    json_t *all = json_object_get(note, name), *value;
    const char *key;

    if (set == NULL || json_is_null(set))
        return 0;
    if (!json_is_object(set))
        return hf_fail_field(err, HF_E_bad_type, name, "%s must be an object of strings", name);
    if (all == NULL)
        json_object_set_new(note, name, all = json_object());
    json_object_foreach ((json_t *)(uintptr_t)set, key, value) {
        if (json_is_null(value))
            json_object_del(all, key);
        else if (json_is_string(value))
            json_object_set(all, key, value);
        else
            return hf_fail_field(err, HF_E_bad_type, name, "%s must be an object of strings", name);
    }
    return 0;
}

int osb_env_keep(struct osb *o, const json_t *env, const json_t *metadata, struct hf_error *err)
{
    json_t *note = recall(o);
    struct spec_env *vars = NULL;
    size_t count = 0;
    int rc = merge(note, "env", env, err);

    if (rc == 0)
        rc = merge(note, "metadata", metadata, err);
    if (rc == 0 && env != NULL && !json_is_null(env))
        rc = spawn_request_env(env, &vars, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (vars[i].name[0] == '\0' || strchr(vars[i].name, '=') != NULL)
            rc = hf_fail_field(err, HF_E_bad_value, "env", "'%.40s' is not a valid variable name",
                               vars[i].name);
    free(vars);
    if (rc == 0)
        return store(o, note, err);
    json_decref(note);
    return rc;
}

json_t *osb_env_metadata(const struct osb *o)
{
    json_auto_t *note = recall(o);
    json_t *metadata = json_object_get(note, "metadata");

    return metadata != NULL ? json_incref(metadata) : json_object();
}
