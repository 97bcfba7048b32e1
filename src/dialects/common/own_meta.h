/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_meta.h - what a dialect knows of a process that the engine does not
 *
 * It is an object below the dialect's name in the process's metadata, where every worker and every
 * other dialect finds it: {"gitpod": {"title": …}}. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_OWN_META_H
#define HF_DIALECTS_COMMON_OWN_META_H

#include "base/json.h"
#include "engine/process.h"

/* The object of this name in a process's metadata; the caller owns it. NULL: none. */
json_t *own_meta(const char *metadata_json, const char *name);
/* Replaces the object of this name, and leaves the rest of the metadata alone. */
int own_meta_set(struct process *p, const char *name, json_t *own, struct hf_error *err);
/* The metadata of a new process that has only this object; the caller frees it. */
char *own_meta_text(const char *name, json_t *own);

#endif
