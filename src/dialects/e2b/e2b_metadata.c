/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_metadata.c - what a client says about a file that it uploads, by X-Metadata- headers
 *
 * It becomes extended attributes of the file. The limits are those of the original, so that what is
 * refused there is refused here. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/e2b/e2b_files.h"

#define HEADER "X-Metadata-"
#define PREFIX_BYTES (sizeof "user.e2b." - 1)
#define KEY_MAX (255 - PREFIX_BYTES) /* the kernel's limit for the name of an attribute */
#define TOTAL_MAX 4096               /* what ext4 stores for one file */

/* The HTTP parser admits no other byte than these in a name. */
static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
            return false;
    return true;
}

static const char *collect(const struct http_request *rq, json_t *out)
{
    const char *name, *value;
    size_t total = 0;
    char key[KEY_MAX + 1];

    for (size_t at = 0; http_header_each(rq, &at, &name, &value);) {
        if (strncasecmp(name, HEADER, strlen(HEADER)) != 0 || name[strlen(HEADER)] == '\0')
            continue;
        name += strlen(HEADER);
        if (strlen(name) > KEY_MAX)
            return "a key has more than 246 bytes";
        if (!is_printable(value))
            return "a value contains a byte that is not printable ASCII";
        for (size_t i = 0; i <= strlen(name); i++)
            key[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
        if (json_object_get(out, key) != NULL)
            continue; /* the first counts */
        total += PREFIX_BYTES + strlen(key) + strlen(value);
        if (total > TOTAL_MAX)
            return "it has more than 4096 bytes in total";
        json_object_set_new(out, key, json_string(value));
    }
    return NULL;
}

bool e2b_metadata(struct http_request *rq, char **out)
{
    json_auto_t *all = json_object();
    const char *wrong = collect(rq, all);
    char why[100];

    *out = NULL;
    if (wrong != NULL) {
        snprintf(why, sizeof why, "invalid metadata: %s", wrong);
        e2b_plain_error(rq, 400, why);
        return false;
    }
    if (json_object_size(all) > 0)
        *out = json_dumps(all, JSON_COMPACT);
    return true;
}
