/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_LIMITS_H
#define HF_DIALECTS_E2B_E2B_LIMITS_H

#define LIMIT_E2B_MESSAGE_BYTES (4 * 1024 * 1024) /* one message, which is buffered whole */
/* Of a longer SendInput only so much is held: what precedes its bytes has to be in it. */
#define LIMIT_E2B_INPUT_HEAD_BYTES (64 * 1024)

#endif
