/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_links.h - share links of processes as credentials of requests. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PROCESS_SHARE_LINKS_H
#define HF_DIALECTS_NATIVE_PROCESS_SHARE_LINKS_H

#include "base/json.h"
#include "dialects/native/native_context.h"
#include "engine/stream/share.h"

/* Registers links with the daemon's auth, and closes a link's connections when the link ends. */
void links_start(struct native *n);
/* The body of POST …/links; strings are borrowed from the tree. */
int links_decode(const json_t *tree, struct share_spec *out, struct hf_error *err);

#endif
