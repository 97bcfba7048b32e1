/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_container.h - processes by container name
 *
 * A process is named by its tag, if the tag is a valid container name and no younger process has
 * it; otherwise by its id with '-' for '_'. "main" is the process with that tag; if there is none,
 * the youngest running process, or else the youngest. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_CONTAINER_H
#define HF_DIALECTS_KUBERNETES_KUBE_CONTAINER_H

#include "engine/engine.h"

#define CONTAINER_NAME_BYTES 64 /* a DNS label and NUL */

/* Lower-case letters, digits and '-' (neither first nor last); at most 63 characters. */
bool container_name_is_valid(const char *name);
/* The container name of a process; "main" for the process with that tag. */
void container_name(struct engine *e, struct process *p, char out[CONTAINER_NAME_BYTES]);
/* NULL: not found. `name` may also be an id, "tag:NAME" or "pid:N". */
struct process *container_find(struct engine *e, const char *name);
/* An internal process of the daemon, which clients never see. */
bool container_is_hidden(struct process *p);

#endif
