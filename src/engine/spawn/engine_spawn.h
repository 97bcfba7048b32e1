/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_spawn.h - from a spec to the keeper's packet
 *
 * Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_ENGINE_SPAWN_H
#define HF_ENGINE_SPAWN_ENGINE_SPAWN_H

#include "base/buf.h"
#include "base/error.h"
#include "engine/spawn/spec.h"
#include "keeper/keeper_proto.h"

int spec_check(const struct spawn_spec *s, struct hf_error *err);

/* Encodes the packet and its strings for a checked spec. 0 or err (user_unknown,
 * body_too_large). */
int spawn_encode_build(const struct spawn_spec *s, const char *id, struct k_spawn *packet,
                       struct buf *strings, struct hf_error *err);
/* The n-th candidate path in the strings, for error texts. */
const char *spawn_encode_path(const struct buf *strings, uint32_t n);

#endif
