/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - links that let others watch one process, or type into it. Layer: engine.
 */
#include "engine/stream/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/process_own.h"

#define DIGEST 32
#define SECRET_RANDOM 24 /* 39 characters of base32 */
#define KEY_LEN 20       /* of a process's id, after "proc_" */
#define PROC_PREFIX 5

struct share {
    struct list link;
    char id[SHARE_ID_LEN + 1];
    uint8_t digest[DIGEST];
    enum share_role role;
    char *label;
    int64_t created_ms, expires_ms; /* wall clock */
    int64_t max_uses, uses;
};

static void share_free(struct share *s)
{
    list_remove(&s->link);
    hf_wipe(s->digest, sizeof s->digest);
    free(s->label);
    free(s);
}

static void share_grant(const struct process *p, const struct share *s, char *grant)
{
    snprintf(grant, SHARE_GRANT_LEN + 1, "%s.%s", p->rec.head->id + PROC_PREFIX, s->id);
}

/* --- expiry ----------------------------------------------------------------------- */

static void share_end(struct process *p, struct share *s)
{
    struct engine *e = p->engine;
    char grant[SHARE_GRANT_LEN + 1];

    share_grant(p, s, grant);
    share_free(s);
    if (e->share_end != NULL)
        e->share_end(e->share_end_arg, grant);
}

static void share_on_timer(struct timer *t, void *arg);

/* Sets the timer for the next link that expires. The wall clock may be set, so the timer fires
 * at least once per LINK_POLL_MS. */
static void share_arm(struct process *p)
{
    int64_t now = clock_wall_ms(), next = now + LINK_POLL_MS;
    struct list *it, *tmp;

    if (list_is_empty(&p->links.list)) {
        timer_close(p->links.timer);
        p->links.timer = NULL;
        return;
    }
    list_for_each (it, tmp, &p->links.list) {
        const struct share *s = list_entry(it, struct share, link);
        if (s->expires_ms < next)
            next = s->expires_ms;
    }
    if (p->links.timer == NULL)
        p->links.timer = timer_new(p->engine->loop, share_on_timer, p);
    timer_start(p->links.timer, next > now ? (uint64_t)(next - now) : 0);
}

static void share_on_timer(struct timer *t, void *arg)
{
    struct process *p = process_ref(arg);
    int64_t now = clock_wall_ms();
    struct list *it, *tmp;
    bool ended = false;

    (void)t;
    list_for_each (it, tmp, &p->links.list) {
        struct share *s = list_entry(it, struct share, link);
        if (s->expires_ms > now)
            continue;
        share_end(p, s);
        ended = true;
    }
    if (ended)
        meta_store(p, NULL);
    share_arm(p);
    process_unref(p);
}

void share_init(struct process *p)
{
    list_init(&p->links.list);
}

void share_free_all(struct process *p)
{
    while (!list_is_empty(&p->links.list))
        share_free(list_entry(p->links.list.next, struct share, link));
    timer_close(p->links.timer);
    p->links.timer = NULL;
}

/* --- creating and revoking -------------------------------------------------------- */

static int share_check(const struct process *p, const struct share_spec *s, struct hf_error *err)
{
    size_t count = 0;
    struct list *it, *tmp;

    if (s->label != NULL && strlen(s->label) > LIMIT_LINK_LABEL_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "label", "label is longer than %d bytes",
                             LIMIT_LINK_LABEL_BYTES);
    list_for_each (it, tmp, &p->links.list)
        count++;
    if (count >= LIMIT_LINKS) {
        int rc = hf_fail(err, HF_E_too_many_links,
                         "this process has %d links; revoke one of them first", LIMIT_LINKS);
        if (err != NULL)
            err->limit = "links";
        return rc;
    }
    return 0;
}

static void make_secret(const struct process *p, char *secret)
{
    uint8_t random[SECRET_RANDOM];
    int n = snprintf(secret, SHARE_SECRET_LEN + 1, SHARE_PREFIX "%.*s_", KEY_LEN,
                     p->rec.head->id + PROC_PREFIX);

    crypto_random(random, sizeof random);
    base32_encode(secret + n, random, sizeof random);
    hf_wipe(random, sizeof random);
}

static void make_id(char *id)
{
    uint8_t random[8];
    char text[16];

    crypto_random(random, sizeof random);
    base32_encode(text, random, sizeof random);
    snprintf(id, SHARE_ID_LEN + 1, "link_%.12s", text);
}

static void share_get_view(const struct share *s, struct share_view *out)
{
    *out = (struct share_view){.id = s->id,
                               .label = s->label,
                               .role = s->role,
                               .created_ms = s->created_ms,
                               .expires_ms = s->expires_ms,
                               .max_uses = s->max_uses,
                               .uses = s->uses};
}

int process_share(struct process *p, const struct share_spec *spec, char *secret,
                  struct share_view *out, struct hf_error *err)
{
    struct share *s;
    int rc = share_check(p, spec, err);

    if (rc < 0)
        return rc;
    s = hf_xalloc(sizeof *s);
    make_id(s->id);
    make_secret(p, secret);
    sha256(secret, strlen(secret), s->digest);
    s->role = spec->role;
    s->label = hf_xstrdup(spec->label);
    s->created_ms = clock_wall_ms();
    s->expires_ms =
        s->created_ms + (spec->expires_in_ms > 0 ? spec->expires_in_ms : LINK_EXPIRES_MS);
    s->max_uses = spec->max_uses;
    list_append(&p->links.list, &s->link);
    rc = meta_store(p, err);
    if (rc < 0) {
        share_free(s);
        return rc;
    }
    share_arm(p);
    share_get_view(s, out);
    return 0;
}

static struct share *share_find(const struct process *p, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->links.list) {
        struct share *s = list_entry(it, struct share, link);
        if (strcmp(s->id, id) == 0)
            return s;
    }
    return NULL;
}

int process_unshare(struct process *p, const char *id, struct hf_error *err)
{
    struct share *s = share_find(p, id);

    if (s == NULL)
        return hf_fail(err, HF_E_no_such_link,
                       "this process has no link with this id; it may have expired");
    process_ref(p);
    share_end(p, s);
    meta_store(p, NULL);
    share_arm(p);
    process_unref(p);
    return 0;
}

bool process_share_at(const struct process *p, size_t index, struct share_view *out)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->links.list) {
        if (index-- > 0)
            continue;
        share_get_view(list_entry(it, struct share, link), out);
        return true;
    }
    return false;
}

/* --- using -------------------------------------------------------------------------- */

static struct process *find_by_key(struct engine *e, const char *key)
{
    char id[PROCESS_ID_LEN + 1];

    snprintf(id, sizeof id, "proc_%.*s", KEY_LEN, key);
    return registry_find(e, id);
}

/* Compares with all links, even after a match: the time taken reveals nothing. */
static struct share *find_by_digest(const struct process *p, const uint8_t digest[DIGEST])
{
    struct share *found = NULL;
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->links.list) {
        struct share *s = list_entry(it, struct share, link);
        if (crypto_equal(s->digest, digest, DIGEST))
            found = s;
    }
    return found;
}

static bool share_has_expired(const struct share *s)
{
    return s->expires_ms <= clock_wall_ms();
}

enum share_role engine_share_by_secret(struct engine *e, const char *secret, size_t len,
                                       char *grant)
{
    size_t prefix = strlen(SHARE_PREFIX);
    uint8_t digest[DIGEST];
    const struct process *p;
    const struct share *s;

    if (len != SHARE_SECRET_LEN || memcmp(secret, SHARE_PREFIX, prefix) != 0)
        return SHARE_NONE;
    p = find_by_key(e, secret + prefix);
    if (p == NULL)
        return SHARE_NONE;
    sha256(secret, len, digest);
    s = find_by_digest(p, digest);
    if (s == NULL || share_has_expired(s) || (s->max_uses > 0 && s->uses >= s->max_uses))
        return SHARE_NONE;
    share_grant(p, s, grant);
    return s->role;
}

static struct share *find_by_grant(struct engine *e, const char *grant, struct process **p)
{
    if (strlen(grant) != SHARE_GRANT_LEN || grant[KEY_LEN] != '.')
        return NULL;
    *p = find_by_key(e, grant);
    return *p != NULL ? share_find(*p, grant + KEY_LEN + 1) : NULL;
}

enum share_role engine_share_by_grant(struct engine *e, const char *grant, struct process **p)
{
    struct process *found = NULL;
    const struct share *s = find_by_grant(e, grant, &found);

    if (s == NULL || share_has_expired(s))
        return SHARE_NONE;
    if (p != NULL)
        *p = found;
    return s->role;
}

void engine_share_use(struct engine *e, const char *grant)
{
    struct process *p = NULL;
    struct share *s = find_by_grant(e, grant, &p);

    if (s == NULL)
        return;
    s->uses++;
    meta_store(p, NULL);
}

void engine_on_share_end(struct engine *e, share_end_fn *fn, void *arg)
{
    e->share_end = fn;
    e->share_end_arg = arg;
}

/* --- saving and loading -------------------------------------------------------------- */

void share_write(const struct process *p, struct json_out *o)
{
    struct list *it, *tmp;

    if (list_is_empty(&p->links.list))
        return;
    json_key(o, "links");
    json_open(o, '[');
    list_for_each (it, tmp, &p->links.list) {
        const struct share *s = list_entry(it, struct share, link);
        char hex[2 * DIGEST + 1];

        hex_encode(hex, s->digest, DIGEST);
        json_open(o, '{');
        json_kstr(o, "id", s->id);
        json_kstr(o, "digest", hex);
        json_kstr(o, "label", s->label);
        json_kint(o, "role", s->role);
        json_kint(o, "created_ms", s->created_ms);
        json_kint(o, "expires_ms", s->expires_ms);
        json_kint(o, "max_uses", s->max_uses);
        json_kint(o, "uses", s->uses);
        json_close(o, '}');
    }
    json_close(o, ']');
}

static bool digest_read(const char *hex, uint8_t digest[DIGEST])
{
    if (hex == NULL || strlen(hex) != (size_t)2 * DIGEST)
        return false;
    for (size_t i = 0; i < DIGEST; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        digest[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

static int64_t take_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

void share_load(struct process *p, const json_t *links)
{
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *o = json_array_get(links, i);
        const char *id = json_string_value(json_object_get(o, "id"));
        struct share *s = hf_xalloc(sizeof *s);

        list_append(&p->links.list, &s->link);
        if (id == NULL || strlen(id) != SHARE_ID_LEN ||
            !digest_read(json_string_value(json_object_get(o, "digest")), s->digest)) {
            share_free(s);
            continue;
        }
        memcpy(s->id, id, SHARE_ID_LEN);
        s->label = hf_xstrdup(json_string_value(json_object_get(o, "label")));
        s->role = take_int(o, "role") == SHARE_TYPE ? SHARE_TYPE : SHARE_WATCH;
        s->created_ms = take_int(o, "created_ms");
        s->expires_ms = take_int(o, "expires_ms");
        s->max_uses = take_int(o, "max_uses");
        s->uses = take_int(o, "uses");
    }
    share_arm(p);
}
