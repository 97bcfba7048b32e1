/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.c - endpoints by id: a hash table
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/resolver.h"

#define ROSTER_SLOTS 1024         /* a power of two */
#define ROSTER_ENTRIES_MAX 100000 /* bounds the memory that a file can make us use */

struct roster_entry {
    struct roster_entry *next;
    struct endpoint *endpoint;
    char id[PLACE_ID_BYTES + 1];
};

struct roster {
    struct roster_entry *slots[ROSTER_SLOTS];
    size_t count;
};

struct roster *roster_new(void)
{
    return hf_xalloc(sizeof(struct roster));
}

static void entry_free(struct roster_entry *e)
{
    endpoint_unref(e->endpoint);
    free(e);
}

static void roster_clear(struct roster *t)
{
    for (size_t i = 0; i < ROSTER_SLOTS; i++) {
        while (t->slots[i] != NULL) {
            struct roster_entry *e = t->slots[i];

            t->slots[i] = e->next;
            entry_free(e);
        }
    }
    t->count = 0;
}

void roster_free(struct roster *t)
{
    if (t == NULL)
        return;
    roster_clear(t);
    free(t);
}

/* The link that points at the entry, or at the end of its chain. */
static struct roster_entry **roster_link(struct roster *t, const char *id)
{
    struct roster_entry **at = &t->slots[crypto_hash(id, strlen(id)) & (ROSTER_SLOTS - 1)];

    while (*at != NULL && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

struct endpoint *roster_get(const struct roster *t, const char *id)
{
    const struct roster_entry *e = *roster_link((struct roster *)(uintptr_t)t, id);

    return e != NULL ? e->endpoint : NULL;
}

void roster_put(struct roster *t, const char *id, struct endpoint *taken)
{
    struct roster_entry **at = roster_link(t, id), *e = *at;

    if (e == NULL) {
        if (t->count >= ROSTER_ENTRIES_MAX) {
            endpoint_unref(taken);
            return;
        }
        e = *at = hf_xalloc(sizeof *e);
        strncpy(e->id, id, PLACE_ID_BYTES);
        t->count++;
    }
    endpoint_unref(e->endpoint);
    e->endpoint = taken;
}

void roster_remove(struct roster *t, const char *id)
{
    struct roster_entry **at = roster_link(t, id), *e = *at;

    if (e == NULL)
        return;
    *at = e->next;
    entry_free(e);
    t->count--;
}

size_t roster_count(const struct roster *t)
{
    return t->count;
}

void roster_swap(struct roster *t, struct roster *from)
{
    roster_clear(t);
    *t = *from;
    *from = (struct roster){0};
}

/* --- the text of a file ------------------------------------------------------------ */

static int parse_json(struct roster *t, const char *text, size_t len, struct hf_error *err)
{
    json_t *root = json_parse(text, len, err), *all, *o;
    const char *id;
    int rc = 0;

    if (root == NULL)
        return -EINVAL;
    all = json_object_get(root, "sandboxes");
    if (!json_is_object(all))
        rc = hf_fail(err, HF_E_missing_field, "The file has no object 'sandboxes'.");
    json_object_foreach (all, id, o) {
        struct endpoint *e;

        if (rc == 0 && !route_target_id_is_valid(id, strlen(id)))
            rc = hf_fail(err, HF_E_bad_value, "'%.64s' cannot be a sandbox's id.", id);
        if (rc == 0 && (e = endpoint_from_json(o, err)) == NULL)
            rc = -EINVAL;
        else if (rc == 0)
            roster_put(t, id, e);
    }
    json_decref(root);
    return rc;
}

/* "80" or "80=3000". */
static int add_port_word(struct endpoint *e, const char *word)
{
    char from[8] = "", to[8] = "";
    size_t eq = strcspn(word, "=");
    struct address a = e->address;
    uint64_t port, there;

    if (eq >= sizeof from || strlen(word) - eq >= sizeof to)
        return -EINVAL;
    memcpy(from, word, eq);
    snprintf(to, sizeof to, "%s", word[eq] == '=' ? word + eq + 1 : from);
    if (!text_to_u64(from, UINT16_MAX, &port) || !text_to_u64(to, UINT16_MAX, &there) ||
        port == 0 || there == 0)
        return -EINVAL;
    if (a.any.sa_family == AF_INET)
        a.v4.sin_port = htons((uint16_t)there);
    else
        a.v6.sin6_port = htons((uint16_t)there);
    e->lists_ports = true;
    return endpoint_add_port(e, (uint16_t)port, &a);
}

static int parse_line(struct roster *t, char *line)
{
    char *save = NULL, *address, *id, *word;
    struct endpoint *e;

    line[strcspn(line, "#")] = '\0';
    address = strtok_r(line, " \t\r", &save);
    if (address == NULL)
        return 0;
    id = strtok_r(NULL, " \t\r", &save);
    if (id == NULL || !route_target_id_is_valid(id, strlen(id)))
        return -EINVAL;
    e = endpoint_new();
    if (!endpoint_address_parse(address, 0, &e->address)) {
        endpoint_unref(e);
        return -EINVAL;
    }
    while ((word = strtok_r(NULL, " \t\r", &save)) != NULL) {
        if (add_port_word(e, word) < 0) {
            endpoint_unref(e);
            return -EINVAL;
        }
    }
    roster_put(t, id, e);
    return 0;
}

static int parse_lines(struct roster *t, const char *text, size_t len, struct hf_error *err)
{
    const char *end = text + len;
    int number = 0;

    while (text < end) {
        const char *next = memchr(text, '\n', (size_t)(end - text));
        size_t n = next != NULL ? (size_t)(next - text) : (size_t)(end - text);
        hf_autofree char *line = hf_xstrndup(text, n);

        number++;
        if (memchr(text, '\0', n) != NULL || parse_line(t, line) < 0)
            return hf_fail(err, HF_E_bad_value, "Line %d is not ADDRESS ID [PORT[=PORT]...].",
                           number);
        text += n + 1;
    }
    return 0;
}

int roster_parse(struct roster *t, const char *text, size_t len, struct hf_error *err)
{
    size_t i = 0;

    while (i < len && strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0')
        i++;
    if (i < len && text[i] == '{')
        return parse_json(t, text, len, err);
    return parse_lines(t, text, len, err);
}
