/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idempotency.c - the Idempotency-Key of a request that starts a process. Layer: dialects.
 */
#include "dialects/common/idempotency.h"

#include <string.h>

#include "base/crypto.h"
#include "base/text.h"

#define KEY_MAX 255

int idempotency_decode(struct idempotency *i, const struct http_request *rq, struct hf_error *err)
{
    const char *s = http_header(rq, "Idempotency-Key"), *body;
    size_t len = 0, body_len;
    uint8_t digest[IDEMPOTENCY_HASH_LEN / 2];

    *i = (struct idempotency){.key = s};
    if (s == NULL)
        return 0;
    while (s[len] > ' ' && s[len] <= '~')
        len++;
    if (len < 1 || len > KEY_MAX || s[len] != '\0')
        return hf_fail_field(
            err, HF_E_bad_value, "Idempotency-Key",
            "an Idempotency-Key must be 1 to %d visible ASCII characters, without spaces", KEY_MAX);
    body = http_body(rq, &body_len);
    sha256(body, body_len, digest);
    hex_encode(i->hash, digest, sizeof digest);
    return 0;
}

int idempotency_check(const struct idempotency *i, const char *hash, struct hf_error *err)
{
    if (hash != NULL && strcmp(hash, i->hash) == 0)
        return 0;
    return hf_fail(err, HF_E_idempotency_conflict,
                   "this Idempotency-Key was used with another body; use a new key");
}

int idempotency_find(const struct idempotency *i, struct engine *e, struct process **out,
                     struct hf_error *err)
{
    struct process *p = i->key != NULL ? engine_find_idempotent(e, i->key) : NULL;
    struct process_view v;
    int rc;

    if (p == NULL)
        return 0;
    process_view(p, &v);
    if (v.pid == 0) /* it is being started, which may still fail */
        return 0;
    rc = idempotency_check(i, v.request_hash, err);
    if (rc < 0)
        return rc;
    *out = p;
    return 1;
}
