/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registration.c - entries that daemons write about themselves
 *
 * Layer: gateway.
 */
#include "gateway/registration.h"

#include <errno.h>
#include <string.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

#define MAGIC "hf1 "
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define SIGNATURE_BYTES (2 * 32)

/* --- keys ---------------------------------------------------------------------- */

void registration_key(const struct buf *operator_key, const char *id,
                      uint8_t out[REGISTRATION_KEY_BYTES])
{
    struct buf text = {0};

    buf_printf(&text, "holdfast-sandbox-key-1\n%s", id);
    hmac_sha256(buf_data(operator_key), operator_key->len, buf_data(&text), text.len, out);
    buf_fini(&text);
}

bool registration_key_parse(const char *text, size_t len, uint8_t out[REGISTRATION_KEY_BYTES])
{
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    if (len != 2 * REGISTRATION_KEY_BYTES)
        return false;
    for (size_t i = 0; i < REGISTRATION_KEY_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void registration_token(const uint8_t key[REGISTRATION_KEY_BYTES], char out[REGISTRATION_HEX_BYTES])
{
    static const char text[] = "holdfast-daemon-token-1\n";
    uint8_t mac[32];

    hmac_sha256(key, REGISTRATION_KEY_BYTES, text, sizeof text - 1, mac);
    hex_encode(out, mac, sizeof mac);
    hf_wipe(mac, sizeof mac);
}

/* --- signatures ---------------------------------------------------------------- */

static void sign(const uint8_t key[REGISTRATION_KEY_BYTES], const char *id, const char *json,
                 size_t len, char out[SIGNATURE_BYTES + 1])
{
    struct buf text = {0};
    uint8_t mac[32];

    buf_printf(&text, "holdfast-registration-1\n%s\n", id);
    buf_put(&text, json, len);
    hmac_sha256(key, REGISTRATION_KEY_BYTES, buf_data(&text), text.len, mac);
    hex_encode(out, mac, sizeof mac);
    buf_fini(&text);
}

void registration_sign(const uint8_t key[REGISTRATION_KEY_BYTES], const char *id,
                       const struct buf *json, struct buf *out)
{
    char signature[SIGNATURE_BYTES + 1];

    sign(key, id, buf_data(json), json->len, signature);
    buf_printf(out, MAGIC "%s ", signature);
    buf_put(out, buf_data(json), json->len);
}

/* What was signed; NULL: not with this sandbox's key. */
static const char *verify(const uint8_t key[REGISTRATION_KEY_BYTES], const char *id,
                          const char *text, size_t *len)
{
    const size_t head = MAGIC_BYTES + SIGNATURE_BYTES + 1;
    char want[SIGNATURE_BYTES + 1];

    if (*len < head || memcmp(text, MAGIC, MAGIC_BYTES) != 0 || text[head - 1] != ' ')
        return NULL;
    *len -= head;
    sign(key, id, text + head, *len, want);
    return crypto_equal(text + MAGIC_BYTES, want, SIGNATURE_BYTES) ? text + head : NULL;
}

/* --- entries --------------------------------------------------------------------- */

/* An old entry names the sandbox's former address, which another host may have by now. */
static int take_expiry(json_t *o, int64_t now_ms, int64_t *expires_ms, struct hf_error *err)
{
    const json_t *v = json_object_get(o, "expires_ms");
    int64_t at = json_integer_value(v);

    if (!json_is_integer(v))
        return hf_fail(err, HF_E_missing_field, "a signed entry needs `expires_ms`");
    if (at > now_ms + REGISTRATION_TTL_MAX_MS + REGISTRATION_SKEW_MS)
        return hf_fail(err, HF_E_bad_value, "it expires too late, or a clock is wrong");
    if (at <= now_ms - REGISTRATION_SKEW_MS)
        return hf_fail(err, HF_E_bad_value, "it has expired, or a clock is wrong");
    *expires_ms = at + REGISTRATION_SKEW_MS;
    json_object_del(o, "expires_ms");
    return 0;
}

static int add_token(struct endpoint *e, const uint8_t key[REGISTRATION_KEY_BYTES],
                     struct hf_error *err)
{
    char token[REGISTRATION_HEX_BYTES];
    int rc;

    if (endpoint_address_port(&e->address) == 0)
        return hf_fail(err, HF_E_bad_value, "`share_token` needs an address with a port");
    registration_token(key, token);
    rc = endpoint_put_bearer(&e->headers, token);
    hf_wipe(token, sizeof token);
    return rc < 0 ? hf_fail(err, HF_E_bad_value, "too many headers") : 0;
}

static struct endpoint *read_signed(const uint8_t key[REGISTRATION_KEY_BYTES], json_t *o,
                                    int64_t now_ms, int64_t *expires_ms, struct hf_error *err)
{
    bool shares = json_is_true(json_object_get(o, "share_token"));
    struct endpoint *e;

    if (json_object_get(o, "token") != NULL) {
        hf_fail(err, HF_E_bad_value, "it has a `token`, which every reader of Redis can see");
        return NULL;
    }
    if (take_expiry(o, now_ms, expires_ms, err) < 0)
        return NULL;
    json_object_del(o, "share_token");
    e = endpoint_from_json(o, err);
    if (e != NULL && shares && add_token(e, key, err) < 0) {
        endpoint_unref(e);
        return NULL;
    }
    return e;
}

static struct endpoint *verify_and_read(const struct registration_trust *trust, const char *id,
                                        const char *text, size_t len, int64_t now_ms,
                                        int64_t *expires_ms, struct hf_error *err)
{
    uint8_t key[REGISTRATION_KEY_BYTES];
    struct endpoint *e = NULL;
    json_t *o = NULL;
    const char *json;

    registration_key(&trust->key, id, key);
    json = verify(key, id, text, &len);
    if (json == NULL)
        hf_fail(err, HF_E_bad_value, "it is not signed with the key of this sandbox");
    else
        o = json_parse(json, len, err);
    if (o != NULL)
        e = read_signed(key, o, now_ms, expires_ms, err);
    json_decref(o);
    hf_wipe(key, sizeof key);
    return e;
}

struct endpoint *registration_read(const struct registration_trust *trust, const char *id,
                                   const char *text, size_t len, int64_t now_ms,
                                   int64_t *expires_ms, struct hf_error *err)
{
    struct endpoint *e;
    json_t *o;

    *expires_ms = 0;
    if (!trust->takes_unsigned)
        return verify_and_read(trust, id, text, len, now_ms, expires_ms, err);
    o = json_parse(text, len, err);
    e = o != NULL ? endpoint_from_json(o, err) : NULL;
    json_decref(o);
    return e;
}
