/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_meta.c - a process's names and settings, kept for the next worker. Layer: engine.
 *
 * They are a JSON text in one of two halves of the record. A change writes the other half and then
 * flips the index, so a kill leaves either the old text or the new.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/stream/viewer.h"

void meta_init(struct process *p)
{
    p->meta.retain_ms = p->engine->options.retain_ms;
}

static void meta_write(const struct process *p, struct buf *out)
{
    struct json_out o;
    size_t i;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "command", p->meta.command);
    json_key(&o, "args");
    json_open(&o, '[');
    for (i = 0; i < p->meta.arg_count; i++)
        json_str(&o, p->meta.args[i]);
    json_close(&o, ']');
    json_kstr(&o, "cwd", p->meta.cwd);
    json_kstr(&o, "tag", p->meta.tag);
    json_kstr(&o, "label", p->meta.label);
    json_kstr(&o, "session_id", p->meta.session_id);
    json_kstr(&o, "title", p->meta.title);
    json_kstr(&o, "metadata", p->meta.metadata_json);
    json_kstr(&o, "idempotency_key", p->meta.idempotency_key);
    json_kstr(&o, "request_hash", p->meta.request_hash);
    if (p->meta.session_json != NULL)
        json_kstr(&o, "session", p->meta.session_json);
    json_kint(&o, "source", p->meta.source);
    if (p->meta.helper)
        json_kbool(&o, "helper", true);
    json_kint(&o, "size_policy", p->meta.size_policy);
    json_kint(&o, "retain_ms", p->meta.retain_ms);
    share_write(p, &o);
    lease_write(p, &o);
    json_close(&o, '}');
}

int meta_store(struct process *p, struct hf_error *err)
{
    struct record_head *h = p->rec.head;
    uint32_t which = h->meta_which == 1 ? 2 : 1;
    struct buf text = {0};
    int rc = 0;

    meta_write(p, &text);
    if (text.len > RECORD_META_MAX) {
        rc = hf_fail(err, HF_E_body_too_large,
                     "command, arguments and metadata together exceed %d bytes", RECORD_META_MAX);
    } else {
        memcpy(p->rec.meta[which - 1], buf_data(&text), text.len);
        h->meta_len[which - 1] = (uint32_t)text.len;
        atomic_store_explicit(&h->meta_which, which, memory_order_release);
    }
    buf_fini(&text);
    return rc;
}

void meta_copy(struct process *p, const struct spawn_spec *s)
{
    char cwd[4096];
    size_t i;

    p->meta.command = hf_xstrdup(s->command);
    p->meta.arg_count = s->arg_count;
    p->meta.args = hf_xalloc((s->arg_count + 1) * sizeof *p->meta.args);
    for (i = 0; i < s->arg_count; i++)
        p->meta.args[i] = hf_xstrdup(s->args[i]);
    p->meta.cwd = hf_xstrdup(s->cwd != NULL ? s->cwd : getcwd(cwd, sizeof cwd));
    p->meta.tag = hf_xstrdup(s->tag);
    p->meta.label = hf_xstrdup(s->label);
    p->meta.session_id = hf_xstrdup(s->session_id);
    p->meta.title = hf_xstrdup(s->title);
    p->meta.metadata_json = hf_xstrdup(s->metadata_json);
    p->meta.idempotency_key = hf_xstrdup(s->idempotency_key);
    p->meta.request_hash = hf_xstrdup(s->request_hash);
    p->meta.session_json = hf_xstrdup(s->session_json);
    p->meta.source = s->source;
    p->meta.helper = s->helper;
    p->meta.size_policy = s->size_policy;
    if (s->retain_ms >= 0)
        p->meta.retain_ms = s->retain_ms;
}

void meta_set_session(struct process *p, const char *session_json)
{
    free(p->meta.session_json);
    p->meta.session_json = hf_xstrdup(session_json);
}

static char *take_string(const json_t *o, const char *key)
{
    return hf_xstrdup(json_string_value(json_object_get(o, key)));
}

static void take_args(struct process *p, const json_t *args)
{
    size_t i;

    p->meta.arg_count = json_array_size(args);
    p->meta.args = hf_xalloc((p->meta.arg_count + 1) * sizeof *p->meta.args);
    for (i = 0; i < p->meta.arg_count; i++)
        p->meta.args[i] = hf_xstrdup(json_string_value(json_array_get(args, i)));
}

int meta_load(struct process *p)
{
    const struct record_head *h = p->rec.head;
    uint32_t which = h->meta_which;
    json_t *o;

    if (which < 1 || which > 2 || h->meta_len[which - 1] > RECORD_META_BYTES)
        return -EPROTO;
    o = json_parse_own(p->rec.meta[which - 1], h->meta_len[which - 1]);
    if (o == NULL)
        return -EPROTO;
    p->meta.command = take_string(o, "command");
    take_args(p, json_object_get(o, "args"));
    p->meta.cwd = take_string(o, "cwd");
    p->meta.tag = take_string(o, "tag");
    p->meta.label = take_string(o, "label");
    p->meta.session_id = take_string(o, "session_id");
    p->meta.title = take_string(o, "title");
    p->meta.metadata_json = take_string(o, "metadata");
    p->meta.idempotency_key = take_string(o, "idempotency_key");
    p->meta.request_hash = take_string(o, "request_hash");
    p->meta.session_json = take_string(o, "session");
    p->meta.source = (enum process_source)json_integer_value(json_object_get(o, "source"));
    p->meta.helper = json_is_true(json_object_get(o, "helper"));
    p->meta.size_policy = (enum size_policy)json_integer_value(json_object_get(o, "size_policy"));
    p->meta.retain_ms = json_integer_value(json_object_get(o, "retain_ms"));
    share_load(p, json_object_get(o, "links"));
    lease_load(p, json_object_get(o, "lease"));
    json_decref(o);
    return 0;
}

void meta_free(struct process *p)
{
    size_t i;

    for (i = 0; i < p->meta.arg_count; i++)
        free(p->meta.args[i]);
    free(p->meta.args);
    free(p->meta.command);
    free(p->meta.cwd);
    free(p->meta.tag);
    free(p->meta.label);
    free(p->meta.session_id);
    free(p->meta.title);
    free(p->meta.metadata_json);
    free(p->meta.idempotency_key);
    free(p->meta.request_hash);
    share_free_all(p);
    lease_fini(p);
    free(p->meta.session_json);
}

/* --- patch ------------------------------------------------------------------ */

static void replace(char **member, const char *value)
{
    if (value == NULL)
        return;
    free(*member);
    *member = value[0] != '\0' ? hf_xstrdup(value) : NULL;
}

static int check_patch(struct process *p, const struct process_patch *patch, struct hf_error *err)
{
    struct process *other;

    if (patch->label != NULL && strlen(patch->label) > LIMIT_LABEL_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "label", "label is longer than %d bytes",
                             LIMIT_LABEL_BYTES);
    if (patch->title != NULL && strlen(patch->title) > LIMIT_LABEL_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "title", "title is longer than %d bytes",
                             LIMIT_LABEL_BYTES);
    if (patch->metadata_json != NULL && strlen(patch->metadata_json) > LIMIT_METADATA_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "metadata", "metadata is larger than %d bytes",
                             LIMIT_METADATA_BYTES);
    if (patch->tag == NULL || patch->tag[0] == '\0')
        return 0;
    if (strlen(patch->tag) > LIMIT_TAG_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "tag", "tag is longer than %d bytes",
                             LIMIT_TAG_BYTES);
    other = registry_find_tag(p->engine, patch->tag, true);
    if (other != NULL && other != p && process_is_running(p))
        return hf_fail_field(err, HF_E_tag_in_use, "tag",
                             "tag '%s' belongs to the running process %s", patch->tag,
                             other->rec.head->id);
    return 0;
}

int process_patch(struct process *p, const struct process_patch *patch, struct hf_error *err)
{
    struct viewer_notice n = {.kind = NOTICE_TITLE};
    int rc = check_patch(p, patch, err);

    if (rc < 0)
        return rc;
    replace(&p->meta.label, patch->label);
    replace(&p->meta.tag, patch->tag);
    replace(&p->meta.title, patch->title);
    replace(&p->meta.metadata_json, patch->metadata_json);
    if (patch->set_retain)
        p->meta.retain_ms = patch->retain_ms;
    if (patch->set_size_policy)
        p->meta.size_policy = patch->size_policy;
    rc = meta_store(p, err);
    if (patch->set_retain)
        retention_change(p);
    if (patch->title != NULL)
        viewers_notice(p, &n);
    if (patch->set_size_policy)
        size_settle(p);
    process_updated(p);
    return rc;
}
