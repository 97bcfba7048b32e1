/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.h - an image is a name and nothing else: what is shown of it. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_IMAGE_H
#define HF_DIALECTS_DOCKER_DOCKER_IMAGE_H

#include <stdbool.h>

#define DOCKER_IMAGE_BYTES 255 /* of a name */
#define DOCKER_IMAGE_ID_BYTES 72

/* "sha256:" and a digest of the name, with its tag */
void docker_image_id(const char *name, char out[DOCKER_IMAGE_ID_BYTES]);
/* Could this be the name of an image? */
bool docker_image_name_ok(const char *name);

#endif
