/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_container.c - maps processes to container names and back. Layer: dialects.
 */
#include "dialects/kubernetes/kube_container.h"

#include <stdio.h>
#include <string.h>

#include "dialects/common/file_op.h"
#include "dialects/kubernetes/kube.h"

#define ID_PREFIX "proc_"

bool container_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < CONTAINER_NAME_BYTES && name[0] != '-' && name[len - 1] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

bool container_is_hidden(struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return file_op_is(&v);
}

static struct process *find_tag(struct engine *e, const char *tag)
{
    char ref[CONTAINER_NAME_BYTES + 4];

    snprintf(ref, sizeof ref, "tag:%s", tag);
    return engine_find(e, ref, NULL);
}

void container_name(struct engine *e, struct process *p, char out[CONTAINER_NAME_BYTES])
{
    struct process_view v;

    process_view(p, &v);
    if (v.tag != NULL && container_name_is_valid(v.tag) && find_tag(e, v.tag) == p) {
        snprintf(out, CONTAINER_NAME_BYTES, "%s", v.tag);
        return;
    }
    snprintf(out, CONTAINER_NAME_BYTES, "%s", v.id);
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

/* The process that a request without a container name means. */
static struct process *find_main(struct engine *e)
{
    struct process *p = find_tag(e, KUBE_MAIN), *youngest = NULL;

    if (p != NULL)
        return p;
    while ((p = engine_next(e, p)) != NULL) {
        if (container_is_hidden(p))
            continue;
        if (process_is_running(p))
            return p;
        if (youngest == NULL)
            youngest = p;
    }
    return youngest;
}

struct process *container_find(struct engine *e, const char *name)
{
    static const char dashed[] = "proc-";
    struct process *p = NULL;

    if (strcmp(name, KUBE_MAIN) == 0)
        return find_main(e);
    if (container_name_is_valid(name))
        p = find_tag(e, name);
    if (p == NULL && strncmp(name, dashed, sizeof dashed - 1) == 0) {
        char id[CONTAINER_NAME_BYTES];

        snprintf(id, sizeof id, ID_PREFIX "%s", name + sizeof dashed - 1);
        p = engine_find(e, id, NULL);
    }
    return p != NULL ? p : engine_find(e, name, NULL);
}
