/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_meta.c - a dialect's own object in the metadata of a process. Layer: dialects.
 */
#include "dialects/common/own_meta.h"

#include <stdlib.h>
#include <string.h>

static json_t *all_of(const char *metadata_json)
{
    return metadata_json != NULL ? json_parse_own(metadata_json, strlen(metadata_json)) : NULL;
}

json_t *own_meta(const char *metadata_json, const char *name)
{
    json_auto_t *all = NULL;
    json_t *own;

    if (metadata_json == NULL || strstr(metadata_json, name) == NULL)
        return NULL; /* most processes; parsing is expensive in a list of all */
    all = all_of(metadata_json);
    own = json_object_get(all, name);
    return json_is_object(own) ? json_incref(own) : NULL;
}

int own_meta_set(struct process *p, const char *name, json_t *own, struct hf_error *err)
{
    struct process_patch patch = {0};
    struct process_view v;
    json_t *all;
    char *text;
    int rc;

    process_view(p, &v);
    all = all_of(v.metadata_json);
    if (all == NULL)
        all = json_object();
    json_object_set(all, name, own);
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (text == NULL)
        return hf_fail(err, HF_E_bad_value, "the metadata of a process must be UTF-8");
    patch.metadata_json = text;
    rc = process_patch(p, &patch, err);
    free(text);
    return rc;
}

char *own_meta_text(const char *name, json_t *own)
{
    json_auto_t *all = json_object();

    json_object_set(all, name, own);
    return json_dumps(all, JSON_COMPACT);
}
