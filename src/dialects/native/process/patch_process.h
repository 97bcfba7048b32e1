/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_process.h - a PATCH body as a process_patch. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PROCESS_PATCH_PROCESS_H
#define HF_DIALECTS_NATIVE_PROCESS_PATCH_PROCESS_H

#include "engine/process.h"

/* *metadata is malloc'd or NULL, and the caller's; the rest borrows from the tree. */
int patch_decode(const json_t *body, struct process_patch *out, char **metadata,
                 struct hf_error *err);

#endif
