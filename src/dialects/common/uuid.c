/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid.c - random UUIDs, as in RFC 4122. Layer: dialects.
 */
#include "dialects/common/uuid.h"

#include <stdio.h>

#include "base/crypto.h"
#include "base/text.h"

void uuid_make(char out[UUID_BYTES])
{
    unsigned char id[16];
    char hex[33];

    crypto_random(id, sizeof id);
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40); /* the version */
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80); /* the variant */
    hex_encode(hex, id, sizeof id);
    snprintf(out, UUID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}
