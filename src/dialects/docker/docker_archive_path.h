/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_archive_path.h - paths in the files of a container, as Docker reads them. Pure. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_ARCHIVE_PATH_H
#define HF_DIALECTS_DOCKER_DOCKER_ARCHIVE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Absolute, without "." and ".." and repeated slashes; a "/" or "/." at the end stays, which means
 * what a link leads to. False: too long. */
bool docker_archive_path(const char *text, char *out, size_t size);
/* What the archive calls it: the last component, "." for the content of a directory and for the
 * root. */
void docker_archive_name(const char *path, char name[NAME_MAX + 1]);

#endif
