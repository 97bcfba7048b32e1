/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_container.h - processes by the names of containers
 *
 * A process is called by its tag, if that may be the name of a container and no younger one has it, else by its id with
 * '-' for '_'. "main" is the process with that tag; while there is none, the youngest that runs,
 * else the youngest. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_CONTAINER_H
#define HF_DIALECTS_KUBERNETES_KUBE_CONTAINER_H

#include "engine/engine.h"

#define CONTAINER_NAME_BYTES 64 /* a DNS label and NUL */

/* Lower-case letters, digits and '-', neither first nor last; at most 63. */
bool container_name_is_valid(const char *name);
/* The name of a process; "main" for the one that is it by its tag. */
void container_name(struct engine *e, struct process *p, char out[CONTAINER_NAME_BYTES]);
/* NULL: there is none. `name` may also be an id, "tag:NAME" or "pid:N". */
struct process *container_find(struct engine *e, const char *name);
/* One of the daemon's own affairs, which nobody is shown. */
bool container_is_hidden(struct process *p);

#endif
