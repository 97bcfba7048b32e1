/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_review_decode.c - the reviews of kubectl's, as protobuf. Layer: dialects.
 */
#include "dialects/kubernetes/kube_review_decode.h"

#include <string.h>

#include "dialects/common/pb.h"

static const char magic[] = {'k', '8', 's', '\0'};

/* Each object is in an envelope that names its type. */
static const struct pb_message type_meta =
    PB_FIELDS(PB_FIELD(1, "apiVersion", TEXT), PB_FIELD(2, "kind", TEXT));
static const struct pb_message envelope =
    PB_FIELDS(PB_FIELD(1, "typeMeta", MESSAGE, .message = &type_meta), PB_FIELD(2, "raw", BYTES));

static const struct pb_message resource_attributes =
    PB_FIELDS(PB_FIELD(1, "namespace", TEXT), PB_FIELD(2, "verb", TEXT), PB_FIELD(3, "group", TEXT),
              PB_FIELD(4, "version", TEXT), PB_FIELD(5, "resource", TEXT),
              PB_FIELD(6, "subresource", TEXT), PB_FIELD(7, "name", TEXT));
static const struct pb_message path_attributes =
    PB_FIELDS(PB_FIELD(1, "path", TEXT), PB_FIELD(2, "verb", TEXT));
static const struct pb_message access_spec =
    PB_FIELDS(PB_FIELD(1, "resourceAttributes", MESSAGE, .message = &resource_attributes),
              PB_FIELD(2, "nonResourceAttributes", MESSAGE, .message = &path_attributes));
static const struct pb_message access_review =
    PB_FIELDS(PB_FIELD(2, "spec", MESSAGE, .message = &access_spec));

static const struct pb_message rules_spec = PB_FIELDS(PB_FIELD(1, "namespace", TEXT));
static const struct pb_message rules_review =
    PB_FIELDS(PB_FIELD(2, "spec", MESSAGE, .message = &rules_spec));

static const struct {
    const char *kind;
    const struct pb_message *message;
} rows[] = {
    {"SelfSubjectAccessReview", &access_review},
    {"SelfSubjectRulesReview", &rules_review},
    {"SelfSubjectReview", &pb_empty},
};

static json_t *decode_object(const json_t *type, const json_t *raw, struct hf_error *err)
{
    const char *kind = json_string_value(json_object_get(type, "kind"));
    json_t *object;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (kind == NULL || strcmp(kind, rows[i].kind) != 0)
            continue;
        object = pb_from_wire(rows[i].message, raw != NULL ? json_string_value(raw) : "",
                              json_string_length(raw), err);
        if (object != NULL)
            json_object_update(object, (json_t *)(uintptr_t)type);
        return object;
    }
    hf_fail(err, HF_E_bad_value, "the body is no review that this server knows");
    return NULL;
}

json_t *kube_review_decode(const char *bytes, size_t len, struct hf_error *err)
{
    json_t *whole, *object;

    if (len < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        hf_fail(err, HF_E_bad_value, "the body does not begin as protobuf of Kubernetes does");
        return NULL;
    }
    whole = pb_from_wire(&envelope, bytes + sizeof magic, len - sizeof magic, err);
    if (whole == NULL)
        return NULL;
    object = decode_object(json_object_get(whole, "typeMeta"), json_object_get(whole, "raw"), err);
    json_decref(whole);
    return object;
}
