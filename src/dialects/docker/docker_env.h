/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_env.h - the variables of containers, which an exec in one of them inherits
 *
 * They may be secrets, and everybody who may watch sees a process's metadata. So they are kept
 * beside it, while the container runs: in memory up to LIMIT_DOCKER_CREATED_BYTES, and for the next
 * worker in a note, up to LIMIT_DOCKER_ENV_NOTE_BYTES. What is larger is not kept. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_ENV_H
#define HF_DIALECTS_DOCKER_DOCKER_ENV_H

#include "dialects/docker/docker_entry.h"

/* The container has been started with this config. */
void docker_env_keep(struct docker *dk, const struct process *p, const json_t *config);
/* Its variables; NULL: none are known. Borrowed. */
json_t *docker_env_of(const struct docker *dk, const struct process *p);
void docker_env_recall(struct docker *dk); /* what the last worker kept */
/* Adds to the config of an exec what it does not say and the container does. */
void docker_env_inherit(struct docker *dk, const struct docker_entry *b, json_t *config);

#endif
