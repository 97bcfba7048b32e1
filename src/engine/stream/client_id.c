/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_id.c - client ids, each bound to the grant that presented it. Layer: engine.
 */
#include "engine/stream/client_id.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/text.h"

#define DIGEST 32
#define GUEST '\1' /* prefix of a key: the digests of grant and id follow */
#define LONG '\2'  /* prefix: the digest of an owner id longer than a key */
#define GRANT_CHARS 16
#define ID_CHARS 32

_Static_assert(1 + GRANT_CHARS + ID_CHARS < CLIENT_KEY_BYTES, "a key fits");

static void digest_hex(const char *text, char hex[2 * DIGEST + 1])
{
    uint8_t digest[DIGEST];

    sha256(text, strlen(text), digest);
    hex_encode(hex, digest, sizeof digest);
}

void client_key(const char *principal, const char *id, char *out)
{
    char grant[2 * DIGEST + 1], name[2 * DIGEST + 1];

    if (principal == NULL && strlen(id) < CLIENT_KEY_BYTES) {
        snprintf(out, CLIENT_KEY_BYTES, "%s", id);
        return;
    }
    digest_hex(id, name);
    if (principal == NULL) {
        snprintf(out, CLIENT_KEY_BYTES, "%c%.*s", LONG, ID_CHARS, name);
        return;
    }
    digest_hex(principal, grant);
    snprintf(out, CLIENT_KEY_BYTES, "%c%.*s%.*s", GUEST, GRANT_CHARS, grant, ID_CHARS, name);
}

bool client_is_owners(const char *key)
{
    return key[0] != GUEST;
}

bool client_same_guest(const char *a, const char *b)
{
    return a[0] == GUEST && strncmp(a, b, 1 + GRANT_CHARS) == 0;
}

void client_shown(const char *process_id, const char *key, char *out)
{
    uint8_t mac[DIGEST];
    char hex[2 * DIGEST + 1];

    hmac_sha256(process_id, strlen(process_id), key, strlen(key), mac);
    hex_encode(hex, mac, sizeof mac);
    snprintf(out, CLIENT_SHOWN_BYTES, "c_%.16s", hex);
}
