/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_ports.c - builds an endpoint from a container's labels
 *
 * Layer: gateway.
 */
#include "gateway/label_ports.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static int add_port(struct endpoint *e, char *word)
{
    char *eq = strchr(word, '=');
    struct address a = e->address;
    uint64_t port, there;

    if (eq != NULL)
        *eq = '\0';
    if (!text_to_u64(word, UINT16_MAX, &port) || port == 0 ||
        !text_to_u64(eq != NULL ? eq + 1 : word, UINT16_MAX, &there) || there == 0)
        return -EINVAL;
    endpoint_address_set_port(&a, (uint16_t)there);
    return endpoint_add_port(e, (uint16_t)port, &a);
}

static int add_token(struct endpoint *e, char *word)
{
    return endpoint_add_token(e, word);
}

static int each_word(struct endpoint *e, const char *list, int (*add)(struct endpoint *, char *))
{
    hf_autofree char *copy = hf_xstrdup(list);
    char *save = NULL, *word;
    int rc = 0;

    for (word = strtok_r(copy, ", ", &save); word != NULL && rc == 0;
         word = strtok_r(NULL, ", ", &save))
        rc = add(e, word);
    return rc;
}

struct endpoint *endpoint_from_labels(const char *address, const char *ports, const char *tokens)
{
    struct endpoint *e = endpoint_new();
    int rc = endpoint_address_parse(address, 0, &e->address) ? 0 : -EINVAL;

    if (rc == 0 && ports != NULL) {
        e->lists_ports = true;
        rc = each_word(e, ports, add_port);
    }
    if (rc == 0 && tokens != NULL)
        rc = each_word(e, tokens, add_token);
    if (rc == 0)
        return e;
    endpoint_unref(e);
    return NULL;
}
