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

#include "base/buf.h"
#include "base/mem.h"
#include "engine/engine_own.h"

static void meta_write(const struct process *p, struct buf *out)
{
    struct json_out o;
    size_t i;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "command", p->command);
    json_key(&o, "args");
    json_open(&o, '[');
    for (i = 0; i < p->arg_count; i++)
        json_str(&o, p->args[i]);
    json_close(&o, ']');
    json_kstr(&o, "cwd", p->cwd);
    json_kstr(&o, "tag", p->tag);
    json_kstr(&o, "label", p->label);
    json_kstr(&o, "session_id", p->session_id);
    json_kstr(&o, "title", p->title);
    json_kstr(&o, "metadata", p->metadata_json);
    json_kstr(&o, "idempotency_key", p->idempotency_key);
    json_kstr(&o, "request_hash", p->request_hash);
    if (p->session_json != NULL)
        json_kstr(&o, "session", p->session_json);
    json_kint(&o, "source", p->source);
    if (p->helper)
        json_kbool(&o, "helper", true);
    json_kint(&o, "size_policy", p->size_policy);
    json_kint(&o, "retain_ms", p->retain_ms);
    if (!list_is_empty(&p->shares))
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

static char *take_string(const json_t *o, const char *key)
{
    return hf_xstrdup(json_string_value(json_object_get(o, key)));
}

static void take_args(struct process *p, const json_t *args)
{
    size_t i;

    p->arg_count = json_array_size(args);
    p->args = hf_xalloc((p->arg_count + 1) * sizeof *p->args);
    for (i = 0; i < p->arg_count; i++)
        p->args[i] = hf_xstrdup(json_string_value(json_array_get(args, i)));
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
    p->command = take_string(o, "command");
    take_args(p, json_object_get(o, "args"));
    p->cwd = take_string(o, "cwd");
    p->tag = take_string(o, "tag");
    p->label = take_string(o, "label");
    p->session_id = take_string(o, "session_id");
    p->title = take_string(o, "title");
    p->metadata_json = take_string(o, "metadata");
    p->idempotency_key = take_string(o, "idempotency_key");
    p->request_hash = take_string(o, "request_hash");
    p->session_json = take_string(o, "session");
    p->source = (enum process_source)json_integer_value(json_object_get(o, "source"));
    p->helper = json_is_true(json_object_get(o, "helper"));
    p->size_policy = (enum size_policy)json_integer_value(json_object_get(o, "size_policy"));
    p->retain_ms = json_integer_value(json_object_get(o, "retain_ms"));
    share_load(p, json_object_get(o, "links"));
    lease_load(p, json_object_get(o, "lease"));
    json_decref(o);
    return 0;
}

void meta_free(struct process *p)
{
    size_t i;

    for (i = 0; i < p->arg_count; i++)
        free(p->args[i]);
    free(p->args);
    free(p->command);
    free(p->cwd);
    free(p->tag);
    free(p->label);
    free(p->session_id);
    free(p->title);
    free(p->metadata_json);
    free(p->idempotency_key);
    free(p->request_hash);
    share_free_all(p);
    lease_fini(p);
    free(p->session_json);
}
