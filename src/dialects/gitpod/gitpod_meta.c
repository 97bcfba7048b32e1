/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_meta.c - what a terminal has in addition to a process: title, annotations, starter token
 *
 * {"gitpod": {"token": …, "workdir": …, "title": …, "annotations": {…}, "force_success": true}} in
 * the metadata, where every worker and every other dialect finds it. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"
#include "dialects/gitpod/gitpod.h"

json_t *gitpod_meta(const struct process_view *v)
{
    json_t *meta = json_loads(v->metadata_json, 0, NULL);

    return meta != NULL ? meta : json_object();
}

json_t *gitpod_meta_own(json_t *meta)
{
    json_t *own = json_object_get(meta, "gitpod");

    if (json_is_object(own))
        return own;
    own = json_object();
    json_object_set_new(meta, "gitpod", own);
    return own;
}

int gitpod_meta_set(struct process *p, const json_t *meta, struct hf_error *err)
{
    char *text = json_dumps(meta, JSON_COMPACT);
    const struct process_patch patch = {.metadata_json = text};
    int rc;

    if (text == NULL)
        return hf_fail(err, HF_E_bad_value, "annotations and titles must be UTF-8");
    rc = process_patch(p, &patch, err);
    free(text);
    return rc;
}

void gitpod_make_token(char out[37])
{
    unsigned char id[16];
    char hex[33];

    crypto_random(id, sizeof id);
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
    hex_encode(hex, id, sizeof id);
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void gitpod_title(struct process *p, struct gitpod_title *out)
{
    struct process_view v;
    const char *title;
    json_t *meta;

    process_view(p, &v);
    meta = gitpod_meta(&v);
    title = json_string_value(json_object_get(json_object_get(meta, "gitpod"), "title"));
    out->api = title != NULL && title[0] != '\0';
    out->text[0] = '\0';
    if (out->api)
        snprintf(out->text, sizeof out->text, "%s", title);
    else if (v.running)
        process_foreground(p, out->text, sizeof out->text);
    if (out->text[0] == '\0')
        snprintf(out->text, sizeof out->text, "%s", base_name(v.command));
    json_decref(meta);
}
