/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_mime.h - what kind of file it is: by its name, else by its first bytes. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_MIME_H
#define HF_DIALECTS_CLOUDFLARE_CF_MIME_H

#include <stdbool.h>
#include <stddef.h>

/* `bytes` is the beginning of the file. */
const char *cf_mime_type(const char *path, const char *bytes, size_t len);
/* Is it sent as text? It must be text by its kind, and UTF-8 as far as these bytes go. */
bool cf_mime_is_text(const char *type, const char *bytes, size_t len);

#endif
