/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uuid.h - random UUIDs, for platforms whose ids or tokens have this form. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_UUID_H
#define HF_DIALECTS_COMMON_UUID_H

#define UUID_BYTES 37 /* with the NUL */

void uuid_make(char out[UUID_BYTES]); /* version 4, in lower case */

#endif
